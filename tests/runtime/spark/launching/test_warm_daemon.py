"""The daemon as Spark starts it: its port on standard output, workers by connecting to it."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from runtime.spark.launching.options import WORKER_FOLDER, add_worker_folder, warm_worker_options

MODULE = "foresight_warm_daemon"
PATIENCE_S = 120.0

THREADED = """
import threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
"""

FORKS = f"""
import os
from {MODULE} import warm
assert warm(["numpy"])
import numpy
for _ in range(2):
    child = os.fork()
    if not child:
        print(numpy.random.random(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where Spark puts shipped files: nothing of Foresight but the daemon is there."""
    shutil.copy(WORKER_FOLDER / f"{MODULE}.py", tmp_path)
    return tmp_path


def test_a_worker_begins_with_its_libraries(folder: Path) -> None:
    with daemon(folder, modules="no_such_module, json") as process:
        with socket.create_connection(("127.0.0.1", port(process)), PATIENCE_S) as connection:
            worker = psutil.Process(number(connection.recv(4)))
            libraries = {Path(entry.path).name for entry in worker.memory_maps()}
        assert any(name.startswith("libarrow") for name in libraries)


def test_what_a_module_prints_is_not_taken_for_the_port(folder: Path) -> None:
    (folder / "loud.py").write_text("import os\nprint('hello', flush=True)\nos.write(1, b'hello')")
    with daemon(folder, modules="loud") as process:
        assert port(process) < 65_536


def test_a_module_that_starts_a_thread_or_ends_the_process_leaves_sparks_own_daemon(
    folder: Path,
) -> None:
    (folder / "threaded.py").write_text(THREADED)
    (folder / "ending.py").write_text("raise SystemExit(3)")
    with daemon(folder, modules="ending,threaded") as process:
        assert port(process) < 65_536
        assert "pyspark.daemon" in psutil.Process(process.pid).cmdline()


def test_other_workers_start_as_they_always_did(folder: Path) -> None:
    (folder / "threaded.py").write_text(THREADED)
    with daemon(folder, modules="threaded", worker="pyspark.sql.worker.lookup") as process:
        assert port(process) < 65_536
        assert MODULE in psutil.Process(process.pid).cmdline()


def test_workers_draw_different_numbers(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS],
        cwd=folder,
        env=environment(""),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    first, second = done.stdout.split()
    assert first != second


def test_a_user_who_set_one_of_the_options_keeps_his_own() -> None:
    options = warm_worker_options()
    assert options["spark.python.daemon.module"] == MODULE
    assert Path(options["spark.files"]).is_file()
    for key in (*options, "spark.python.use.daemon"):
        assert warm_worker_options({key: "mine"}) == {}


def test_modules_of_the_application_go_to_the_executors() -> None:
    options = warm_worker_options(modules=("a.b", "c"))
    assert options["spark.executorEnv.FORESIGHT_WARM_MODULES"] == "a.b,c"


def test_the_drivers_module_path_is_extended_once() -> None:
    path = {"PYTHONPATH": "/first"}
    add_worker_folder(path)
    add_worker_folder(path)
    assert path == {"PYTHONPATH": f"/first{os.pathsep}{WORKER_FOLDER}"}
    empty: dict[str, str] = {}
    add_worker_folder(empty)
    assert empty == {"PYTHONPATH": str(WORKER_FOLDER)}


@contextmanager
def daemon(
    folder: Path, modules: str, worker: str = "pyspark.worker"
) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", MODULE, worker],
        cwd=folder,
        env=environment(modules),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            # As Spark does; it ends its workers with it.
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE_S)


def environment(modules: str) -> dict[str, str]:
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHON_WORKER_FACTORY_SECRET": "secret",
        "SPARK_REUSE_WORKER": "1",
        "FORESIGHT_WARM_MODULES": modules,
    }


def port(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    return number(process.stdout.read(4))


def number(four_bytes: bytes) -> int:
    assert len(four_bytes) == 4
    return int.from_bytes(four_bytes, "big")
