"""The local cluster runs jobs on its hosts, and its processes go with their owner."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from runtime.spark.launching.local_cluster import LocalCluster, why_unavailable
from tests.runtime.agent.running_agent import wait_for

pytestmark = pytest.mark.spark

OWNER = """
import json, sys
from pathlib import Path
from runtime.spark.launching.local_cluster import LocalCluster, WorkerHost
with LocalCluster([WorkerHost("127.0.0.4", 1, 512)], Path(sys.argv[1])) as cluster:
    print(json.dumps(cluster.pids), flush=True)
    sys.stdin.read()
"""


def test_it_runs_a_job_on_a_worker_of_its_own(
    spark: SparkSession, spark_cluster: LocalCluster
) -> None:
    assert set(spark_cluster.worker_pids) == {"127.0.0.2", "127.0.0.3"}
    assert spark.range(1000).repartition(3).count() == 1000


def test_sigkill_of_the_owner_leaves_no_daemon_behind(tmp_path: Path) -> None:
    missing = why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with owner:
        assert owner.stdout is not None
        daemons = [psutil.Process(pid) for pid in json.loads(owner.stdout.readline())]
        try:
            assert len(daemons) == 2
            assert all("java" in daemon.name() for daemon in daemons)
            owner.kill()
            owner.wait()
            wait_for(lambda: not any(each.is_running() for each in daemons), "the daemons end")
        finally:
            for daemon in daemons:
                if daemon.is_running():
                    daemon.kill()
