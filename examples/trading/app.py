"""Predicts the next bid and ask of every symbol from its last 1,000 quotes.

The trading application of the MPC paper (section 5.1): a sliding count window for each symbol in
Spark's state store, and a Levenberg-Marquardt fit of each window. Its parts are in
`benchmarks.hft`, which comes with Foresight; quotes are generated, or replayed from a recording
with `--quotes`.
"""

import argparse
import tempfile
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import foresight
from benchmarks.hft.pipeline.placement import Placement
from benchmarks.hft.pipeline.query import PipelineOptions, build_query
from benchmarks.hft.stream.replay import Replay
from benchmarks.hft.stream.source import QuotesDataSource

PARTITIONS = 4
"""As many tasks as executors can ever use."""


class Printed:
    """A sink that says how many predictions a micro-batch made and how old they were."""

    def write(self, batch_id: int, results: pa.Table) -> None:
        if results.num_rows:
            age_us = results.column("completed_us").to_numpy() - results.column("due_us").to_numpy()
            words = f"{results.num_rows} predictions, {age_us.mean() / 1e6:.2f} s after their quote"
            print(f"batch {batch_id}: {words}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quotes", help="recorded quotes (default: generated ones)")
    parser.add_argument("--peak", type=float, default=20_000.0, help="quotes/s, at most")
    parser.add_argument("--period", type=float, default=120.0, help="seconds of the wave")
    parser.add_argument("--symbols", type=int, default=100, help="of generated quotes")
    parser.add_argument("--folder", type=Path, help="of state and results (default: temporary)")
    parser.add_argument("--duration", type=float, help="end after so many seconds")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    spark = (
        SparkSession.builder.appName("trading")
        # Spark matches the error of a batch that is stopped half-way with a recursive expression,
        # for which the usual stack is too small.
        .config("spark.driver.extraJavaOptions", "-Xss16m")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(QuotesDataSource)
    replay = Replay(
        path=given.quotes,
        rate="wave",
        peak_per_s=given.peak,
        period_s=given.period,
        symbols=None if given.quotes else given.symbols,
        partitions=PARTITIONS,
    )
    quotes = spark.readStream.format("quotes").options(**replay.options()).load()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = given.folder or Path(temporary)
        options = PipelineOptions(
            checkpoint=folder / "checkpoint",
            output=folder / "predictions",
            state_partitions=PARTITIONS,
        )
        query = build_query(
            spark, foresight.observe(quotes, "ts"), options, Placement(PARTITIONS), [Printed()]
        )
        try:
            query.awaitTermination(given.duration)
        finally:
            query.stop()
            spark.stop()


if __name__ == "__main__":
    main()
