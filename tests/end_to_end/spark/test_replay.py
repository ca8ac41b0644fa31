"""A replay whose rate rises beyond one executor and falls again, under the product's own policy.

Every quote costs processor time. One executor keeps the target only while the rate is low, so more
must be asked for before that is over, and given back when the wave has passed.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.hft.stream.replay import Replay
from benchmarks.hft.stream.source import INDEX, QuotesDataSource
from mpc.events import EventKind
from runtime.insight.journals import recorded_run
from runtime.insight.replay import replayed
from runtime.spark.attach import attach
from runtime.spark.sensing.observe import observe
from tests.end_to_end.spark.controlled import (
    config,
    journaled,
    kinds,
    one_executor,
    runs,
    until,
    wait_until,
)

pytestmark = pytest.mark.spark

QUOTE_CPU_S = 0.006
"""An executor serves at most 167 quotes/s, on a busy machine fewer."""
RIPPLE = Replay(rate="wave", trough_per_s=5, peak_per_s=60, period_s=5)
"""From batches of many sizes it is learned what a batch costs and what a quote."""
WAVE = Replay(rate="wave", trough_per_s=15, peak_per_s=250, period_s=24, quotes=3_100)
"""One wave and no more."""
LEARNING_BATCHES = 10
TARGET_S = 20.0
"""What waits while executors start must not take as long, however slow the machine is."""


def costly(row_cpu_s: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Made here, since executors cannot import tests."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            until_s = time.thread_time() + row_cpu_s * batch.num_rows
            while time.thread_time() < until_s:
                pass
            yield batch

    return work


@contextmanager
def playing(spark: SparkSession, replay: Replay) -> Iterator[StreamingQuery]:
    spark.dataSource.register(QuotesDataSource)
    quotes = spark.readStream.format("quotes").options(**replay.options()).load()
    spread = observe(quotes, "ts").repartition(3)
    served = spread.mapInArrow(costly(QUOTE_CPU_S), quotes.schema)
    query = served.writeStream.format("noop").queryName("quotes").start()
    try:
        yield query
    finally:
        query.stop()


def batches_done(query: StreamingQuery) -> int:
    progress = last_progress(query)
    return 0 if progress is None else progress.batchId


def quotes_served(query: StreamingQuery) -> int:
    progress = last_progress(query)
    end = None if progress is None else json.loads(progress.sources[0].endOffset)
    return 0 if end is None else int(end[INDEX])


def last_progress(query: StreamingQuery) -> StreamingQueryProgress | None:
    error = query.exception()
    if error is not None:
        raise error
    return query.lastProgress


@pytest.fixture
def alone(spark: SparkSession) -> Iterator[None]:
    one_executor(spark)
    try:
        yield
    finally:
        one_executor(spark)


@pytest.mark.usefixtures("alone")
def test_executors_come_before_the_target_is_broken_and_go_after_the_wave(
    spark: SparkSession, tmp_path: Path
) -> None:
    target = f"slo.latency_ms={TARGET_S * 1e3}"
    with (
        playing(spark, RIPPLE) as ripple,
        attach(spark, config(tmp_path, target, "executors.max=1")),
    ):
        wait_until(lambda: batches_done(ripple) >= LEARNING_BATCHES, "what quotes cost")
    learned = len(journaled(tmp_path))

    with playing(spark, WAVE) as wave, attach(spark, config(tmp_path, target)) as controller:
        until(controller, lambda step: step.applied.observed.executors > 1)
        wait_until(lambda: quotes_served(wave) == WAVE.quotes, "the end of the wave")
        until(controller, runs(1))

    records = journaled(tmp_path)[learned:]
    assert EventKind.RESUMED in kinds(records)
    assert records[0].measurement.requested.executors == 1
    out = next(at for at, step in enumerate(records) if step.target.executors > 1)
    assert records[out].decision.plan is not None
    latencies_s = [step.measurement.latency_s or 0.0 for step in records]
    assert all(at > out for at, latency_s in enumerate(latencies_s) if latency_s > TARGET_S)
    assert {step.measurement.latency_kind for step in records} <= {"exact", None}

    rates_per_s = [step.measurement.arrivals_per_s or 0.0 for step in records]
    crest = rates_per_s.index(max(rates_per_s))
    assert records[crest].target.executors > 1
    assert EventKind.SCALED_IN in kinds(records[crest:])

    # The journal of both runs gives its own decisions again, to the last bit.
    steps = list(replayed(recorded_run(tmp_path / "foresight-tests")))
    consulted = [step for step in journaled(tmp_path) if step.consulted]
    assert len(steps) == len(consulted) >= learned
    assert [step.record.measurement.step for step in steps if not (step.known and step.same)] == []
