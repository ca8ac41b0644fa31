"""Three hosts with networks of their own, one of them cut off during the run.

Each is a Worker and an agent behind mutual TLS in its own network namespace; Master and driver are
in another. Everything else has to notice by itself that a host is gone, and that it is back.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpc.events import EventKind
from mpc.values import Applied, Configuration
from runtime.agent.service.certs import issue, make_authority
from runtime.agent.wire.messages import Status
from runtime.control.journal import StepRecord
from runtime.spark.launching.local_cluster import LocalCluster, WorkerHost
from runtime.spark.launching.local_cluster import why_unavailable as why_no_cluster
from tests.end_to_end.spark.controlled import kinds, wait_until
from tests.end_to_end.spark.driver import Driver
from tests.end_to_end.spark.namespaces import HUB, Network, why_unavailable
from tests.runtime.agent.process import AgentProcess

pytestmark = pytest.mark.spark

HOSTS = 3
FULL_KHZ, LOW_KHZ = 2_000_000, 1_500_000
PORT = 9797
STEPS_OF_A_LEASE = 3
"""The controller makes at least so many in the time in which a lease ends."""

# A host counts as lost after seconds instead of minutes.
DAEMON_PROPERTIES = {"spark.worker.timeout": "8", "spark.network.timeout": "10s"}
DRIVER_OPTIONS = (
    "spark.network.timeout=10s",
    "spark.network.timeoutInterval=2s",
    "spark.executor.heartbeatInterval=2s",
    "spark.executor.heartbeat.maxFailures=3",
    "spark.shuffle.io.retryWait=1s",
)


@dataclass(frozen=True)
class Site:
    network: Network
    agents: dict[str, AgentProcess]
    driver: Driver

    def status(self, address: str) -> Status:
        # Its UNIX socket is a file, which no cable leads to.
        with self.agents[address].local_client() as client:
            return client.status()

    def limits_khz(self, address: str) -> set[int | None]:
        return {policy.effective_khz for policy in self.status(address).policies}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    missing = why_no_cluster() or why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    authority = tmp_path / "pki"
    make_authority(authority, "test-authority")
    controller = issue(authority, "controller", [], "controller", 30)
    with ExitStack() as stack:
        network = stack.enter_context(Network(HOSTS))
        agents = {
            address: stack.enter_context(agent(network, address, authority, tmp_path))
            for address in network.hosts
        }
        cluster = stack.enter_context(
            LocalCluster(
                [WorkerHost(address, cores=1, memory_mb=512) for address in network.hosts],
                tmp_path / "cluster",
                properties=DAEMON_PROPERTIES,
                master_host=HUB,
                wrap=network.inside,
            )
        )
        driver = stack.enter_context(
            Driver(
                tmp_path / "driver",
                cluster.master_url,
                host=HUB,
                executors=HOSTS,
                khz=LOW_KHZ,
                agents={address: f"https://{address}:{PORT}" for address in network.hosts},
                settings=[
                    f"agents.{key} = {json.dumps(str(path))}"
                    for key, path in (
                        ("authority", authority / "ca.pem"),
                        ("certificate", controller.certificate),
                        ("key", controller.key),
                    )
                ],
                options=DRIVER_OPTIONS,
                wrap=lambda command: network.inside(HUB, command),
            )
        )
        yield Site(network, agents, driver)


def agent(network: Network, address: str, authority: Path, folder: Path) -> AgentProcess:
    issued = issue(authority, f"agent-{address}", [address], "agent", 30)
    options = {
        "listen.address": address,
        "listen.port": PORT,
        "tls.authority": str(authority / "ca.pem"),
        "tls.certificate": str(issued.certificate),
        "tls.key": str(issued.key),
        "executors.hostname": address,
        "emulation.enabled": True,
        "emulation.max_khz": FULL_KHZ,
        # Only the limits matter here, and three executors share two cores as it is.
        "emulation.throttle": "none",
    }
    tether = (sys.executable, "-m", "runtime.tether", str(os.getpid()))
    return AgentProcess(
        folder / address,
        folder / f"root-{address}",
        [f"{key}={json.dumps(value)}" for key, value in options.items()],
        wrap=lambda command: network.inside(address, [*tether, *command]),
    )


def happened(records: list[StepRecord], kind: EventKind, host: str) -> bool:
    return any(
        event.kind == kind and host in event.detail for record in records for event in record.events
    )


def test_a_host_that_is_cut_off_is_missed_and_taken_back(site: Site) -> None:
    driver, hosts, lost = site.driver, site.network.hosts, site.network.hosts[1]
    wanted = Configuration(HOSTS, LOW_KHZ)

    def settled() -> bool:
        records = driver.journal
        return (
            bool(records)
            and records[-1].applied == Applied(wanted, wanted)
            and all(site.limits_khz(address) == {LOW_KHZ} for address in hosts)
        )

    wait_until(settled, "three executors at the low frequency")
    before = len(driver.journal)
    site.network.cut(lost)
    wait_until(lambda: site.limits_khz(lost) == {FULL_KHZ}, "the host to restore itself")
    assert site.status(lost).holder is None

    def noticed() -> bool:
        since = driver.journal[before:]
        return happened(since, EventKind.AGENT_LOST, lost) and happened(
            since, EventKind.EXECUTOR_LOST, lost
        )

    wait_until(noticed, "the loss of executor and agent to be noticed")
    missed = len(driver.journal)
    assert missed - before >= STEPS_OF_A_LEASE

    def goes_on() -> bool:
        since = driver.journal[missed:]
        return sum(len(record.measurement.batches) for record in since) >= 2

    wait_until(goes_on, "batches without the host")
    alone = driver.journal[missed:]
    assert all(record.applied.observed.executors < HOSTS for record in alone)
    assert all(record.target == wanted for record in alone)
    assert site.limits_khz(lost) == {FULL_KHZ}

    site.network.mend(lost)

    def rejoined() -> bool:
        since = driver.journal[missed + len(alone) :]
        return (
            happened(since, EventKind.AGENT_RECOVERED, lost)
            and happened(since, EventKind.EXECUTOR_STARTED, lost)
            and settled()
        )

    wait_until(rejoined, "the host to rejoin")
    assert EventKind.STEP_FAILED not in kinds(driver.journal)
    rows = driver.finish()
    assert rows["rows"] == rows["different"] == rows["expected"] > 0
    wait_until(
        lambda: all(site.limits_khz(address) == {FULL_KHZ} for address in hosts),
        "the hosts to be given back",
    )
