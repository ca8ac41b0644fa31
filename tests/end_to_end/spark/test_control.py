"""The control loop on a live application: executors follow it, hosts follow it, advice does not."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from mpc.bounds import Bounds
from mpc.events import EventKind
from mpc.ports import Policy
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement
from runtime.build import live_policy, live_power
from runtime.fleet.local import LocalHosts
from runtime.spark.attach import attach
from runtime.spark.driver import Driver
from runtime.spark.scaling.scheduler import ScalingRefused, Scheduler
from tests.end_to_end.spark.controlled import (
    config,
    journaled,
    kinds,
    limits_khz,
    one_executor,
    runs,
    status,
    until,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def query(spark: SparkSession) -> Iterator[None]:
    """Something to control, with one executor before and afterwards."""
    one_executor(spark)
    rows = spark.readStream.format("rate").option("rowsPerSecond", 200).load()
    counts = rows.groupBy((sql.col("value") % 3).alias("key")).count()
    running = counts.writeStream.format("noop").outputMode("update").queryName("controlled").start()
    try:
        yield
    finally:
        running.stop()
        one_executor(spark)


class Resting:
    """A policy that gives way to one executor when it is told to."""

    def __init__(self, policy: Policy, rest: threading.Event) -> None:
        self._policy = policy
        self._rest = rest

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        decision = self._policy.decide(measurement, bounds)
        if not self._rest.is_set():
            return decision
        return Decision(Configuration(1, decision.target.frequency_khz), "rest")


def test_executors_follow_and_a_second_controller_continues(
    spark: SparkSession, query: None, tmp_path: Path
) -> None:
    with attach(spark, config(tmp_path, "policy=static-2")) as controller:
        until(controller, runs(2))
        with pytest.raises(ScalingRefused, match="in use by another controller"):
            attach(spark, config(tmp_path))
    first = journaled(tmp_path)
    assert first[-1].applied.requested.executors == 2
    settings = config(tmp_path, "limits.dead_time_s=1")
    rest = threading.Event()

    def make(space: ConfigurationSpace, dead_time_s: float) -> Policy:
        return Resting(live_policy(settings, space, live_power(settings, space), dead_time_s), rest)

    with attach(spark, settings, make_policy=make) as controller:
        # What it learned before allows a plan at once; a measurement of its own takes a batch.
        until(controller, lambda step: bool(step.decision.plan and step.measurement.arrivals_per_s))
        # Executors on their way would come after the end of the test.
        rest.set()
        until(controller, runs(1))
    second = [
        record for record in journaled(tmp_path)[len(first) :] if record.decision.reason != "rest"
    ]
    assert EventKind.RESUMED in kinds(second)
    assert second[0].measurement.step > first[-1].measurement.step
    fresh = [record.measurement for record in second if record.measurement.arrivals_per_s]
    assert fresh
    assert all(each.batches or each.arrivals_origin == "source" for each in fresh)
    assert all(reading["query"] == "controlled" for reading in second[-1].queries)


def test_advice_touches_nothing(spark: SparkSession, query: None, tmp_path: Path) -> None:
    before = {info.executor_id for info in Scheduler(Driver.of(spark)).executors()}
    with attach(spark, config(tmp_path, "policy=peak", "mode=advise")) as controller:
        until(controller, lambda step: step.measurement.step >= 3)
    records = journaled(tmp_path)
    assert {record.target.executors for record in records} == {3}
    assert EventKind.ADVISED in kinds(records)
    assert {info.executor_id for info in Scheduler(Driver.of(spark)).executors()} == before


def test_frequencies_reach_the_hosts_and_go_back(
    spark: SparkSession, query: None, tmp_path: Path
) -> None:
    class Slow:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            return Decision(Configuration(1, 1_500_000), "slow")

    names = ("127.0.0.2", "127.0.0.3")
    with LocalHosts(names) as hosts:
        urls = [f'"{name}=unix:{make().where}"' for name, make in hosts.agents.items()]
        settings = config(tmp_path, f"agents.urls=[{', '.join(urls)}]")
        with attach(spark, settings, make_policy=lambda space, dead_s: Slow()) as controller:
            step = until(
                controller,
                lambda step: (
                    step.applied.requested == step.applied.observed
                    and step.applied.observed == Configuration(1, 1_500_000)
                    and step.measurement.power_w is not None
                    and step.measurement.arrivals_per_s is not None
                ),
            )
            assert step.measurement.power_source == "emulated"
            busy = {info.host for info in Scheduler(Driver.of(spark)).executors()}
            wanted = {name: {1_500_000 if name in busy else 1_200_000} for name in names}
            until(controller, lambda step: limits_khz(hosts) == wanted)
        for name in names:
            assert status(hosts, name).holder is None
