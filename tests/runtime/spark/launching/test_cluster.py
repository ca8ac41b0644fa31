"""The processes of a local cluster, with a java that is not one."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from runtime.spark.launching.local_cluster import (
    ClusterUnavailable,
    LocalCluster,
    WorkerHost,
    why_unavailable,
)
from tests.runtime.agent.running_agent import wait_for
from tests.runtime.spark import fake_java

HOSTS = (WorkerHost("127.0.0.2", cores=2, memory_mb=600), WorkerHost("127.0.0.3"))

OWNER = """
import sys
from collections.abc import Sequence
from pathlib import Path
from runtime.spark.launching.local_cluster import LocalCluster, WorkerHost
with LocalCluster([WorkerHost("127.0.0.2")], Path(sys.argv[1])) as cluster:
    print(*cluster.pids, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java.install(tmp_path / "java")))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)


def is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_one_master_and_a_worker_on_every_host(tmp_path: Path) -> None:
    with LocalCluster(HOSTS, tmp_path / "cluster") as cluster:
        assert cluster.master_url == "spark://127.0.0.1:4711"
        assert set(cluster.worker_pids) == {"127.0.0.2", "127.0.0.3"}
        assert (cluster.cores, cluster.executor_pids()) == (4, {})
        pids = cluster.pids
        assert len(set(pids)) == 3
        assert all(is_alive(pid) for pid in pids)
        log = (tmp_path / "cluster" / "worker-127.0.0.2.log").read_text()
        for argument in ("'--host', '127.0.0.2'", "'--cores', '2'", "'600M'", cluster.master_url):
            assert argument in log
        assert psutil.Process(pids[0]).environ()["SPARK_LOCAL_IP"] == "127.0.0.2"
    assert not any(is_alive(pid) for pid in pids)
    cluster.stop()


def test_daemons_run_where_their_command_is_sent(tmp_path: Path) -> None:
    def wrap(address: str, command: Sequence[str]) -> list[str]:
        return ["env", f"RUNS_AT={address}", *command]

    folder = tmp_path / "cluster"
    with LocalCluster(HOSTS[:1], folder, master_host="127.0.0.9", wrap=wrap) as cluster:
        environments = [psutil.Process(pid).environ() for pid in cluster.pids]
    for name in ("RUNS_AT", "SPARK_LOCAL_IP"):
        assert [each[name] for each in environments] == ["127.0.0.2", "127.0.0.9"]


def test_a_daemon_that_ends_is_told_and_the_others_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fake_java.FAILS, "worker.Worker")
    cluster = LocalCluster(HOSTS, tmp_path / "cluster")
    with pytest.raises(ClusterUnavailable, match=r"worker-.* ended with status 1: .*cannot start"):
        cluster.start()
    assert cluster.pids == ()


def test_patience_ends(tmp_path: Path) -> None:
    cluster = LocalCluster(HOSTS, tmp_path / "cluster", start_timeout_s=0.0)
    with pytest.raises(ClusterUnavailable, match=r"master was not ready after 0 s, see .*log"):
        cluster.start()
    assert cluster.pids == ()


def test_no_java_is_said_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    assert "install a JRE" in str(why_unavailable())
    with pytest.raises(ClusterUnavailable, match="install a JRE"):
        LocalCluster(HOSTS, tmp_path / "cluster").start()


def test_sigkill_of_the_owner_ends_the_daemons(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "cluster")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        owner.kill()
        assert len(pids) == 2
        wait_for(lambda: not any(is_alive(pid) for pid in pids), "the daemons end")
