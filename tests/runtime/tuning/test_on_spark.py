"""A Spark cluster gives the same outcomes as this process."""

import pytest

from mpc.simulation.pool import WorkerPool
from runtime.tuning.jobs import run_job
from runtime.tuning.knobs import Knobs
from runtime.tuning.spark_runner import SparkRunner
from runtime.tuning.trace import TraceBlock
from tests.runtime.tuning.made import small_task


@pytest.mark.spark
def test_spark_gives_what_one_process_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    task = small_task()
    blocks = (TraceBlock(0, 60.0, 180.0), TraceBlock(0, 300.0, 420.0), TraceBlock(0, 600.0, 720.0))
    jobs = [task.job(Knobs.of(task.config), block) for block in blocks]
    with SparkRunner("local[2]") as cluster:
        on_spark = dict(cluster.run(run_job, jobs))
    assert on_spark == dict(WorkerPool(1).run(run_job, jobs))
    assert len(set(on_spark.values())) == len(blocks)
