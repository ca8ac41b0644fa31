"""Where the time of the trading pipeline goes: the same quotes through one stage more each time.

Every row is a streaming query on two executors of one core, as fast as it can, that ends after one
stage; what a row costs more than the row before it is the cost of its stage. Beside it stands what
the stage's own work costs in one process without Spark.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.hft.measure.cluster import (
    EPOCH_US,
    BenchCluster,
    Group,
    batches_of,
    bench_cluster,
    used_s,
    wait_for_batch,
    waiting_quotes,
)
from benchmarks.hft.pipeline.fit import FitOptions
from benchmarks.hft.pipeline.frames import packed, spans, state_labels
from benchmarks.hft.pipeline.placement import Placement
from benchmarks.hft.pipeline.query import SESSION_OPTIONS, PipelineOptions, build_query
from benchmarks.hft.pipeline.records import ARRIVAL, unpack
from benchmarks.hft.pipeline.stages import RESULT_DDL, fitter, packer
from benchmarks.hft.pipeline.windows import NOTHING_PENDING, MemoryStore, WindowOptions, advance
from benchmarks.hft.stream.source import RECORD_BATCH_ROWS

EXECUTORS = 2
BATCH_ROWS = 200_000
SMALL_BATCH_ROWS = 500
WARM_BATCHES = 4
"""Until nearly all symbols have a full window."""
BATCHES = 5
_MILLION = 1e6

STAGES = ("source", "pack", "shuffle", "windows", "place", "fit", "collect")
"""In the order of the pipeline. The last one is all of it: results at the driver and in parquet."""


@dataclass(frozen=True, slots=True)
class StageRow:
    """Seconds for a million quotes, of the pipeline up to and with one stage."""

    stage: str
    rows_per_batch: int
    batches: int
    quotes_per_s: float
    batch_s: float
    """Mean duration of a trigger."""
    wall_s: float
    added_wall_s: float | None
    """More than the stage before; None for small batches, whose cost is that of the batch."""
    driver_jvm_cpu_s: float
    driver_python_cpu_s: float
    executor_jvm_cpu_s: float
    workers_cpu_s: float
    """Of the Python workers."""
    alone_cpu_s: float | None
    """What this stage's own Python costs in one process without Spark; None: it has none."""


def stage_rows(begin: Callable[[str], None]) -> list[StageRow]:
    """Some four minutes; `begin` gets the name of each row as it starts."""
    begin("work without Spark")
    alone_s = alone_cpu_s((WARM_BATCHES + BATCHES) * BATCH_ROWS)
    begin("starting a cluster")
    rows: list[StageRow] = []
    options = {"spark.sql.shuffle.partitions": str(EXECUTORS)}
    with bench_cluster(EXECUTORS, options) as bench:
        # The JVMs compile what they run: the stage that comes first would pay for all.
        begin("warming up")
        measure(bench, STAGES[-1], BATCH_ROWS, None, None)
        for stage in STAGES:
            begin(stage)
            before_s = rows[-1].wall_s if rows else 0.0
            rows.append(measure(bench, stage, BATCH_ROWS, before_s, alone_s.get(stage)))
        begin("small batches")
        rows.append(measure(bench, STAGES[-1], SMALL_BATCH_ROWS, None, None))
    return rows


def measure(
    bench: BenchCluster,
    stage: str,
    rows_per_batch: int,
    before_s: float | None,
    alone_s: float | None,
) -> StageRow:
    """One query. `before_s`: wall seconds for a million quotes of the stage before."""
    folder = Path(mkdtemp(prefix=f"{stage}-", dir=bench.folder))
    query = _started(bench.spark, stage, rows_per_batch, folder)
    try:
        wait_for_batch(query, WARM_BATCHES - 1)
        cpu_before = bench.cpu_s()
        wait_for_batch(query, WARM_BATCHES + BATCHES - 1)
        cpu_after = bench.cpu_s()
        batches = [
            batch
            for batch in batches_of(query)
            if WARM_BATCHES <= batch.batch_id < WARM_BATCHES + BATCHES
        ]
    finally:
        query.stop()
    quotes = sum(batch.rows for batch in batches)
    # Back to back, so the pauses between two triggers count as well.
    seconds = batches[-1].finished_s - batches[0].started_s
    wall_s = _MILLION * seconds / quotes

    def cpu_s(group: Group) -> float:
        return _MILLION * used_s(cpu_before, cpu_after, group) / quotes

    return StageRow(
        stage=stage,
        rows_per_batch=rows_per_batch,
        batches=len(batches),
        quotes_per_s=quotes / seconds,
        batch_s=seconds / len(batches),
        wall_s=wall_s,
        added_wall_s=None if before_s is None else wall_s - before_s,
        driver_jvm_cpu_s=cpu_s("driver_jvm"),
        driver_python_cpu_s=cpu_s("driver_python"),
        executor_jvm_cpu_s=cpu_s("executor_jvm"),
        workers_cpu_s=cpu_s("workers"),
        alone_cpu_s=alone_s,
    )


