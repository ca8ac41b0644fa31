"""The contract of clusters on a real Spark: the suite that the fake and the plant pass as well."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mpc.events import EventKind
from runtime.control.holds import pause
from runtime.spark.attach import attach
from runtime.spark.cluster import SparkCluster
from runtime.spark.driver import Driver
from runtime.spark.scaling.scaler import ExecutorScaler
from runtime.spark.scaling.scheduler import Scheduler
from runtime.spark.sensing.queries import active_queries
from runtime.spark.sensing.sensor import SparkSensor
from tests.contracts.clusters import CHECKS, ClusterBench
from tests.end_to_end.spark.controlled import config, kinds, one_executor, runs, until

pytestmark = pytest.mark.spark

STEP_S = 0.25


class RecordingScheduler(Scheduler):
    """The real one, with a list of its orders."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        self.orders: list[tuple[str, object]] = []

    def set_target(self, executors: int) -> None:
        self.orders.append(("target", executors))
        super().set_target(executors)

    def decommission(self, executor_ids: Sequence[str]) -> None:
        self.orders.append(("decommission", tuple(executor_ids)))
        super().decommission(executor_ids)

    def kill(self, executor_ids: Sequence[str]) -> None:
        self.orders.append(("kill", tuple(executor_ids)))
        super().kill(executor_ids)


class SparkBench:
    frequency_khz = 2_000_000

    def __init__(self, spark: SparkSession) -> None:
        driver = Driver.of(spark)
        self.scheduler = RecordingScheduler(driver)
        self.cluster = SparkCluster(
            driver,
            self.scheduler,
            SparkSensor(active_queries(driver), STEP_S),
            ExecutorScaler(self.scheduler, time.monotonic, max_executors=2, grace_s=1.0),
            None,
            highest_khz=self.frequency_khz,
        )

    def advance(self) -> None:
        time.sleep(STEP_S)

    def touched(self) -> Sequence[object]:
        return tuple(self.scheduler.orders)


@pytest.fixture
def bench(spark: SparkSession) -> Iterator[SparkBench]:
    one_executor(spark)
    yield SparkBench(spark)
    one_executor(spark)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_a_real_cluster_keeps_the_contract(
    bench: SparkBench, check: Callable[[ClusterBench], None]
) -> None:
    check(bench)


def test_a_paused_controller_leaves_a_real_cluster_alone(
    spark: SparkSession, bench: SparkBench, tmp_path: Path
) -> None:
    folder = tmp_path / "foresight-tests"
    settings = config(tmp_path, "policy=static-2", "horizon.step_s=1")
    with attach(spark, settings) as loop:
        until(loop, runs(2))
        assert pause(folder, time.time(), "the test")
        until(loop, lambda step: EventKind.HELD_PAUSED in kinds([step]))
        # Somebody else takes one away: a controller that is not paused would bring it back.
        bench.scheduler.set_target(1)
        bench.scheduler.decommission([bench.scheduler.executors()[-1].executor_id])
        until(loop, lambda step: step.applied.observed.executors == 1)
        seen = loop.last
        assert seen is not None
        later = seen.measurement.step + 5
        last = until(loop, lambda step: step.measurement.step >= later)
        assert last.applied.observed.executors == 1
        assert last.target.executors == 2
