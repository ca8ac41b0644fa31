"""A controller that is killed gives nothing back: its hosts restore themselves by their lease."""

from pathlib import Path

import pytest

from runtime.fleet.local import LocalHosts
from runtime.spark.launching.local_cluster import LocalCluster
from tests.end_to_end.spark.controlled import limits_khz, status, wait_until
from tests.end_to_end.spark.driver import Driver

pytestmark = pytest.mark.spark

NAMES = ("127.0.0.2", "127.0.0.3")


def test_hosts_restore_themselves_after_sigkill(
    spark_cluster: LocalCluster, tmp_path: Path
) -> None:
    with LocalHosts(NAMES) as hosts:
        original = limits_khz(hosts)
        urls = {name: f"unix:{path}" for name, path in hosts.sockets.items()}
        with Driver(
            tmp_path / "driver", spark_cluster.master_url, executors=1, khz=1_500_000, agents=urls
        ) as driver:

            def lowered() -> bool:
                assert driver.running, driver.log
                found = limits_khz(hosts).values()
                # One host runs the executor, the other has none and is at its floor.
                return {1_500_000} in found and {1_200_000} in found

            wait_until(lowered, "lower frequencies")
            assert all(status(hosts, name).holder is not None for name in NAMES)
            driver.kill()
            wait_until(lambda: limits_khz(hosts) == original, "the original limits")
        for name in NAMES:
            assert status(hosts, name).holder is None
