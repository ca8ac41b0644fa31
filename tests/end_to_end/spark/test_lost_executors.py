"""Executors that die under a live application: the frequency bridges the time until others come."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from runtime.control.journal import StepRecord
from runtime.fleet.local import LocalHosts
from runtime.spark.attach import attach
from runtime.spark.driver import Driver
from runtime.spark.launching.local_cluster import LocalCluster
from tests.end_to_end.spark.controlled import config, journaled, one_executor, runs, until

pytestmark = pytest.mark.spark

ROWS_PER_S = 100
ROW_S = 0.012
"""So that three executors have it easy at the lowest frequency, and one cannot keep up with it."""


def costly(row_s: float) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Made here, since executors cannot import tests."""

    def work(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for part in parts:
            time.sleep(row_s * len(part))
            yield part

    return work


@pytest.fixture
def query(spark: SparkSession) -> Iterator[None]:
    one_executor(spark)
    rows = spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_S).load()
    work = rows.repartition(3).mapInPandas(costly(ROW_S), rows.schema)
    running = work.writeStream.format("noop").queryName("lossy").start()
    try:
        yield
    finally:
        running.stop()
        one_executor(spark)


@contextmanager
def two_lost(spark: SparkSession, cluster: LocalCluster) -> Iterator[None]:
    """Two executors are killed, and no others come until the end: the Workers stand still."""
    application = Driver.of(spark).context.applicationId()
    workers = list(cluster.worker_pids.values())
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        ours = [pid for (owner, _), pid in cluster.executor_pids().items() if owner == application]
        for pid in ours[:2]:
            os.kill(pid, signal.SIGKILL)
        yield
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)


def test_the_frequency_rises_while_executors_are_missing(
    spark: SparkSession, spark_cluster: LocalCluster, query: None, tmp_path: Path
) -> None:
    with LocalHosts(("127.0.0.2", "127.0.0.3")) as hosts:
        urls = [f'"{name}=unix:{make().where}"' for name, make in hosts.agents.items()]
        settings = config(
            tmp_path, "executors.min=3", "slo.latency_ms=5000", f"agents.urls=[{', '.join(urls)}]"
        )
        with attach(spark, settings) as controller:
            calm = until(controller, lambda step: runs(3)(step) and is_slow(step))
            with two_lost(spark, spark_cluster):
                bridged = until(
                    controller,
                    lambda step: (
                        step.measurement.step > calm.measurement.step
                        and step.measurement.observed.executors < 3
                        and step.applied.requested.frequency_khz > calm.target.frequency_khz
                    ),
                )
            assert bridged.applied.requested.executors == 3
            until(controller, runs(3))
    between = [
        record
        for record in journaled(tmp_path)
        if calm.measurement.step < record.measurement.step < bridged.measurement.step
    ]
    assert all(record.target.executors == 3 for record in between), "they are still asked for"


def is_slow(step: StepRecord) -> bool:
    """A plan that is sure of three executors at a low frequency."""
    planned = step.decision.plan is not None and step.measurement.arrivals_per_s is not None
    return planned and step.applied.requested.frequency_khz <= 1_300_000
