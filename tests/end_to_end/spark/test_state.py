"""State of a query on a live cluster: where it lies, and that it is given up last."""

import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from runtime.spark.driver import Driver
from runtime.spark.scaling.scaler import ExecutorScaler
from runtime.spark.scaling.scheduler import Scheduler
from tests.end_to_end.spark.controlled import one_executor, wait_until

pytestmark = pytest.mark.spark

PARTITIONS = 3


@pytest.fixture
def scheduler(spark: SparkSession) -> Iterator[Scheduler]:
    """Of an application with a query that counts, alone on one executor at first."""
    one_executor(spark)
    rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    counts = rows.groupBy((rows.value % 10).alias("digit")).count()
    query = counts.writeStream.format("noop").outputMode("update").queryName("counts").start()
    try:
        yield Scheduler(Driver.of(spark))
    finally:
        query.stop()
        one_executor(spark)


def test_the_executor_with_the_state_is_the_one_that_stays(scheduler: Scheduler) -> None:
    wait_until(lambda: len(scheduler.executors()) == 1, "the first executor")
    (first,) = scheduler.executors()
    wait_until(
        lambda: scheduler.state_stores() == {first.executor_id: PARTITIONS}, "state in its place"
    )
    scaler = ExecutorScaler(scheduler, time.monotonic)
    wait_until(lambda: scaler.steer(3).observed == 3, "two more executors")
    others = {info.executor_id for info in scheduler.executors()} - {first.executor_id}
    wait_until(
        lambda: all(
            info.completed_tasks > 0 for info in scheduler.executors() if info.executor_id in others
        ),
        "work for the new ones",
    )
    stores = scheduler.state_stores()
    assert stores[first.executor_id] > max(stores[other] for other in others)
    wait_until(lambda: len(scaler.steer(1).executors) == 1, "one executor again")
    assert [info.executor_id for info in scheduler.executors()] == [first.executor_id]
