"""The sensor on real streaming queries: exact latency, idle streams, ends, and wrong columns."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.query import StreamingQuery

from mpc.events import EventKind
from mpc.values import Applied, Configuration, Measurement
from runtime.spark.driver import Driver
from runtime.spark.sensing.observe import NotATime, observe
from runtime.spark.sensing.queries import active_queries
from runtime.spark.sensing.sensor import SparkSensor

pytestmark = pytest.mark.spark

LONGEST_S = 240.0
CURRENT = Configuration(1, 2_000_000)
RAN = Applied(CURRENT, CURRENT)


@contextmanager
def running(frame: DataFrame, name: str, mode: str = "append") -> Iterator[StreamingQuery]:
    query = frame.writeStream.format("noop").outputMode(mode).queryName(name).start()
    try:
        yield query
    finally:
        query.stop()


def sensor_of(spark: SparkSession, names: set[str]) -> SparkSensor:
    """Other tests of the session may have queries of their own."""
    active = active_queries(Driver.of(spark))
    return SparkSensor(
        lambda: [query for query in active() if query.name in names],
        step_s=0.5,
    )


def measured_until(sensor: SparkSensor, wanted: Callable[[Measurement], bool]) -> list[Measurement]:
    seen = []
    deadline_s = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline_s:
        seen.append(sensor.measure(RAN)[0])
        if wanted(seen[-1]):
            return seen
        time.sleep(0.5)
    raise AssertionError(f"not seen within {LONGEST_S:.0f} s; last {seen[-1]}, {sensor.readings}")


def until_event(sensor: SparkSensor, kind: EventKind) -> Measurement:
    deadline_s = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline_s:
        measured, events = sensor.measure(RAN)
        if kind in {event.kind for event in events}:
            return measured
        time.sleep(0.5)
    raise AssertionError(f"no {kind} within {LONGEST_S:.0f} s; {sensor.readings}")


def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", 200).load()


def test_a_query_with_a_shuffle_is_measured_exactly(spark: SparkSession) -> None:
    counts = observe(rate(spark), "timestamp").groupBy((sql.col("value") % 3).alias("key")).count()
    sensor = sensor_of(spark, {"exact"})
    with running(counts, "exact", mode="update") as query:
        seen = measured_until(
            sensor,
            lambda step: step.latency_kind == "exact" and step.arrivals_per_s is not None,
        )
        step = seen[-1]
        assert step.latency_s is not None
        assert step.latency_s > 0.0
        assert step.arrivals_per_s is not None
        assert step.arrivals_per_s >= 0.0
        assert step.backlog_items is not None
        assert all(sample.ran_on == CURRENT for sample in step.batches)
        # Whatever was skipped or polled twice, every row was counted once.
        query.stop()
        sampled = sum(sample.rows for step in seen for sample in step.batches)
        reported = {made.batchId: made.numInputRows for made in query.recentProgress}
        assert sampled in {
            sum(rows for batch_id, rows in reported.items() if batch_id <= last)
            for last in reported
        }
        measured, events = sensor.measure(RAN)
        assert measured.arrivals_per_s is None
        assert [event.kind for event in events] == [EventKind.QUERY_STOPPED]


def test_a_number_with_its_unit_is_a_time_too(spark: SparkSession) -> None:
    stamped = rate(spark).withColumn("ts_ms", sql.unix_millis("timestamp"))
    sensor = sensor_of(spark, {"stamped"})
    with running(observe(stamped, "ts_ms", unit="ms"), "stamped"):
        step = measured_until(sensor, lambda step: step.latency_kind == "exact")[-1]
    assert step.latency_s is not None
    assert 0.0 <= step.latency_s < 3600.0  # another unit is years off


def lines(spark: SparkSession, folder: Path) -> DataFrame:
    (folder / "in").mkdir()
    return spark.readStream.format("text").load(str(folder / "in"))


def deliver(folder: Path, name: str, count: int) -> None:
    """Complete at once: a stream would read half a file."""
    (folder / name).write_text("a\n" * count)
    (folder / name).rename(folder / "in" / name)


def test_an_idle_stream_has_zero_arrivals_and_is_estimated_when_it_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    sensor = sensor_of(spark, {"files"})
    with running(lines(spark, tmp_path), "files"):
        deliver(tmp_path, "first.txt", 3)
        measured_until(sensor, lambda step: step.arrivals_per_s == 0.0)
        deliver(tmp_path, "second.txt", 500)
        step = measured_until(sensor, lambda step: bool(step.batches))[-1]
        assert sum(sample.rows for sample in step.batches) == 500
        assert step.latency_kind == "estimated"
        measured_until(sensor, lambda step: step.arrivals_per_s == 0.0)


def test_a_query_that_fails_is_an_event(spark: SparkSession, tmp_path: Path) -> None:
    failing = lines(spark, tmp_path).select(sql.raise_error("value").alias("never"))
    sensor = sensor_of(spark, {"failing"})

    with running(failing, "failing"):
        until_event(sensor, EventKind.QUERY_STARTED)
        deliver(tmp_path, "bad.txt", 1)
        step = until_event(sensor, EventKind.QUERY_FAILED)
    assert step.arrivals_per_s is None


@pytest.mark.parametrize(("column", "says"), [("value", "unit"), ("words", "string")])
def test_a_column_that_is_no_time_is_refused(spark: SparkSession, column: str, says: str) -> None:
    frame = rate(spark).withColumn("words", sql.lit("noon"))
    with pytest.raises(NotATime, match=says):
        observe(frame, column)


def test_continuous_processing_is_found_and_nothing_is_measured_of_it(spark: SparkSession) -> None:
    sensor = sensor_of(spark, {"continuous"})
    source = spark.readStream.format("rate").option("rowsPerSecond", 10).option("numPartitions", 1)
    writer = source.load().writeStream.format("noop").queryName("continuous")
    query = writer.trigger(continuous="1 second").start()
    try:
        step = until_event(sensor, EventKind.QUERY_UNSUPPORTED)
    finally:
        query.stop()
    assert step.arrivals_per_s is None
    assert not step.is_fresh


def test_useful_executors_follow_the_stages_of_the_query(spark: SparkSession) -> None:
    """And not the session's number of partitions, which is 3 here and 200 elsewhere."""
    driver = Driver.of(spark)
    narrow = rate(spark).repartition(2)
    with running(narrow, "narrow"):
        deadline_s = time.monotonic() + LONGEST_S
        while 2 not in (tasks := driver.query_stage_tasks()):
            assert time.monotonic() < deadline_s, tasks
            time.sleep(0.5)
    assert driver.query_stage_tasks() == []
