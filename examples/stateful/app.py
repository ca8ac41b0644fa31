"""Watches machines: an alarm when the running mean of a machine's temperature leaves its range.

The mean of every machine is state that Spark keeps between micro-batches, in RocksDB, and moves
when executors come and go (`applyInPandasWithState`). Readings come from Spark's rate source,
more of them every second until `--rate` is reached.
"""

import argparse
import tempfile
from collections.abc import Iterator

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

import foresight

ALARMS = "machine BIGINT, readings BIGINT, mean_c DOUBLE"
STATE = "readings BIGINT, mean_c DOUBLE"
LOW_C, HIGH_C = 19.0, 21.0
WEIGHT = 0.05


def running_mean(
    key: tuple[int], frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """The machine's readings so far and their exponentially weighted mean; an alarm if need be."""
    readings, mean_c = state.get if state.exists else (0, None)
    for frame in frames:
        for celsius in frame["celsius"]:
            mean_c = celsius if mean_c is None else mean_c + WEIGHT * (celsius - mean_c)
        readings += len(frame)
    state.update((readings, mean_c))
    if not LOW_C <= mean_c <= HIGH_C:
        yield pd.DataFrame({"machine": [key[0]], "readings": [readings], "mean_c": [mean_c]})


def readings(spark: SparkSession, per_s: int, ramp_s: int, machines: int) -> DataFrame:
    """Machine, time and temperature; every hundredth machine runs hot."""
    rows = (
        spark.readStream.format("rate")
        .options(rowsPerSecond=per_s, rampUpTime=f"{ramp_s}s", numPartitions=4)
        .load()
    )
    machine = sql.col("value") % machines
    hot = sql.when(machine % 100 == 0, 5.0).otherwise(0.0)
    celsius = 20.0 + hot + sql.sin(sql.col("value") * 0.7)
    return foresight.observe(rows, "timestamp").select(
        machine.alias("machine"), celsius.alias("celsius")
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=4000, help="readings/s in the end")
    parser.add_argument("--ramp", type=int, default=120, help="seconds until then")
    parser.add_argument("--machines", type=int, default=300)
    parser.add_argument("--checkpoint", help="folder of the state (default: a temporary one)")
    parser.add_argument("--duration", type=float, help="end after so many seconds")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    spark = (
        SparkSession.builder.appName("stateful")
        # State is split into so many parts for the life of a checkpoint.
        .config("spark.sql.shuffle.partitions", "4")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        query = (
            readings(spark, given.rate, given.ramp, given.machines)
            .groupBy("machine")
            .applyInPandasWithState(
                running_mean, ALARMS, STATE, "update", GroupStateTimeout.NoTimeout
            )
            .writeStream.queryName("stateful")
            .outputMode("update")
            .option("checkpointLocation", given.checkpoint or temporary)
            .format("console")
            .option("numRows", 5)
            .start()
        )
        try:
            query.awaitTermination(given.duration)
        finally:
            query.stop()
            spark.stop()


if __name__ == "__main__":
    main()
