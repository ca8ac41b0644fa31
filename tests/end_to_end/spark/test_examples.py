"""The example applications under control, started as the documentation starts them and ended with
Ctrl-C: executors come, batches are measured, the journal is written, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from runtime.config import load_config
from runtime.control.journal import StepRecord, read
from runtime.spark.launching.local_cluster import LocalCluster, why_unavailable

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("wordcount", "stateful", "trading")
COMMAND = Path(sys.executable).parent / "foresight"
PATIENCE_S = 150.0
SMALL = (
    *("--conf", "spark.driver.memory=512m", "--conf", "spark.executor.memory=512m"),
    *("--conf", "spark.ui.enabled=false", "--set", "spark.class_archive=false"),
)
LIGHT = {
    "wordcount": ("--peak", "500"),
    "stateful": ("--rate", "200", "--ramp", "5", "--machines", "20"),
    "trading": ("--peak", "500", "--symbols", "5"),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_configuration_is_valid(name: str) -> None:
    assert load_config(EXAMPLES / name / "foresight.toml").executors.max == 4


@pytest.mark.parametrize("name", ["stateful", "trading"])
def test_on_a_cluster(name: str, spark_cluster: LocalCluster, tmp_path: Path) -> None:
    where = ("--master", spark_cluster.master_url, "--set", "executors.max=1")
    with running(name, where, tmp_path) as records:
        assert records[-1].applied.observed.executors == 1


def test_on_emulated_hosts_of_its_own(tmp_path: Path) -> None:
    missing = why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    with running("wordcount", ("--local", "1x2", "--emulate"), tmp_path) as records:
        assert records[-1].applied.observed.executors in (1, 2)
        assert any(record.measurement.power_source == "emulated" for record in records)
        assert any(record.measurement.latency_s is not None for record in records)


@contextmanager
def running(name: str, where: Sequence[str], folder: Path) -> Iterator[list[StepRecord]]:
    """The journal of an example as soon as a batch of it was measured; then it is interrupted."""
    example = EXAMPLES / name
    journal = folder / "foresight-journal" / name
    log = folder / "log"
    command = [
        *(str(COMMAND), "submit", "--config", str(example / "foresight.toml"), *where, *SMALL),
        *(str(example / "app.py"), *LIGHT[name], "--duration", str(PATIENCE_S)),
    ]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(folder)},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        started: list[psutil.Process] = []
        try:
            records = measured(process, journal, log)
            started = psutil.Process(process.pid).children(recursive=True)
            yield records
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 130, log.read_text()[-3000:]
            _, left = psutil.wait_procs(started, timeout=PATIENCE_S)
            assert not left
        finally:
            for each in started:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            process.kill()


def measured(process: "subprocess.Popen[bytes]", journal: Path, log: Path) -> list[StepRecord]:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        records = list(read(journal))
        ready = [
            record
            for record in records
            if record.measurement.batches and record.applied.observed.executors >= 1
        ]
        if ready:
            return records
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise AssertionError(f"nothing was measured: {log.read_text()[-3000:]}")
