"""Executors are added, drained and lost under a running query, and no row is lost or repeated."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from mpc.events import Event, EventKind
from runtime.spark.driver import Driver
from runtime.spark.launching.local_cluster import LocalCluster
from runtime.spark.scaling.scaler import ExecutorScaler, ScalingState
from runtime.spark.scaling.scheduler import Scheduler

pytestmark = pytest.mark.spark

PATIENCE_S = 240.0
POLL_S = 0.2


class Driven:
    """A scaler that steers until something holds, with all events so far."""

    def __init__(self, spark: SparkSession) -> None:
        self.scheduler = Scheduler(Driver.of(spark))
        self.scaler = ExecutorScaler(
            self.scheduler, time.monotonic, max_executors=self.scheduler.most_executors
        )
        self.events: list[Event] = []
        self.wanted: int | None = None

    def until(self, holds: Callable[[ScalingState], bool], what: str) -> ScalingState:
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            state = self._look()
            self.events += state.events
            if holds(state):
                return state
            assert time.monotonic() < deadline_s, f"{what}: {state}"
            time.sleep(POLL_S)

    def reach(self, executors: int) -> ScalingState:
        self.wanted = executors
        return self.until(
            lambda state: (
                (state.observed, state.leaving, state.requested) == (executors, 0, executors)
            ),
            f"{executors} executors",
        )

    def ids(self, kind: EventKind) -> set[str]:
        return {event.detail.split()[0] for event in self.events if event.kind == kind}

    def _look(self) -> ScalingState:
        return self.scaler.observe() if self.wanted is None else self.scaler.steer(self.wanted)


@pytest.fixture
def driven(spark: SparkSession) -> Iterator[Driven]:
    driven = Driven(spark)
    driven.reach(1)
    try:
        yield driven
    finally:
        driven.reach(1)


@pytest.fixture
def query(spark: SparkSession, driven: Driven, tmp_path: Path) -> Iterator[StreamingQuery]:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 200).load()
    query = (
        rows.repartition(3)
        .writeStream.format("memory")
        .queryName("scaling_test")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        driven.until(lambda _: finished_batches(query) >= 2, "the query runs")
        yield query
    finally:
        query.stop()
        spark.sql("DROP VIEW IF EXISTS scaling_test")


def finished_batches(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return 0 if progress is None else progress.batchId + 1


def run_batches(driven: Driven, query: StreamingQuery, more: int = 3) -> None:
    goal = finished_batches(query) + more
    driven.until(lambda _: finished_batches(query) >= goal, "more batches")


def assert_every_row_once(spark: SparkSession, query: StreamingQuery) -> None:
    query.stop()
    assert query.exception() is None
    (result,) = spark.sql(
        "SELECT count(*) AS rows, count(DISTINCT value) AS values, max(value) + 1 AS expected "
        "FROM scaling_test"
    ).collect()
    assert result.rows == result["values"] == result.expected > 0


def test_it_scales_out_and_in_under_a_running_query(
    spark: SparkSession, driven: Driven, query: StreamingQuery
) -> None:
    driven.reach(3)
    assert {info.host for info in driven.scheduler.executors()} == {"127.0.0.2", "127.0.0.3"}
    driven.until(
        lambda state: all(info.completed_tasks > 0 for info in state.executors),
        "every executor works",
    )
    run_batches(driven, query)
    driven.reach(1)
    run_batches(driven, query)
    assert len(driven.ids(EventKind.EXECUTOR_STARTED)) >= 2
    drained = driven.ids(EventKind.EXECUTOR_DRAINING)
    assert len(drained) >= 2
    assert drained == driven.ids(EventKind.EXECUTOR_DRAINED) | driven.ids(EventKind.EXECUTOR_KILLED)
    assert_every_row_once(spark, query)


def test_a_killed_executor_is_noticed_and_replaced(
    spark: SparkSession, spark_cluster: LocalCluster, driven: Driven, query: StreamingQuery
) -> None:
    driven.reach(2)
    victim = driven.scheduler.executors()[0]
    application = spark.sparkContext.applicationId
    os.kill(spark_cluster.executor_pids()[application, victim.executor_id], signal.SIGKILL)
    lost = EventKind.EXECUTOR_LOST
    driven.until(lambda _: victim.executor_id in driven.ids(lost), "the loss is noticed")
    state = driven.until(lambda state: state.observed == 2, "it is replaced")
    assert victim.executor_id not in {info.executor_id for info in state.executors}
    run_batches(driven, query)
    assert_every_row_once(spark, query)


def test_the_driver_tells_what_it_allows(spark: SparkSession) -> None:
    scheduler = Scheduler(Driver.of(spark))
    assert (scheduler.most_executors, scheduler.starting_executors) == (3, 3)
    assert (scheduler.executor_cores, scheduler.executor_slots) == (1, 1)
