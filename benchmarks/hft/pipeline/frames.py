"""The streaming frames of the trading pipeline, one for each stage up to the windows.

The measurement of where the time goes ends a query after any of them.
"""

from pyspark.sql import DataFrame, SparkSession, functions

from benchmarks.hft.pipeline.stages import PACKED_DDL, packer
from benchmarks.hft.pipeline.window_state import SPAN_DDL, WindowProcessor
from benchmarks.hft.pipeline.windows import WindowOptions
from benchmarks.hft.stream import schema


def packed(quotes: DataFrame, labels: tuple[int, ...]) -> DataFrame:
    """One row for each state partition and record batch; `labels` as of `state_labels`."""
    return quotes.select(
        schema.SEQ,
        functions.unix_micros(schema.TS).alias("ts_us"),
        schema.SYMBOL,
        schema.BID,
        schema.ASK,
    ).mapInArrow(packer(labels), PACKED_DDL)


def spans(rows: DataFrame, options: WindowOptions) -> DataFrame:
    """The windows of packed quotes, through Spark's state store."""
    return rows.groupBy("bucket").transformWithState(
        WindowProcessor(options), SPAN_DDL, "append", "none"
    )


def state_labels(spark: SparkSession, partitions: int) -> tuple[int, ...]:
    """For every state partition a number that Spark's hash sends there.

    One group in each; numbers 0, 1, ... would leave some partitions empty and others with several.
    """
    candidate = functions.col("id").cast("int")
    rows = (
        spark.range(64 * partitions)
        .select(
            candidate.alias("label"),
            functions.pmod(functions.hash(candidate), functions.lit(partitions)).alias("home"),
        )
        .collect()
    )
    homes = {row.home: row.label for row in reversed(rows)}
    return tuple(homes[partition] for partition in range(partitions))
