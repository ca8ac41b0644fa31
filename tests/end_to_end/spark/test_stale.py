"""A batch that hangs: what was measured before says nothing any more, so nothing is scaled in."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from mpc.bounds import Bounds
from mpc.events import EventKind
from mpc.values import Configuration, Decision, Measurement
from runtime.control.journal import StepRecord
from runtime.control.loop import ControlLoop
from runtime.spark.attach import attach
from runtime.spark.driver import Driver
from runtime.spark.scaling.scheduler import Scheduler
from tests.end_to_end.spark.controlled import (
    PATIENCE_S,
    config,
    journaled,
    kinds,
    one_executor,
    runs,
    until,
)

pytestmark = pytest.mark.spark

HELD_STEPS = 5


class Gate:
    """The sink of a query; closed, its batches do not end."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.hangs = threading.Event()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def pass_batch(self, rows: DataFrame, _: int) -> None:
        rows.count()
        if not self._open.is_set():
            self.hangs.set()
            self._open.wait()


class Told:
    """A policy that wants what it is told, whatever is measured."""

    def __init__(self, executors: int) -> None:
        self.executors = executors

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        target = Configuration(self.executors, measurement.requested.frequency_khz)
        return Decision(target, "told")


def steps(controller: ControlLoop) -> int:
    """Finished so far."""
    assert controller.last is not None
    return controller.last.measurement.step


def is_stale(step: StepRecord) -> bool:
    return [query["activity"] for query in step.queries] == ["stale"]


@pytest.fixture
def gate(spark: SparkSession) -> Iterator[Gate]:
    one_executor(spark)
    gate = Gate()
    rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load().repartition(3)
    query = rows.writeStream.foreachBatch(gate.pass_batch).queryName("gated").start()
    try:
        yield gate
    finally:
        gate.open()
        query.stop()
        one_executor(spark)


def test_nothing_is_scaled_in_while_a_batch_hangs(
    spark: SparkSession, gate: Gate, tmp_path: Path
) -> None:
    policy = Told(3)
    with attach(spark, config(tmp_path), make_policy=lambda space, dead_s: policy) as controller:
        until(
            controller, lambda step: runs(3)(step) and step.measurement.arrivals_per_s is not None
        )
        before = {info.executor_id for info in Scheduler(Driver.of(spark)).executors()}

        gate.close()
        assert gate.hangs.wait(PATIENCE_S)
        # The state, not the event: a slow batch may have been stale before it reached the gate.
        # And measured after that: the step under way may still be told of the batch before.
        began = steps(controller) + 1
        hung = until(controller, lambda step: step.measurement.step > began and is_stale(step))
        policy.executors = 1
        decided = steps(controller) + 1  # perhaps before the policy was told
        last = decided + HELD_STEPS
        until(controller, lambda step: step.measurement.step > last)
        assert {info.executor_id for info in Scheduler(Driver.of(spark)).executors()} == before

        gate.open()
        until(controller, runs(1))

    records = journaled(tmp_path)
    before_it = [record for record in records if record.measurement.step <= hung.measurement.step]
    assert EventKind.QUERY_STALE in kinds(before_it)
    held = [record for record in records if decided < record.measurement.step <= last]
    assert [record.measurement.arrivals_per_s for record in held] == [None] * HELD_STEPS
    assert {record.decision.target.executors for record in held} == {1}
    assert {record.target.executors for record in held} == {3}
    assert all(EventKind.HELD_STALE_MEASUREMENT in kinds([record]) for record in held)
    assert EventKind.SCALED_IN not in kinds(held)
    after = [record for record in records if record.measurement.step > last]
    assert EventKind.QUERY_RECOVERED in kinds(after)
    assert EventKind.SCALED_IN in kinds(after)
