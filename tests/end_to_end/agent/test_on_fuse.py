"""The unmodified agent on a FUSE host, the same suite for every driver personality.

The agent is the installed command in a process of its own; the host is a mounted file system with
the semantics of the kernel. Files are looked at from outside, as any other program would.
"""

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from energy.emulation.description import HostDescription
from energy.emulation.drivers import Driver
from energy.tree import CPUFREQ, FolderTree
from runtime.agent.wire.messages import PolicyStatus
from runtime.agent.wire.refusals import Refused
from tests.runtime.agent.process import AgentProcess
from tests.runtime.agent.running_agent import wait_for
from tests.support.fuse.handle import FuseHost, fuse_unavailable

pytestmark = pytest.mark.skipif(
    (reason := fuse_unavailable()) is not None, reason=f"no FUSE host here: {reason}"
)

PERSONALITIES = ("acpi-cpufreq", "intel_pstate", "intel_cpufreq", "amd-pstate-epp")
CPUS = 4
MIN_KHZ, MAX_KHZ = 1_200_000, 2_000_000
CAP_KHZ = 1_600_000
LONG_MS, SHORT_MS = 60_000, 200


@dataclass(frozen=True, slots=True)
class Site:
    host: FuseHost
    agent: AgentProcess
    tree: FolderTree
    original: dict[str, str]

    def max_khz(self, policy: int) -> int:
        return int(self.tree.read(f"{CPUFREQ}/policy{policy}/scaling_max_freq"))

    def all_max_khz(self) -> list[int]:
        return [self.max_khz(policy) for policy in range(CPUS)]

    def write_max_khz(self, policy: int, khz: int) -> None:
        """As another program of the host does."""
        self.tree.write(f"{CPUFREQ}/policy{policy}/scaling_max_freq", str(khz))

    def restored(self) -> bool:
        return self.host.snapshot() == self.original

    def policy_status(self, policy: int) -> PolicyStatus:
        with self.agent.local_client() as client:
            return client.status().policies[policy]


