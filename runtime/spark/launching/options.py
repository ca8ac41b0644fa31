"""The Spark options that make scaling fast and spread the work over all executors.

Defaults for an application whose user has not set them otherwise; why each one is here stands
beside it.
"""

import os
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path

from runtime.spark.launching.workers.foresight_warm_daemon import WARM_MODULES

SCALING_OPTIONS: dict[str, str] = {
    # One allocator only.
    "spark.dynamicAllocation.enabled": "false",
    # A killed executor is gone after 0.1 s instead of 5 s.
    "spark.standalone.executorRemoveDelayOnDisconnection": "0s",
    # Decommissioning lets running tasks end; blocks move to the executors that stay.
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.rddBlocks.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    # Over 30 s with the default.
    "spark.storage.decommission.replicationReattemptInterval": "1s",
    # On YARN and Kubernetes Spark ends the driver after so many lost executors: by default with the
    # fourth, whenever it was lost. A thousand in an hour is an application that cannot run.
    "spark.executor.maxNumFailures": "1000",
    "spark.executor.failuresValidityInterval": "1h",
    # With it, the executors that came last get no share of a shuffle. Spark's own locality wait
    # stays: without it tasks run away from their state.
    "spark.shuffle.reduceLocality.enabled": "false",
}

WORKER_FOLDER = Path(__file__).parent / "workers"
_WARM_DAEMON = "foresight_warm_daemon"
_DAEMON_OPTIONS = ("spark.python.daemon.module", "spark.python.use.daemon", "spark.files")


def warm_worker_options(
    known: Mapping[str, str] | None = None, modules: Sequence[str] = ()
) -> dict[str, str]:
    """Options with which the Python workers of an executor start with their libraries imported;
    `modules` are those of the application.

    The file goes to every executor, so hosts need nothing of Foresight. Nothing is given where a
    user has set one of the options: they count together. The driver needs `add_worker_folder`
    before its JVM starts.
    """
    if any(option in (known or {}) for option in _DAEMON_OPTIONS):
        return {}
    options = {
        "spark.python.daemon.module": _WARM_DAEMON,
        "spark.files": str(WORKER_FOLDER / f"{_WARM_DAEMON}.py"),
    }
    if modules:
        options[f"spark.executorEnv.{WARM_MODULES}"] = ",".join(modules)
    return options


def add_worker_folder(environment: MutableMapping[str, str]) -> None:
    """Let Python processes of the driver find the daemon as well: files go to executors only."""
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    if str(WORKER_FOLDER) not in paths:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [*paths, str(WORKER_FOLDER)]))
