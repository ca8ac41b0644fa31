"""`foresight submit` on a real application: unmodified, controlled, with its own exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.control.journal import read
from runtime.spark.launching.local_cluster import LEAN_JAVA_OPTIONS, LocalCluster

pytestmark = pytest.mark.spark

PATIENCE_S = 200.0

APPLICATION = """
import sys, time
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.appName("submitted")
    .config("spark.locality.wait", "1s")
    .getOrCreate()
)
conf = spark.sparkContext.getConf()
print("locality", conf.get("spark.locality.wait"))
print("removal", conf.get("spark.standalone.executorRemoveDelayOnDisconnection"))
print("cores", conf.get("spark.cores.max"))
rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
query = rows.writeStream.format("noop").start()
deadline = time.monotonic() + 150
while time.monotonic() < deadline:
    progress = query.lastProgress
    if progress is not None and progress.batchId >= 3:
        break
    time.sleep(0.2)
else:
    sys.exit("no batches")
query.stop()
spark.stop()
sys.exit(int(sys.argv[1]))
"""

COMMAND = """
import sys, typer
from runtime.cli import submit

app = typer.Typer()
app.callback()(lambda: None)
submit.add_to(app)
sys.exit(app(sys.argv[1:], standalone_mode=False))
"""


def test_an_unmodified_application_runs_under_control(
    spark_cluster: LocalCluster, tmp_path: Path
) -> None:
    path = tmp_path / "app.py"
    path.write_text(APPLICATION)
    settings = tmp_path / "foresight.toml"
    settings.write_text(
        f'policy = "static-1"\nspark.class_archive = false\n'
        f'journal.folder = "{tmp_path / "journal"}"\nexecutors.max = 1\n'
    )
    options = (
        *("spark.executor.memory=512m", "spark.driver.memory=512m", "spark.ui.enabled=false"),
        *(f"spark.{role}.extraJavaOptions={LEAN_JAVA_OPTIONS}" for role in ("driver", "executor")),
    )
    done = subprocess.run(
        [
            *(sys.executable, "-c", COMMAND, "submit", "--config", str(settings)),
            *("--master", spark_cluster.master_url),
            *(word for option in options for word in ("--conf", option)),
            *(str(path), "3"),
        ],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 3, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["locality 1s", "removal 0s", "cores 1"]
    records = list(read(tmp_path / "journal" / "submitted"))
    assert records
    assert all(record.target.executors == 1 for record in records)
    assert any(record.measurement.batches for record in records)
