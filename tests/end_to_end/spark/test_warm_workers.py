"""Executors fork their Python workers from the daemon that is shipped to them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.spark.launching.local_cluster import LocalCluster
from runtime.spark.launching.options import add_worker_folder, warm_worker_options

pytestmark = pytest.mark.spark

PATIENCE_S = 200.0

APPLICATION = """
import sys
from pyspark.sql import SparkSession

def origin(batches):
    import os, sys
    import pyarrow as pa
    had = {"pandas", "pyarrow"} <= set(sys.modules)
    command = open(f"/proc/{os.getppid()}/cmdline").read().split("\\0")
    for batch in batches:
        rows = [{"command": " ".join(command[1:4]), "had": had}] * batch.num_rows
        yield pa.RecordBatch.from_pylist(rows, pa.schema([("command", "string"), ("had", "bool")]))

spark = SparkSession.builder.appName("warm").getOrCreate()
for session in (spark, spark.newSession()):
    rows = session.range(2, numPartitions=1)
    for row in rows.mapInArrow(origin, "command STRING, had BOOLEAN").collect():
        print(row.command, row.had)
spark.stop()
"""


def test_tasks_run_in_workers_of_the_shipped_daemon(
    spark_cluster: LocalCluster, tmp_path: Path
) -> None:
    path = tmp_path / "app.py"
    path.write_text(APPLICATION)
    options = {
        **warm_worker_options(),
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.cores": "1",
        "spark.cores.max": "1",
        "spark.ui.enabled": "false",
    }
    words = ["--master", spark_cluster.master_url]
    words += [word for item in options.items() for word in ("--conf", "=".join(item))]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{' '.join(words)} pyspark-shell",
    }
    add_worker_folder(environment)
    done = subprocess.run(
        [sys.executable, str(path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["-m foresight_warm_daemon pyspark.worker True"] * 4
