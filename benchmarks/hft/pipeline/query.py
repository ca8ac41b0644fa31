"""The trading pipeline as one streaming query: quotes, windows, placement, fits, results.

    quotes -> pack -> shuffle by state partition -> windows (transformWithState, exactly once)
           -> repartitionById by the distribution table -> fits (stateless) -> driver -> sinks

The table is looked up anew for every micro-batch, so that the balance of the fits follows the
measured weights and the number of executors without any state being moved. State partitions are
fixed for the life of a checkpoint.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, functions
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.hft.pipeline.fit import FitOptions
from benchmarks.hft.pipeline.frames import packed, spans, state_labels
from benchmarks.hft.pipeline.placement import HASH_MULTIPLIER, DistributionTable, Placement
from benchmarks.hft.pipeline.sink import ParquetSink, Sink
from benchmarks.hft.pipeline.stages import RESULT_DDL, fitter
from benchmarks.hft.pipeline.windows import WindowOptions

SESSION_OPTIONS: dict[str, str] = {
    # transformWithState needs it.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A batch commits its changes, not a snapshot of everything.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Spans are tens of kilobytes, so the number of rows alone does not bound a record batch.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    # Partitions of the fits are the table's; their sizes say nothing about their work.
    "spark.sql.adaptive.enabled": "false",
}
"""Session options of the query. `build_query` sets them, as they must hold when it starts."""


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """What one pipeline is; folders must be reachable from every host."""

    checkpoint: Path
    output: Path
    """Parquet of the predictions; belongs to the checkpoint."""
    name: str = "trading"
    state_partitions: int = 8
    """As many tasks the windows can use; fixed for the life of the checkpoint."""
    trigger_interval_s: float | None = None
    """None starts a micro-batch as soon as the one before has ended."""
    windows: WindowOptions = field(default_factory=WindowOptions)
    fitting: FitOptions = field(default_factory=FitOptions)

    def __post_init__(self) -> None:
        if self.state_partitions < 1:
            raise ValueError(f"state_partitions must be at least 1, got {self.state_partitions}")


def build_query(
    spark: SparkSession,
    quotes: DataFrame,
    options: PipelineOptions,
    placement: Placement,
    sinks: Sequence[Sink] = (),
) -> StreamingQuery:
    """Start the pipeline on a stream of quotes (`schema.QUOTE_SCHEMA`).

    Predictions go to parquet in `options.output`, and to the other sinks.
    """
    for key, value in SESSION_OPTIONS.items():
        spark.conf.set(key, value)
    spark.conf.set("spark.sql.shuffle.partitions", options.state_partitions)
    batches = _Batches(options, placement, (ParquetSink(options.output), *sinks))
    writer = (
        spans(packed(quotes, state_labels(spark, options.state_partitions)), options.windows)
        .writeStream.queryName(options.name)
        .outputMode("append")
        .option("checkpointLocation", str(options.checkpoint))
        .foreachBatch(batches.fit)
    )
    if options.trigger_interval_s is not None:
        writer = writer.trigger(
            processingTime=f"{round(options.trigger_interval_s * 1e3)} milliseconds"
        )
    return writer.start()


class _Batches:
    """The second stage, once a micro-batch."""

    def __init__(
        self, options: PipelineOptions, placement: Placement, sinks: tuple[Sink, ...]
    ) -> None:
        self._fit = fitter(options.windows, options.fitting)
        self._placement = placement
        self._sinks = sinks

    def fit(self, spans: DataFrame, batch_id: int) -> None:
        table = self._placement.table()
        # One action only: a second one would run the stateful stage again.
        results: pa.Table = (
            spans.repartitionById(table.partitions, _owner(table))
            .mapInArrow(self._fit, RESULT_DDL)
            .toArrow()
        )
        for sink in self._sinks:
            sink.write(batch_id, results)
        self._placement.report(
            results.column("symbol").to_numpy().astype(np.int64),
            results.column("fit_cpu_us").to_numpy(),
        )


def _owner(table: DistributionTable) -> Column:
    """`DistributionTable.of` as an expression, with the owners as one constant array."""
    symbol = functions.col("symbol")
    product = symbol.cast("bigint") * functions.lit(HASH_MULTIPLIER)
    hashed = functions.shiftright(product.bitwiseAND(0xFFFF_FFFF), 16) % table.partitions
    if len(table.owners) == 0:
        return hashed.cast("int")
    owners = functions.split(functions.lit(",".join(map(str, table.owners))), ",")
    return functions.coalesce(functions.get(owners, symbol).cast("int"), hashed.cast("int"))
