"""Sources of real queries are asked in every step, also inside batches of twelve seconds.

The batches do nothing but last: what is shown is who knows what when, not how fast Spark is.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.hft.stream.replay import Replay
from benchmarks.hft.stream.source import QuotesDataSource
from forecasting.intervals import IntervalForecaster
from forecasting.late import LateForecaster
from forecasting.registry import make_forecaster
from mpc.values import Applied, Configuration, Measurement
from runtime.control.journal import StepRecord
from runtime.spark.attach import attach
from runtime.spark.driver import Driver
from runtime.spark.sensing.queries import active_queries
from runtime.spark.sensing.sensor import SparkSensor
from tests.end_to_end.spark.controlled import (
    PATIENCE_S,
    config,
    journaled,
    one_executor,
    wait_until,
)

pytestmark = pytest.mark.spark

BATCH_S = 12.0
WAVE = Replay(rate="wave", peak_per_s=2_000, trough_per_s=150, period_s=90)
JUDGED_S = 160.0
SHORT_BATCH_S = 4.0
ROWS_PER_S = 300
LINE = "1234567\n"
HORIZON = 5
LONGEST_GAP = 40
RAN = Applied(Configuration(1, 2_000_000), Configuration(1, 2_000_000))


@contextmanager
def lasting(frame: DataFrame, name: str, batch_s: float, folder: Path) -> Iterator[StreamingQuery]:
    """A query whose batches take that long."""

    def last(rows: DataFrame, _: int) -> None:
        begin_s = time.monotonic()
        rows.count()
        time.sleep(max(batch_s - (time.monotonic() - begin_s), 0.0))

    writer = frame.writeStream.queryName(name).foreachBatch(last)
    query = writer.option("checkpointLocation", str(folder / name)).start()
    try:
        yield query
    finally:
        query.stop()


def quotes(spark: SparkSession, replay: Replay) -> DataFrame:
    spark.dataSource.register(QuotesDataSource)
    return spark.readStream.format("quotes").options(**replay.options()).load()


def forecast_error(
    records: list[StepRecord], replay: Replay, epoch_us: int, *, by_source: bool
) -> float:
    """Of the default forecaster, told by the sources or by the batches of the same journal; mean
    over the second half, against what came, relative to the mean rate."""
    stream = replay.stream()
    forecaster = LateForecaster(
        IntervalForecaster(make_forecaster("mixture"), HORIZON + LONGEST_GAP), LONGEST_GAP
    )
    errors, truth = [], []
    for step, record in enumerate(records):
        (query,) = record.queries
        if by_source:
            forecaster.update(query["source_arrivals_per_s"])
        else:
            until_s, span_s = query["arrivals_until_s"], query["arrivals_span_s"]
            age_s = 0.0 if until_s is None else record.at_s - until_s + (span_s - 1.0) / 2
            forecaster.update(query["arrivals_per_s"], round(age_s))
        path = forecaster.forecast(HORIZON)
        if step > len(records) / 2 and path is not None:
            edges_us = [int((record.at_s + ahead) * 1e6) for ahead in range(HORIZON + 1)]
            came = np.diff([stream.due_by(edge_us, epoch_us) for edge_us in edges_us])
            errors.append(np.abs(path - came).mean())
            truth.append(came.mean())
    return float(np.mean(errors) / np.mean(truth))


def test_a_wave_is_foreseen_inside_long_batches(spark: SparkSession, tmp_path: Path) -> None:
    one_executor(spark)
    epoch_us = (int(time.time()) + 3) * 1_000_000
    replay = msgspec.structs.replace(WAVE, epoch_us=epoch_us)
    with (
        lasting(quotes(spark, replay), "lasting", BATCH_S, tmp_path),
        attach(spark, config(tmp_path, 'mode="advise"', "horizon.step_s=1")) as controller,
    ):
        wait_until(
            lambda: (
                controller.last is not None
                and controller.last.measurement.arrivals_origin == "source"
                and controller.last.at_s > epoch_us / 1e6
            ),
            "the source to be asked",
        )
        time.sleep(JUDGED_S)
    records = journaled(tmp_path)
    # The first batch is stale at once, since nobody knows yet how long one may take.
    first = next(at for at, record in enumerate(records) if record.measurement.batches)
    records = records[first:]
    inside = [record for record in records if not record.measurement.batches]
    assert len(inside) > 0.8 * len(records)
    known = [record for record in inside if record.measurement.arrivals_per_s is not None]
    assert len(known) > 0.95 * len(inside)
    assert {record.measurement.arrivals_origin for record in known} == {"source"}
    assert all(record.measurement.arrivals_age_s < 2.0 for record in known)
    by_source = forecast_error(records, replay, epoch_us, by_source=True)
    by_batch = forecast_error(records, replay, epoch_us, by_source=False)
    print(f"mean error {by_source:.1%} told by the source, {by_batch:.1%} by the batch")
    assert by_source < 0.5 * by_batch


def sensor_of(spark: SparkSession, name: str) -> SparkSensor:
    active = active_queries(Driver.of(spark))
    return SparkSensor(lambda: [query for query in active() if query.name == name], 1.0)


def asked_while_batches_run(
    spark: SparkSession, frame: DataFrame, name: str, folder: Path, deliver: Callable[[int], None]
) -> list[Measurement]:
    """Steps in which the source told, a dozen of them inside batches; `deliver` makes what comes
    in each step."""
    sensor, asked = sensor_of(spark, name), list[Measurement]()
    with lasting(frame, name, SHORT_BATCH_S, folder):
        deadline_s = time.monotonic() + PATIENCE_S
        while sum(not each.batches for each in asked) <= 12:
            assert time.monotonic() < deadline_s, sensor.readings
            time.sleep(1.0)
            deliver(len(asked) + round(time.monotonic() * 1e3))
            measured = sensor.measure(RAN)[0]
            if measured.arrivals_origin == "source" and measured.is_fresh:
                asked.append(measured)
    return asked


@pytest.mark.parametrize("name", ["quotes", "rate", "files"])
def test_every_kind_of_source_is_counted_while_its_batch_runs(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "0.txt").write_text(LINE * 100)
    match name:
        case "quotes":
            frame = quotes(spark, Replay(rate="constant", peak_per_s=ROWS_PER_S))
        case "rate":
            frame = spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_S).load()
        case _:
            frame = spark.readStream.format("text").load(str(folder))

    def deliver(number: int) -> None:
        made = tmp_path / f"{number}.txt"
        made.write_text(LINE * ROWS_PER_S)
        made.rename(folder / made.name)

    asked = asked_while_batches_run(spark, frame, name, tmp_path, deliver)
    rates = [each.arrivals_per_s for each in asked if each.arrivals_per_s is not None]
    assert len(rates) > 8
    assert np.median(rates) == pytest.approx(ROWS_PER_S, rel=0.25)
    backlogs = [each.backlog_items for each in asked]
    assert all(rows is not None and rows >= 0 for rows in backlogs)
    # More than one batch can take, less than everything that ever came.
    assert max(rows for rows in backlogs if rows is not None) >= SHORT_BATCH_S / 2 * ROWS_PER_S
