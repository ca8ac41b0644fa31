"""Small drivers and executors that are soon ready: tests start many of them on few cores."""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from runtime.spark.launching.local_cluster import LEAN_JAVA_OPTIONS
from runtime.spark.launching.options import SCALING_OPTIONS


def small_session(
    name: str,
    master_url: str,
    host: str,
    most_executors: int,
    folder: Path,
    options: Mapping[str, str],
) -> SparkSession:
    """A driver at `host` that begins with the most executors it may have, one core each."""
    builder = SparkSession.builder.master(master_url).appName(name)
    for key, value in {
        **SCALING_OPTIONS,
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": LEAN_JAVA_OPTIONS,
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": LEAN_JAVA_OPTIONS,
        "spark.driver.host": host,
        "spark.driver.bindAddress": host,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.cores.max": str(most_executors),
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **options,
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
