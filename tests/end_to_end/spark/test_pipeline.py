"""The trading pipeline on a cluster that changes: its output is the reference's, window by window.

Executors are added, killed and drained and the query is restarted while quotes come in, so state
is relocated several times. Nothing may be lost, and nothing may be there twice.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.hft.pipeline.placement import Placement
from benchmarks.hft.pipeline.query import PipelineOptions, build_query
from benchmarks.hft.pipeline.reference import ExpectedPrediction, reference
from benchmarks.hft.pipeline.sink import read_results
from benchmarks.hft.pipeline.stages import RESULT_SCHEMA
from benchmarks.hft.pipeline.windows import WindowOptions
from benchmarks.hft.stream.schema import QUOTE_DDL
from runtime.spark.driver import Driver
from runtime.spark.scaling.scheduler import Scheduler
from tests.benchmarks.hft.markets import as_quotes, market

pytestmark = pytest.mark.spark

PATIENCE_S = 240.0
SYMBOLS = 20
BATCHES = 5
BATCH_QUOTES = 2_000
WINDOWS = WindowOptions(size=100, slide=25)


def test_output_equals_the_reference_while_executors_come_and_go(
    spark: SparkSession, tmp_path: Path
) -> None:
    quotes = market(BATCHES * BATCH_QUOTES, SYMBOLS)
    feed = Feed(tmp_path / "quotes", quotes)
    placement = Placement(partitions=1)
    options = PipelineOptions(
        checkpoint=tmp_path / "checkpoint",
        output=tmp_path / "results",
        state_partitions=3,
        windows=WINDOWS,
    )
    with one_executor_afterwards(spark) as scheduler:
        query = started(spark, feed, options, placement)
        try:
            feed.give(1)
            wait_for(query, lambda: batches_done(options) >= 1)

            scheduler.set_target(3)
            wait_for(query, lambda: len(scheduler.executors()) >= 3)
            placement.resize(3)
            feed.give(1)
            wait_for(query, lambda: batches_done(options) >= 2)

            feed.give(2)
            scheduler.kill([scheduler.executors()[0].executor_id])
            wait_for(query, lambda: batches_done(options) >= 3)
        finally:
            query.stop()

        query = started(spark, feed, options, placement)
        try:
            scheduler.set_target(2)
            scheduler.decommission([scheduler.executors()[0].executor_id])
            placement.resize(2)
            feed.give(1)
            wait_for(query, lambda: batches_done(options) >= BATCHES)
        finally:
            query.stop()

    results = read_results(options.output, RESULT_SCHEMA)
    assert_equal(results, reference(as_quotes(quotes), WINDOWS, options.fitting))
    assert set(results.column("partition").to_pylist()) == {0, 1, 2}
    assert placement.weights().max() > 0


class Feed:
    """A folder of parquet files, one for each micro-batch."""

    def __init__(self, folder: Path, quotes: pa.Table) -> None:
        self.folder = folder
        self._quotes = quotes
        self._given = 0
        folder.mkdir()

    def give(self, batches: int) -> None:
        for number in range(self._given, self._given + batches):
            unfinished = self.folder / f".{number}"
            pq.write_table(self._quotes.slice(number * BATCH_QUOTES, BATCH_QUOTES), unfinished)
            # Spark takes files in the order of their times.
            os.utime(unfinished, (1_700_000_000 + number, 1_700_000_000 + number))
            unfinished.rename(self.folder / f"{number:03d}.parquet")
        self._given += batches


def started(
    spark: SparkSession, feed: Feed, options: PipelineOptions, placement: Placement
) -> StreamingQuery:
    # The pipeline sets options of its session, which others share.
    session = spark.newSession()
    quotes = (
        session.readStream.schema(QUOTE_DDL)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(feed.folder))
    )
    return build_query(session, quotes, options, placement)


def batches_done(options: PipelineOptions) -> int:
    return len(list(options.output.glob("batch-*.parquet")))


def wait_for(query: StreamingQuery, condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        error = query.exception()
        if error is not None:
            raise error
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"the query did not get there: {query.lastProgress}")
        time.sleep(0.1)


@contextmanager
def one_executor_afterwards(spark: SparkSession) -> Iterator[Scheduler]:
    scheduler = Scheduler(Driver.of(spark))
    try:
        yield scheduler
    finally:
        scheduler.set_target(1)
        scheduler.kill([executor.executor_id for executor in scheduler.executors()[1:]])


def assert_equal(results: pa.Table, expected: tuple[ExpectedPrediction, ...]) -> None:
    found = {(row["symbol"], row["end_seq"]): row for row in results.to_pylist()}
    assert len(found) == results.num_rows, "a window is there twice"
    assert found.keys() == {(window.symbol, window.end_seq) for window in expected}
    for window in expected:
        row = found[window.symbol, window.end_seq]
        assert row["due_us"] == window.due_us
        assert row["bid"] == pytest.approx(window.bid, rel=1e-9)
        assert row["ask"] == pytest.approx(window.ask, rel=1e-9)
