"""A standalone cluster of this machine for measurements: executors of one core, one driver.

Nothing is slowed down or emulated. `cpu_s` tells who used the processor: the JVM of an executor
and its Python workers are different processes, and Spark's own CPU figures leave the latter out.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.hft.session import PIPELINE_OPTIONS, at_driver, open_session
from benchmarks.hft.stream.replay import Replay
from runtime.spark.driver import Driver
from runtime.spark.launching.local_cluster import ClusterUnavailable, LocalCluster, WorkerHost
from runtime.spark.launching.options import add_worker_folder
from runtime.spark.scaling.scheduler import Scheduler
from runtime.spark.sensing.progress import BatchProgress, parse_progress

HOST = "127.0.0.2"
PATIENCE_S = 180.0
_WORKER_MEMORY_MB = 1200
_KEPT_BATCHES = 100
"""As many Spark keeps unless told otherwise."""
_POLL_S = 0.05

Group = Literal["driver_jvm", "driver_python", "executor_jvm", "workers"]
CpuSeconds = Mapping[tuple[Group, int], float]
"""By group and process id."""


EPOCH_US = 1_700_000_000_000_000
"""Of a stream that started long ago: everything is due at once."""


def waiting_quotes(partitions: int, rows_per_batch: int) -> Replay:
    """Quotes of a hundred symbols, all due at once: some thousand windows in 200,000 of them."""
    return Replay(
        peak_per_s=100_000.0,
        symbols=100,
        partitions=partitions,
        max_rows_per_batch=rows_per_batch,
        epoch_us=EPOCH_US,
    )


@dataclass(frozen=True, slots=True)
class BenchCluster:
    spark: SparkSession
    cluster: LocalCluster
    folder: Path

    def cpu_s(self) -> CpuSeconds:
        """What every process of the driver and the executors has used so far."""
        found: dict[tuple[Group, int], float] = {}

        def add(group: Group, process: psutil.Process) -> None:
            with suppress(psutil.NoSuchProcess):
                used = process.cpu_times()
                found[group, process.pid] = used.user + used.system

        add("driver_python", psutil.Process())
        daemons = set(self.cluster.pids)
        for child in psutil.Process().children():
            if child.pid in daemons or child.name() != "java":
                continue
            add("driver_jvm", child)
            for worker in child.children(recursive=True):
                add("driver_python", worker)
        for pid in self.cluster.executor_pids().values():
            executor = psutil.Process(pid)
            add("executor_jvm", executor)
            for worker in executor.children(recursive=True):
                add("workers", worker)
        return found


def used_s(before: CpuSeconds, after: CpuSeconds, group: Group | None = None) -> float:
    """CPU seconds between two readings; a process that came in between counts from its start."""
    return sum(
        seconds - before.get(key, 0.0)
        for key, seconds in after.items()
        if group is None or key[0] == group
    )


@contextmanager
def bench_cluster(
    executors: int, options: Mapping[str, str] | None = None
) -> Iterator[BenchCluster]:
    """`executors` of one core, all of them there. Enter it in the main thread."""
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="foresight-bench-", ignore_cleanup_errors=True)
            )
        )
        host = WorkerHost(HOST, cores=executors, memory_mb=executors * _WORKER_MEMORY_MB)
        cluster = stack.enter_context(LocalCluster([host], folder / "cluster"))
        spark = _session(cluster, folder, executors, options or {})
        stack.callback(spark.stop)
        spark.sparkContext.setLogLevel("ERROR")
        scheduler = Scheduler(Driver.of(spark))
        wait_until(lambda: len(scheduler.executors()) >= executors, "executors")
        yield BenchCluster(spark, cluster, folder)


def batches_of(query: StreamingQuery) -> list[BatchProgress]:
    """The last hundred batches that have run, oldest first."""
    texts = [progress.json for progress in query.recentProgress[-_KEPT_BATCHES:]]
    return [batch for text in texts if (batch := parse_progress(text)) is not None and batch.ran]


def wait_for_batch(query: StreamingQuery, batch_id: int) -> None:
    """Until that batch has ended; raises what ended the query."""

    def there() -> bool:
        failure = query.exception()
        if failure is not None:
            raise failure
        last = query.lastProgress
        return last is not None and last.batchId >= batch_id

    wait_until(there, f"batch {batch_id}")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise ClusterUnavailable(f"no {what} after {PATIENCE_S:g} s")
        time.sleep(_POLL_S)


def _session(
    cluster: LocalCluster, folder: Path, executors: int, options: Mapping[str, str]
) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    add_worker_folder(os.environ)
    chosen = {
        **PIPELINE_OPTIONS,
        **at_driver("127.0.0.1"),
        "spark.executor.memory": "768m",
        "spark.ui.showConsoleProgress": "false",
        "spark.cores.max": str(executors),
        **options,
    }
    return open_session(cluster.master_url, "foresight-bench", folder, chosen)
