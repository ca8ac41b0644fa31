"""Restoring and other writers: what comes back, what is left alone, what has to wait."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from energy.emulation.description import HostDescription
from runtime.agent.core.restore import restore_host
from runtime.agent.core.state import JournalCorrupt
from runtime.agent.wire.refusals import Refused
from tests.runtime.agent.bench import ROOT, Bench, attribute
from tests.support.faulty_host import FaultyHost


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.start()
    yield bench
    bench.close()


def drifted(bench: Bench) -> list[str]:
    return [policy.name for policy in bench.agent.status().policies if policy.drifted]


def test_another_writer_is_reported_once_and_never_fought(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    bench.host.write(attribute("policy1"), "2100000")
    for _ in range(3):
        bench.agent.tick()
    assert drifted(bench) == ["policy1"]
    assert bench.agent.drifts == 1
    (event,) = bench.events("drift")
    assert (event["policy"], event["requested_khz"], event["seen_khz"]) == (
        "policy1",
        1_500_000,
        2_100_000,
    )
    answer = bench.cap(1_700_000)
    assert answer.left_alone == ("policy1",)
    assert [one.policy for one in answer.outcomes] == ["policy0", "policy2", "policy3"]
    with pytest.raises(Refused) as refused:
        bench.cap(1_700_000, "policy1")
    assert refused.value.code == "drifted"
    released = bench.release()
    assert released.left_alone == ("policy1",)
    assert bench.host.snapshot() == {**before, attribute("policy1"): "2100000\n"}
    assert bench.events("left_alone")[0]["attributes"] == "scaling_max_freq"


def test_drift_is_noticed_by_the_next_command_before_it_writes(bench: Bench) -> None:
    bench.take()
    bench.cap(1_500_000)
    bench.host.write(attribute("policy3"), "2100000")
    assert bench.cap(1_600_000).left_alone == ("policy3",)
    assert bench.host.read(attribute("policy3")) == "2100000\n"


def test_drift_stays_until_the_lease_ends_and_the_next_starts_afresh(bench: Bench) -> None:
    bench.take()
    bench.cap(1_500_000)
    bench.host.write(attribute("policy1"), "2100000")
    bench.agent.tick()
    bench.host.write(attribute("policy1"), "1500000")
    bench.agent.tick()
    assert drifted(bench) == ["policy1"]
    bench.host.write(attribute("policy1"), "2000000")
    bench.release()
    bench.take()
    assert len(bench.cap(1_600_000).outcomes) == 4
    assert bench.agent.status().policies[1].original_max_khz == 2_000_000
    bench.release()
    assert bench.host.read(attribute("policy1")) == "2000000\n"


def test_throttling_is_no_drift(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(2_000_000)
    bench.host.thermal_cap("policy0", 1_400_000)
    bench.agent.tick()
    assert drifted(bench) == []
    assert bench.agent.status().policies[0].effective_khz == 1_400_000
    bench.host.thermal_cap("policy0", None)
    bench.agent.tick()
    assert drifted(bench) == []
    bench.release()
    assert bench.host.snapshot() == before


def test_capping_while_throttled_does_not_freeze_the_throttle(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.host.thermal_cap("policy0", 1_400_000)
    bench.take()
    bench.cap(1_300_000)
    bench.release()
    bench.host.thermal_cap("policy0", None)
    assert bench.host.snapshot() == before


def test_an_offline_policy_is_restored_when_it_comes_back(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    bench.host.unplug(2)
    bench.agent.tick()
    assert drifted(bench) == []
    assert bench.release().restored == ("policy0", "policy1", "policy3")
    assert "policy2" in str(bench.agent.status().last_problem)
    for _ in range(3):
        bench.agent.tick()
    assert len(bench.events("restore_failed")) == 1
    bench.host.plug(2)
    bench.agent.tick()
    assert bench.host.snapshot() == before
    assert bench.agent.status().last_problem is None


def test_what_waits_survives_a_restart_and_keeps_its_original(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    bench.host.unplug(2)
    bench.agent.stop()
    bench.start()
    bench.host.plug(2)
    bench.take()
    bench.cap(1_600_000)
    assert bench.agent.status().policies[2].original_max_khz == 2_400_000
    bench.release()
    assert bench.host.snapshot() == before


def test_what_waits_and_was_changed_by_somebody_else_is_theirs(bench: Bench) -> None:
    bench.take()
    bench.cap(1_500_000)
    bench.host.unplug(2)
    bench.release()
    bench.host.plug(2)
    bench.host.write(attribute("policy2"), "2200000")
    bench.take()
    bench.cap(1_600_000)
    assert bench.agent.status().policies[2].original_max_khz == 2_200_000
    bench.release()
    assert bench.host.read(attribute("policy2")) == "2200000\n"


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EROFS])
def test_a_host_that_refuses_writes_is_tried_again_until_it_takes_them(
    bench: Bench, number: int
) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    for policy in bench.host.policies:
        bench.host.inject(attribute(policy), number, on="write")
    assert bench.release().restored == ()
    bench.agent.tick()
    assert bench.agent.status().last_problem is not None
    for policy in bench.host.policies:
        bench.host.inject(attribute(policy), None)
    bench.agent.tick()
    assert bench.host.snapshot() == before
    assert bench.agent.status().last_problem is None
    assert bench.journal.load().entries == {}


def test_the_journal_is_emptied_later_when_the_disk_was_full(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    obstacle = bench.journal.path.with_name("journal.json.new")
    obstacle.mkdir()
    assert len(bench.release().restored) == 4
    assert bench.host.snapshot() == before
    assert len(bench.journal.load().entries) == 4
    obstacle.rmdir()
    bench.agent.tick()
    assert bench.journal.load().entries == {}


def test_the_next_start_restores_what_a_killed_agent_left(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    bench.start()
    assert bench.host.snapshot() == before
    assert bench.events("recovered")[0]["entries"] == 4
    assert bench.journal.load().entries == {}


def test_a_journal_of_another_boot_is_void(bench: Bench) -> None:
    bench.take()
    bench.cap(1_500_000)
    bench.host = FaultyHost(HostDescription(cpus=4))
    bench.host.write(attribute("policy0"), "1500000")  # somebody's choice after the reboot
    before = bench.host.snapshot()
    bench.boot_id = "second boot"
    bench.start()
    assert bench.host.snapshot() == before
    assert bench.events("recovered")[0]["void"] == 4


def test_the_stop_command_restores_from_the_journal_alone(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    bench.host.write(attribute("policy0"), "2000000")
    outcome = restore_host(bench.journal, bench.host, bench.audit)
    assert outcome.restored == ("policy1", "policy2", "policy3")
    assert outcome.left_alone == ("policy0",)
    assert bench.host.snapshot() == {**before, attribute("policy0"): "2000000\n"}
    assert restore_host(bench.journal, bench.host, bench.audit).restored == ()
    assert bench.journal.load().epoch == bench.epoch


def test_over_a_corrupt_journal_nothing_is_controlled_but_all_is_served(bench: Bench) -> None:
    bench.take()
    bench.cap(1_500_000)
    bench.journal.path.write_bytes(b"garbage")
    capped = bench.host.snapshot()
    agent = bench.start()
    for command in (
        bench.take,
        lambda: bench.cap(1_600_000),
        lambda: agent.release_as_administrator(ROOT),
    ):
        with pytest.raises(Refused, match="corrupt") as refused:
            command()
        assert refused.value.code == "unavailable"
    agent.tick()
    assert "corrupt" in str(agent.status().last_problem)
    assert len(agent.hello().policies) == 4
    agent.stop()
    assert bench.host.snapshot() == capped
    assert bench.journal.path.read_bytes() == b"garbage"
    with pytest.raises(JournalCorrupt):
        restore_host(bench.journal, bench.host, bench.audit)


def test_a_policy_that_is_gone_waits(bench: Bench) -> None:
    bench.take()
    bench.cap(1_500_000)
    bench.host = FaultyHost(HostDescription(cpus=2))
    bench.start()
    assert "policy2: no such frequency policy" in str(bench.agent.status().last_problem)
    assert set(bench.journal.load().entries) == {"policy2", "policy3"}


class OneWayHost(FaultyHost):
    """While `broken`, the second policy takes one more write and then none."""

    broken = False

    def write(self, path: str, text: str) -> None:
        super().write(path, text)
        if self.broken and path == attribute("policy1"):
            self.inject(path, errno.EIO, on="write")


def test_a_change_that_could_not_be_undone_is_restored_later(tmp_path: Path) -> None:
    host = OneWayHost(HostDescription(cpus=3))
    bench = Bench(tmp_path, host)
    bench.start()
    before = host.snapshot()
    bench.take()
    bench.cap(2_000_000, "policy0", "policy1")
    host.broken = True
    host.inject(attribute("policy2"), errno.EIO, on="write")
    with pytest.raises(Refused) as refused:
        bench.cap(1_500_000)
    assert refused.value.code == "host_fault"
    assert host.read(attribute("policy0")) == "2000000\n"
    assert host.read(attribute("policy1")) == "1500000\n"
    host.broken = False
    for policy in host.policies:
        host.inject(attribute(policy), None)
    bench.agent.tick()
    assert host.snapshot() == {**before, attribute("policy0"): "2000000\n"}
    bench.release()
    assert host.snapshot() == before
    bench.close()


class MistakenHost(FaultyHost):
    """While `faulty`, one file makes whoever reads it fail in a way nobody has thought of."""

    faulty = False

    def write(self, path: str, text: str) -> None:
        super().write(path, text)
        if self.faulty and path == attribute("policy1"):
            raise RuntimeError("a mistake in the code")


def test_a_mistake_of_ours_in_the_middle_of_a_change_is_restored_later(tmp_path: Path) -> None:
    host = MistakenHost(HostDescription(cpus=3))
    bench = Bench(tmp_path, host)
    bench.start()
    before = host.snapshot()
    bench.take()
    host.faulty = True
    with pytest.raises(RuntimeError):
        bench.cap(1_500_000)
    bench.agent.tick()
    assert host.read(attribute("policy0")) == "2400000\n"
    assert "a mistake" in str(bench.agent.status().last_problem)
    host.faulty = False
    bench.agent.tick()
    assert host.snapshot() == before
    assert bench.agent.status().last_problem is None
    bench.close()
