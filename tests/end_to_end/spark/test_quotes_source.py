"""The quotes source on a cluster: several batches, a restart, and every quote once, in order."""

import json
import time
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.hft.measure.source_rate import measure, recorded
from benchmarks.hft.stream.replay import Replay
from benchmarks.hft.stream.schema import QUOTE_SCHEMA
from benchmarks.hft.stream.source import EPOCH, INDEX, QuotesDataSource

pytestmark = pytest.mark.spark

QUOTES = 60_000
BATCH_ROWS = 12_000
PATIENCE_S = 240.0


def test_every_quote_once_and_in_order_across_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    replay = Replay(
        rate="wave", peak_per_s=100_000, period_s=1, quotes=QUOTES, max_rows_per_batch=BATCH_ROWS
    )
    before = stopped_after(started(spark, replay, tmp_path), 2 * BATCH_ROWS)
    after = stopped_after(started(spark, replay, tmp_path), QUOTES)

    assert after[INDEX] == QUOTES
    assert after[EPOCH] == before[EPOCH]
    written = spark.read.parquet(str(tmp_path / "out")).orderBy("seq").toArrow()
    expected = replay.stream().record_batch(0, QUOTES, after[EPOCH])
    assert written.cast(QUOTE_SCHEMA).equals(pa.Table.from_batches([expected]))
    files = [parquet.read_table(path) for path in (tmp_path / "out").glob("*.parquet")]
    assert len(files) >= QUOTES / BATCH_ROWS
    for rows in files:
        seq = rows.column("seq").to_pylist()
        assert all(later == earlier + 1 for earlier, later in pairwise(seq))


def test_recorded_quotes_reach_the_executors(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(QuotesDataSource)
    replay = recorded(tmp_path, quotes=25_000)
    row = measure(spark, "recorded", replay, rows_per_batch=10_000, folder=tmp_path)
    assert row.batches == 1
    assert min(row.quotes_per_s, row.reading_per_s, row.made_per_s) > 0


def started(spark: SparkSession, replay: Replay, folder: Path) -> StreamingQuery:
    spark.dataSource.register(QuotesDataSource)
    quotes = spark.readStream.format("quotes").options(**replay.options()).load()
    return (
        quotes.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )


def stopped_after(query: StreamingQuery, index: int) -> dict[str, int]:
    """The end of the first batch that reaches quote `index`."""
    deadline_s = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < deadline_s:
            error = query.exception()
            if error is not None:
                raise error
            for progress in query.recentProgress:
                end: dict[str, int] | None = json.loads(progress.sources[0].endOffset)
                if end is not None and end[INDEX] >= index:
                    return end
            time.sleep(0.1)
        raise TimeoutError(f"quote {index} did not arrive: {query.lastProgress}")
    finally:
        query.stop()