@pytest.fixture(params=PERSONALITIES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    driver: Driver = request.param
    description = HostDescription(driver=driver, cpus=CPUS, min_khz=MIN_KHZ, max_khz=MAX_KHZ)
    with FuseHost(description) as host:
        original = host.snapshot()
        settings = ("frequency.min_dwell_ms=0", "energy.meter=auto")
        with AgentProcess(tmp_path, host.inside_root, settings, wrap=host.command) as agent:
            yield Site(host, agent, FolderTree(host.root), original)


def test_the_personalities_are_those_the_agent_can_emulate() -> None:
    assert set(PERSONALITIES) <= set(get_args(Driver))


def test_it_tells_what_the_host_can_do(site: Site, request: pytest.FixtureRequest) -> None:
    with site.agent.local_client() as client:
        hello = client.hello()
    assert not hello.emulated  # to the agent this is a host like any other
    assert [policy.name for policy in hello.policies] == [f"policy{n}" for n in range(CPUS)]
    assert {policy.driver for policy in hello.policies} == {
        site.tree.read(f"{CPUFREQ}/policy0/scaling_driver").strip()
    }
    assert {policy.hardware_max_khz for policy in hello.policies} == {
        int(site.tree.read(f"{CPUFREQ}/policy0/cpuinfo_max_freq"))
    }
    assert (hello.meter, hello.energy_source) == ("powercap", "measured")


def test_a_cap_is_read_back_and_a_release_restores_every_byte(site: Site) -> None:
    with site.agent.local_client() as client:
        client.lease(LONG_MS)
        outcomes = client.set_frequency(CAP_KHZ).outcomes
        assert [outcome.effective_khz for outcome in outcomes] == [CAP_KHZ] * CPUS
        assert site.all_max_khz() == [CAP_KHZ] * CPUS
        assert site.host.running_khz(0) <= CAP_KHZ
        released = client.release()
    assert len(released.restored) == CPUS
    assert site.restored()


def test_what_the_kernel_makes_of_a_value_is_told(site: Site) -> None:
    odd_khz = CAP_KHZ + 12_345
    with site.agent.local_client() as client:
        client.lease(LONG_MS)
        (outcome,) = client.set_frequency(odd_khz, policies=["policy1"]).outcomes
        assert outcome.requested_khz == odd_khz
        assert outcome.effective_khz == site.max_khz(1) <= odd_khz
        assert outcome.clamped == (outcome.effective_khz != odd_khz)
        with pytest.raises(Refused) as refused:
            client.set_frequency(9_000_000)
        assert refused.value.code == "frequency_denied"
        with pytest.raises(Refused) as refused:
            client.set_frequency(CAP_KHZ, policies=["policy0", "policy99"])
        assert refused.value.code == "policy_unknown"
    assert site.max_khz(0) == int(site.original[f"{CPUFREQ}/policy0/scaling_max_freq"])


def test_the_lease_of_a_silent_controller_ends_and_the_host_is_restored(site: Site) -> None:
    with site.agent.local_client() as client:
        client.lease(SHORT_MS)
        client.set_frequency(CAP_KHZ)
    wait_for(site.restored, "the host is restored")
    with site.agent.local_client() as client:
        wait_for(lambda: client.status().holder is None, "the lease is over")


def test_sigterm_restores(site: Site) -> None:
    with site.agent.local_client() as client:
        client.lease(LONG_MS)
        client.set_frequency(CAP_KHZ)
    assert site.agent.terminate() == 0
    assert site.restored()


def test_after_sigkill_the_next_start_restores(site: Site) -> None:
    with site.agent.local_client() as client:
        granted = client.lease(LONG_MS)
        client.set_frequency(CAP_KHZ)
    site.agent.kill()
    assert site.all_max_khz() == [CAP_KHZ] * CPUS
    site.agent.start()
    assert site.restored()
    with site.agent.local_client() as client:
        assert client.lease(LONG_MS).epoch > granted.epoch


def test_after_sigkill_the_restore_command_restores(site: Site) -> None:
    with site.agent.local_client() as client:
        client.lease(LONG_MS)
        client.set_frequency(CAP_KHZ)
    site.agent.kill()
    assert "policy0" in site.agent.restore()
    assert site.restored()
    site.agent.restore()  # nothing is left to do, and that is no failure
    assert site.restored()


def test_what_somebody_else_wrote_is_reported_and_left_alone(site: Site) -> None:
    foreign_khz = 1_400_000
    with site.agent.local_client() as client:
        client.lease(LONG_MS)
        client.set_frequency(CAP_KHZ)
        site.write_max_khz(2, foreign_khz)
        wait_for(lambda: site.policy_status(2).drifted, "the drift is noticed")
        changed = client.set_frequency(1_500_000)
        assert changed.left_alone == ("policy2",)
        with pytest.raises(Refused) as refused:
            client.set_frequency(1_500_000, policies=["policy2"])
        assert refused.value.code == "drifted"
        released = client.release()
    assert released.left_alone == ("policy2",)
    assert site.max_khz(2) == foreign_khz
    site.write_max_khz(2, int(site.original[f"{CPUFREQ}/policy2/scaling_max_freq"]))
    assert site.restored()
    assert [line["policy"] for line in site.agent.audited("drift")] == ["policy2"]


def test_throttling_is_no_drift_and_is_not_frozen(site: Site) -> None:
    with site.agent.local_client() as client:
        client.lease(LONG_MS)
        site.host.thermal_cap("policy1", 1_300_000)
        client.set_frequency(CAP_KHZ)
        assert site.max_khz(1) <= 1_300_000
        ticks = client.status().uptime_ms + 2500
        wait_for(lambda: client.status().uptime_ms > ticks, "some ticks")
        assert not site.policy_status(1).drifted
        client.release()
    site.host.thermal_cap("policy1", None)
    assert site.restored()


def test_a_policy_that_went_offline_is_restored_when_it_is_back(site: Site) -> None:
    with site.agent.local_client() as client:
        client.lease(LONG_MS)
        client.set_frequency(CAP_KHZ)
        site.host.unplug(3)
        released = client.release()
        assert "policy3" not in released.restored
        assert site.max_khz(0) == int(site.original[f"{CPUFREQ}/policy0/scaling_max_freq"])
        site.host.plug(3)
    wait_for(site.restored, "the last policy is restored")


def test_a_host_that_takes_no_write_is_told_and_left_as_it_was(site: Site) -> None:
    with site.agent.local_client() as client:
        client.lease(LONG_MS)
        # All or none: three policies take the write and are put back when the fourth does not.
        site.host.inject(f"{CPUFREQ}/policy3/scaling_max_freq", errno.EIO, "write")
        with pytest.raises(Refused) as refused:
            client.set_frequency(CAP_KHZ)
        assert refused.value.code == "host_fault"
        site.host.inject(f"{CPUFREQ}/policy3/scaling_max_freq", None)
        assert site.restored()
        site.host.set_read_only(True)
        with pytest.raises(Refused) as refused:
            client.set_frequency(CAP_KHZ)
        assert refused.value.code == "host_fault"
        assert "read-only" in str(refused.value)
        site.host.set_read_only(False)
        client.release()
    assert site.restored()


def test_energy_is_counted_across_the_wrap(site: Site) -> None:
    gained_uj = 5_000_000
    with site.agent.local_client() as client:
        first = client.energy()
        assert first.total_uj is not None
        for _ in range(3):
            site.host.add_energy_uj("package-0", gained_uj)
        wanted_uj = first.total_uj + 3 * gained_uj
        wait_for(lambda: client.energy().total_uj == wanted_uj, "the meter has seen it")