def alone_cpu_s(quotes: int) -> dict[str, float]:
    """CPU seconds for a million quotes of every stage that is Python, over the second half."""
    stream = waiting_quotes(EXECUTORS, BATCH_ROWS).stream()
    windows = WindowOptions()
    pack, fit = packer((0,)), fitter(windows, FitOptions())
    store, pending = MemoryStore(), NOTHING_PENDING
    spent = dict.fromkeys(("source", "pack", "windows", "fit"), 0.0)
    measured = 0
    for first in range(0, quotes, RECORD_BATCH_ROWS):
        if first < quotes // 2:
            spent = dict.fromkeys(spent, 0.0)
            measured = 0
        lap = _Lap(spent)
        batch = stream.record_batch(first, min(first + RECORD_BATCH_ROWS, quotes), EPOCH_US)
        lap.ends("source")
        (packed_batch,) = pack(iter([_with_microseconds(batch)]))
        lap.ends("pack")
        arrived = unpack(packed_batch.column("quotes")[0].as_py(), ARRIVAL)
        pending, found = advance(pending, arrived, store, windows)
        lap.ends("windows")
        columns = {
            "symbol": [span.symbol for span in found],
            "quotes": [span.quotes.tobytes() for span in found],
            "end_seqs": [span.end_seqs.tobytes() for span in found],
        }
        made = pa.RecordBatch.from_pydict(columns)
        lap.skip()
        for _ in fit(iter([made])):
            pass
        lap.ends("fit")
        measured += batch.num_rows
    return {stage: _MILLION * seconds / measured for stage, seconds in spent.items()}


class _Lap:
    """Adds up the CPU time of this process by stage."""

    def __init__(self, spent: dict[str, float]) -> None:
        self._spent = spent
        self._since_s = time.process_time()

    def ends(self, stage: str) -> None:
        self._spent[stage] += time.process_time() - self._since_s
        self.skip()

    def skip(self) -> None:
        self._since_s = time.process_time()


def _with_microseconds(batch: pa.RecordBatch) -> pa.RecordBatch:
    names = ["ts_us" if name == "ts" else name for name in batch.schema.names]
    columns = [
        column.cast(pa.int64()) if name == "ts_us" else column
        for name, column in zip(names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _started(spark: SparkSession, stage: str, rows_per_batch: int, folder: Path) -> StreamingQuery:
    for key, value in SESSION_OPTIONS.items():
        spark.conf.set(key, value)
    options = waiting_quotes(EXECUTORS, rows_per_batch).options()
    quotes = spark.readStream.format("quotes").options(**options).load()
    if stage == STAGES[-1]:
        return build_query(
            spark,
            quotes,
            PipelineOptions(folder / "checkpoint", folder / "output", state_partitions=EXECUTORS),
            Placement(EXECUTORS),
        )
    writer = _frame(spark, stage, quotes).writeStream.option(
        "checkpointLocation", str(folder / "checkpoint")
    )
    after_windows = {"place": _place, "fit": _fit}.get(stage)
    if after_windows is None:
        return writer.format("noop").start()
    return writer.foreachBatch(after_windows).start()


def _frame(spark: SparkSession, stage: str, quotes: DataFrame) -> DataFrame:
    """The stages before the placement, as far as this one."""
    if stage == "source":
        return quotes
    rows = packed(quotes, state_labels(spark, EXECUTORS))
    if stage == "pack":
        return rows
    if stage == "shuffle":
        return rows.repartition(EXECUTORS, "bucket")
    return spans(rows, WindowOptions())


def _placed(found: DataFrame) -> DataFrame:
    owner = functions.col("symbol") % EXECUTORS
    return found.repartitionById(EXECUTORS, owner.cast("int"))


def _place(found: DataFrame, _: int) -> None:
    _placed(found).write.format("noop").mode("overwrite").save()


def _fit(found: DataFrame, _: int) -> None:
    fit = fitter(WindowOptions(), FitOptions())
    _placed(found).mapInArrow(fit, RESULT_DDL).write.format("noop").mode("overwrite").save()
