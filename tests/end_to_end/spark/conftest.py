"""A small standalone cluster for the tests on Spark, and one driver for most of them.

A JVM has one SparkContext, so the tests of a process share `spark`. A test that needs another
driver runs it as a process of its own on `spark_cluster.master_url`, with one executor.
"""

import os
import sys
import warnings
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from benchmarks.hft.pipeline.stages import WORKER_MODULES
from runtime.spark.driver import Driver
from runtime.spark.launching.local_cluster import LocalCluster, WorkerHost, why_unavailable
from runtime.spark.launching.options import add_worker_folder, warm_worker_options
from runtime.spark.scaling.scheduler import Scheduler
from tests.end_to_end.spark.session import small_session

MOST_EXECUTORS = 3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two processes can share the work: one has the shared driver, and the others' drivers are
    processes anyway."""
    for item in items:
        if item.get_closest_marker("spark") and "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("shared driver"))


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Two hosts with two cores each; more than the machine may have, which is fine here."""
    missing = why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    hosts = [WorkerHost(f"127.0.0.{last}", cores=2, memory_mb=1536) for last in (2, 3)]
    with LocalCluster(hosts, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark(
    spark_cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """A driver with one executor that may have up to MOST_EXECUTORS; the rest of the cluster is
    left to other drivers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        # Spark's own are a second or more late in the first batch of every executor.
        patch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        add_worker_folder(os.environ)
        session = small_session(
            "foresight-tests",
            spark_cluster.master_url,
            "127.0.0.1",
            MOST_EXECUTORS,
            tmp_path_factory.mktemp("driver"),
            warm_worker_options(modules=WORKER_MODULES),
        )
        Scheduler(Driver.of(session)).start_with(1)
        try:
            yield session
        finally:
            with warnings.catch_warnings():
                # The gateway's sockets are left to the garbage collector.
                warnings.simplefilter("ignore", ResourceWarning)
                session.stop()
