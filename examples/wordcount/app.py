"""Counts words: the first streaming application of most people who know Spark.

Lines come from the text files of a folder. Without `--lines` the application writes them itself, in
a wave of load (`feed.py`). It is plain PySpark but for `foresight.observe`, which makes its latency
exact instead of estimated, and may be left out.
"""

import argparse
import tempfile
from pathlib import Path

from feed import Feed
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import foresight


def word_counts(lines: DataFrame) -> DataFrame:
    words = lines.select(sql.explode(sql.split(sql.lower("value"), r"\W+")).alias("word"))
    return words.where("word != ''").groupBy("word").count().orderBy(sql.desc("count"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", help="folder of text files that all hosts see (default: own)")
    parser.add_argument("--peak", type=int, default=100_000, help="lines/s it writes at most")
    parser.add_argument("--period", type=float, default=120.0, help="seconds of its wave")
    parser.add_argument("--duration", type=float, help="end after so many seconds")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    spark = (
        SparkSession.builder.appName("wordcount")
        # As many tasks as executors can ever use; each keeps a part of the counts.
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        if given.lines is None:
            Feed(Path(temporary), given.peak, given.period).start()
        lines = (
            spark.readStream.schema("value STRING")
            .text(given.lines or temporary)
            # When a line came: with its file.
            .select("value", "_metadata.file_modification_time")
        )
        query = (
            word_counts(foresight.observe(lines, "file_modification_time"))
            .writeStream.queryName("wordcount")
            .outputMode("complete")
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
