"""Runs an unmodified PySpark application under control, in this very process.

The application sees what `python app.py` would give it: its own `__main__`, arguments and module
path. Its exit code and its traceback stay its own.
"""

import os
import runpy
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from runtime.config import Config
from runtime.spark.attach import attach
from runtime.spark.launching.archive import find_archive, make_archive
from runtime.spark.launching.launcher import (
    CONNECT_REFUSED,
    Launch,
    hooked,
    is_connect,
    recommended_options,
)
from runtime.spark.launching.local_application import LocalSetting, local_run
from runtime.spark.launching.local_cluster import MASTER_HOST, ClusterUnavailable
from runtime.spark.launching.options import add_worker_folder, warm_worker_options
from runtime.spark.scaling.scheduler import ScalingRefused

REFUSED = 2
FAILED = 1
INTERRUPTED = 130
_NO_PYTHON = {
    ".jar": "a Scala or Java application",
    ".class": "a Scala or Java application",
    ".scala": "a Scala application",
    ".r": "an R application",
}


def run_application(
    application: Path,
    arguments: Sequence[str],
    config: Config,
    master: str | None = None,
    options: Mapping[str, str] | None = None,
) -> int:
    """Run it to its end and return its exit code. `master` and `options` count like those of
    spark-submit: the application's own come first."""
    why_not = refusal(application, os.environ)
    if why_not is not None:
        return _refused(why_not)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submit = submit_arguments(master, options or {}, os.environ.get("PYSPARK_SUBMIT_ARGS"))
    os.environ["PYSPARK_SUBMIT_ARGS"] = submit
    add_worker_folder(os.environ)
    launch = Launch(lambda session: attach(session, config))
    try:
        with hooked(launch, lambda known: _added_options(config, known)):
            code = _run(application, arguments)
    finally:
        launch.stop()
    if launch.refusal is not None:
        return _refused(str(launch.refusal))
    if launch.controller is None:
        _say(f"{application} made no SparkSession, so nothing was controlled")
    return code


def run_locally(
    application: Path,
    arguments: Sequence[str],
    config: Config,
    setting: LocalSetting,
    options: Mapping[str, str] | None = None,
) -> int:
    """The same on a cluster of this machine, which is there for as long as the application runs."""
    why_not = refusal(application, os.environ)
    if why_not is not None:
        return _refused(why_not)
    given = dict(options or {})
    try:
        executor_cores = max(1, int(given.get("spark.executor.cores", 1)))
        with local_run(setting, config, executor_cores) as local:
            _say(f"{setting.words}, {local.master_url}")
            os.environ.setdefault("SPARK_LOCAL_IP", MASTER_HOST)
            return run_application(
                application,
                arguments,
                local.config,
                local.master_url,
                {**local.options, **given},
            )
    except (ClusterUnavailable, ChildProcessError, ValueError) as error:
        return _refused(str(error))


def refusal(application: Path, environment: Mapping[str, str]) -> str | None:
    """Why it cannot be run under control, before anything is started; None if it can."""
    kind = _NO_PYTHON.get(application.suffix.lower())
    if kind is not None:
        return (
            f"{application} is {kind}, and only PySpark applications can be submitted: "
            "start it with spark-submit"
        )
    if not application.is_file():
        return f"{application} is no file"
    return CONNECT_REFUSED if is_connect({}, environment) else None


def submit_arguments(master: str | None, options: Mapping[str, str], given: str | None) -> str:
    """PYSPARK_SUBMIT_ARGS, which pyspark hands to spark-submit as it starts the JVM."""
    words = [] if master is None else ["--master", master]
    for key, value in options.items():
        words += ["--conf", f"{key}={value}"]
    return f"{shlex.join(words)} {given or 'pyspark-shell'}".lstrip()


def _run(application: Path, arguments: Sequence[str]) -> int:
    path = str(application)
    saved_argv, saved_path = sys.argv, sys.path[:]
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(application.resolve().parent))
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        return _exit_code(end.code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ScalingRefused:
        return REFUSED
    except BaseException as error:
        own = error.with_traceback(_own_frames(error.__traceback__, path))
        sys.excepthook(type(own), own, own.__traceback__)
        return FAILED
    finally:
        sys.argv, sys.path[:] = saved_argv, saved_path
    return 0


def _exit_code(code: object) -> int:
    """As the interpreter does it."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return FAILED


def _own_frames(traceback: TracebackType | None, path: str) -> TracebackType | None:
    """From the application's first frame on; all of it where there is none, as for bad syntax."""
    frame = traceback
    while frame is not None and frame.tb_frame.f_code.co_filename != path:
        frame = frame.tb_next
    return frame or traceback


def _added_options(config: Config, known: Mapping[str, str]) -> dict[str, str]:
    return {**warm_worker_options(known), **recommended_options(config, known, _archive)}


def _archive() -> str | None:
    archive = find_archive()
    if archive.java_options is None:
        _say("making a class-data archive, once; executors start faster with it")
        archive = make_archive()
        if archive.reason is not None:
            _say(archive.reason)
    return archive.java_options


def _refused(reason: str) -> int:
    _say(reason)
    return REFUSED


def _say(sentence: str) -> None:
    print(f"foresight: {sentence}", file=sys.stderr)
