"""How many quotes per second the source alone delivers: Spark reads them and drops them.

Each row is one query over quotes that are all due, in micro-batches of one size; the first batch,
which starts Python workers, does not count. The last column is what making the same rows costs
without Spark, in the same process and run.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import compute, parquet
from pyspark.sql import SparkSession

from benchmarks.hft.measure.cluster import EPOCH_US
from benchmarks.hft.session import at_driver, open_session
from benchmarks.hft.stream.replay import Replay
from benchmarks.hft.stream.schema import ASK, ASK_SIZE, SEQ, SYMBOL
from benchmarks.hft.stream.source import RECORD_BATCH_ROWS, QuotesDataSource
from runtime.rates import MARKET_OPEN_MS

BATCHES = 6
BATCH_ROWS = (20_000, 200_000, 1_000_000)
RECORDED_QUOTES = 3_000_000
PATIENCE_S = 300


@dataclass(frozen=True, slots=True)
class SourceRow:
    source: str
    """Generated, or recorded."""
    rows_per_batch: int
    batches: int
    quotes_per_s: float
    """Median over the batches of rows over the duration of the whole trigger."""
    reading_per_s: float
    """The same over the execution alone, without planning and checkpointing."""
    made_per_s: float
    """Of one process without Spark."""


def source_rows(begin: Callable[[str], None]) -> list[SourceRow]:
    """Under a minute on an idle machine; `begin` gets the name of each row as it starts."""
    rows = []
    with tempfile.TemporaryDirectory() as name, _session(Path(name)) as spark:
        folder = Path(name)
        sources = {"generated": Replay(), "recorded": recorded(folder, RECORDED_QUOTES)}
        for source, replay in sources.items():
            for rows_per_batch in BATCH_ROWS:
                begin(f"{source}, {rows_per_batch:,} quotes a batch")
                rows.append(measure(spark, source, replay, rows_per_batch, folder))
    return rows


def measure(
    spark: SparkSession, source: str, replay: Replay, rows_per_batch: int, folder: Path
) -> SourceRow:
    """At least two batches must be there; the source must be registered in the session."""
    available = replay.stream().quotes
    total = rows_per_batch * (BATCHES + 1)
    batches = BATCHES + 1 if available is None else min(available, total) // rows_per_batch
    options = replay.options() | {
        "quotes": str(batches * rows_per_batch),
        "max_rows_per_batch": str(rows_per_batch),
        "epoch_us": str(EPOCH_US),
    }
    query = (
        spark.readStream.format(QuotesDataSource.name())
        .options(**options)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / f"{source}-{rows_per_batch}"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        if not query.awaitTermination(PATIENCE_S):
            raise TimeoutError(f"{source}: no end after {PATIENCE_S} s")
    finally:
        query.stop()
    warm = [batch for batch in query.recentProgress if batch.numInputRows == rows_per_batch][1:]
    return SourceRow(
        source=source,
        rows_per_batch=rows_per_batch,
        batches=len(warm),
        quotes_per_s=statistics.median(
            1e3 * rows_per_batch / batch.durationMs["triggerExecution"] for batch in warm
        ),
        reading_per_s=statistics.median(
            1e3 * rows_per_batch / batch.durationMs["addBatch"] for batch in warm
        ),
        made_per_s=_made_per_s(replay, rows_per_batch),
    )


def _made_per_s(replay: Replay, rows: int) -> float:
    stream = replay.stream()
    start_s = time.perf_counter()
    for first in range(0, rows, RECORD_BATCH_ROWS):
        stream.record_batch(first, min(first + RECORD_BATCH_ROWS, rows), EPOCH_US)
    return rows / (time.perf_counter() - start_s)


def recorded(folder: Path, quotes: int) -> Replay:
    """Generated asks as a file of the tick layout, a thousand a millisecond from 9:30 on."""
    made = Replay().stream().record_batch(0, quotes, EPOCH_US)
    since_open_ms = compute.divide(made.column(SEQ), 1_000)
    words = {"kind": "Q", "side": "A"}
    ticks = pa.table(
        {
            "ts_ms": compute.add(since_open_ms, MARKET_OPEN_MS),
            "sym": made.column(SYMBOL).cast(pa.string()),
            **{name: pa.repeat(word, made.num_rows) for name, word in words.items()},
            "px": compute.round(compute.multiply(made.column(ASK), 1e4)).cast(pa.int32()),
            "size": made.column(ASK_SIZE),
        }
    )
    path = folder / "ticks.parquet"
    parquet.write_table(ticks, path)
    return Replay(path=str(path), cache=str(folder / "cache"))


@contextmanager
def _session(folder: Path) -> Iterator[SparkSession]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = at_driver("127.0.0.1") | {"spark.ui.showConsoleProgress": "false"}
    spark = open_session(f"local[{os.cpu_count()}]", "quotes source alone", folder, options)
    try:
        spark.sparkContext.setLogLevel("ERROR")
        yield spark
    finally:
        spark.stop()
