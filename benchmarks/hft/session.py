"""Spark sessions of the trading pipeline, on whatever cluster they are given."""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.hft.pipeline.query import SESSION_OPTIONS
from benchmarks.hft.pipeline.stages import WORKER_MODULES
from benchmarks.hft.stream.source import QuotesDataSource
from runtime.spark.launching.options import SCALING_OPTIONS, warm_worker_options

PIPELINE_OPTIONS = {
    **SCALING_OPTIONS,
    **SESSION_OPTIONS,
    **warm_worker_options(modules=WORKER_MODULES),
    "spark.executor.cores": "1",
    "spark.driver.memory": "1g",
}
"""Executors of one core that scale quickly and start with the pipeline's modules imported."""


def open_session(
    master_url: str, name: str, folder: Path, options: Mapping[str, str]
) -> SparkSession:
    """A session that knows the source of quotes; its warehouse goes to `folder`."""
    builder = SparkSession.builder.master(master_url).appName(name)
    warehouse = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    for key, value in {"spark.ui.enabled": "false", **warehouse, **options}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(QuotesDataSource)
    return spark


def at_driver(address: str) -> dict[str, str]:
    """The address at which executors reach the driver."""
    return {"spark.driver.host": address, "spark.driver.bindAddress": address}
