import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from energy.emulation.description import HostDescription
from runtime.agent.service.settings import FrequencyRules
from runtime.agent.wire.callers import Caller
from runtime.agent.wire.messages import FrequencyRequest, LeaseRequest, ReleaseRequest, RenewRequest
from runtime.agent.wire.refusals import Refused
from tests.runtime.agent.bench import ALICE, BOB, READER, ROOT, Bench, attribute
from tests.support.faulty_host import FaultyHost


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.start()
    yield bench
    bench.close()


def refusal(command: Callable[[], object]) -> str:
    with pytest.raises(Refused) as refused:
        command()
    return refused.value.code


def max_khz(bench: Bench, policy: str = "policy0") -> int:
    return int(bench.host.read(attribute(policy)))


def test_a_lease_lets_its_holder_cap_and_release_puts_everything_back(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    answer = bench.cap(1_650_000)
    assert [(one.policy, one.effective_khz, one.clamped) for one in answer.outcomes] == [
        (f"policy{number}", 1_600_000, True) for number in range(4)
    ]
    assert max_khz(bench) == 1_600_000
    released = bench.release()
    assert released.restored == ("policy0", "policy1", "policy2", "policy3")
    assert released.left_alone == ()
    assert bench.host.snapshot() == before
    assert bench.agent.status().holder is None


def test_what_is_asked_for_already_is_neither_journaled_nor_written_again(bench: Bench) -> None:
    bench.take()
    bench.cap(1_600_000)
    saves, writes = bench.journal.saves, len(bench.tree.writes)
    for _ in range(5):
        answer = bench.cap(1_600_000)
    assert [one.effective_khz for one in answer.outcomes] == [1_600_000] * 4
    assert (bench.journal.saves, len(bench.tree.writes)) == (saves, writes)


def test_a_change_costs_one_save_and_one_write_for_each_policy(bench: Bench) -> None:
    bench.take()
    saves = bench.journal.saves
    bench.cap(1_600_000)
    bench.cap(1_700_000, "policy0", "policy1")
    assert bench.journal.saves == saves + 2
    assert len(bench.tree.writes) == 4 + 2


class RoundingHost(FaultyHost):
    """A driver that rounds in a way nobody knows of."""

    def write(self, path: str, text: str) -> None:
        if path.endswith("scaling_max_freq"):
            text = str(int(text) // 50_000 * 50_000)
        super().write(path, text)


def test_a_read_back_that_our_write_does_not_explain_is_journaled_too(tmp_path: Path) -> None:
    host = RoundingHost(HostDescription(driver="amd-pstate-epp", cpus=2))
    bench = Bench(tmp_path, host)
    bench.start()
    before = host.snapshot()
    bench.take()
    saves = bench.journal.saves
    assert bench.cap(1_999_999).outcomes[0].effective_khz == 1_950_000
    assert bench.journal.saves == saves + 2
    bench.agent.tick()
    assert bench.events("drift") == []
    bench.start()
    assert host.snapshot() == before
    bench.close()


def test_policies_can_be_named_and_the_others_stay_as_they_are(bench: Bench) -> None:
    bench.take()
    bench.cap(1_500_000, "policy2", "policy2")
    assert [max_khz(bench, f"policy{number}") for number in range(4)] == [
        2_400_000,
        2_400_000,
        1_500_000,
        2_400_000,
    ]


@pytest.mark.parametrize(
    ("khz", "policies", "code"),
    [
        (1_100_000, (), "frequency_denied"),
        (2_500_000, ("policy1",), "frequency_denied"),
        (1_600_000, ("policy1", "policy9"), "policy_unknown"),
    ],
)
def test_a_command_that_cannot_be_followed_changes_nothing(
    bench: Bench, khz: int, policies: tuple[str, ...], code: str
) -> None:
    before = bench.host.snapshot()
    bench.take()
    saves = bench.journal.saves
    assert refusal(lambda: bench.cap(khz, *policies)) == code
    assert bench.host.snapshot() == before
    assert bench.journal.saves == saves


def test_the_lower_limit_moves_only_where_the_operator_allows_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.start()
    before = bench.host.snapshot()
    bench.take()
    assert refusal(lambda: bench.cap(1_800_000, min_khz=1_500_000)) == "unsupported"
    bench.rules = FrequencyRules(min_dwell_ms=0, may_move_minimum=True)
    bench.start()
    bench.take()
    bench.cap(1_800_000, min_khz=1_500_000)
    assert bench.host.read(attribute("policy1", "scaling_min_freq")) == "1500000\n"
    bench.cap(1_700_000)
    bench.release()
    assert bench.host.snapshot() == before
    bench.close()


def test_a_refusal_names_the_field_that_is_out_of_range(tmp_path: Path) -> None:
    bench = Bench(tmp_path, rules=FrequencyRules(may_move_minimum=True))
    bench.start()
    bench.take()
    for max_khz, min_khz, field in (
        (9_000_000, None, "max_khz"),
        (1_500_000, 1_100_000, "min_khz"),
    ):
        with pytest.raises(Refused) as refused:
            bench.cap(max_khz, min_khz=min_khz)
        assert refused.value.refusal.field == field
        assert refused.value.refusal.allowed is not None
    bench.close()


def test_the_floor_of_the_operator_holds(tmp_path: Path) -> None:
    bench = Bench(tmp_path, rules=FrequencyRules(min_dwell_ms=0, floor_khz=1_500_000))
    bench.start()
    bench.take()
    assert refusal(lambda: bench.cap(1_400_000)) == "frequency_denied"
    bench.cap(1_500_000)
    bench.close()


def test_changes_must_be_apart_but_repeating_one_is_free(tmp_path: Path) -> None:
    bench = Bench(tmp_path, rules=FrequencyRules(min_dwell_ms=500))
    bench.start()
    bench.take()
    bench.cap(1_500_000)
    bench.cap(1_500_000)
    bench.clock.advance(0.4)
    assert refusal(lambda: bench.cap(1_600_000)) == "too_soon"
    assert max_khz(bench) == 1_500_000
    bench.clock.advance(0.1)
    bench.cap(1_600_000)
    bench.close()


def test_a_refused_command_cannot_be_sent_again_with_effect(tmp_path: Path) -> None:
    bench = Bench(tmp_path, rules=FrequencyRules(min_dwell_ms=500))
    bench.start()
    bench.take()
    bench.cap(1_500_000)
    command = FrequencyRequest(bench.epoch, bench.next(), 1_600_000)
    assert refusal(lambda: bench.agent.set_frequency(ALICE, command)) == "too_soon"
    bench.clock.advance(0.5)
    assert refusal(lambda: bench.agent.set_frequency(ALICE, command)) == "replayed"
    assert max_khz(bench) == 1_500_000
    bench.close()


@pytest.mark.parametrize(
    ("caller", "epoch_shift", "sequence", "code"),
    [
        (ALICE, -1, 9, "stale_epoch"),
        (ALICE, 1, 9, "stale_epoch"),
        (ALICE, 0, 1, "replayed"),
        (BOB, 0, 9, "lease_held"),
        (READER, 0, 9, "not_allowed"),
    ],
)
def test_a_command_of_the_wrong_caller_epoch_or_sequence_changes_nothing(
    bench: Bench, caller: Caller, epoch_shift: int, sequence: int, code: str
) -> None:
    epoch = bench.take()
    bench.cap(1_500_000)
    before, status = bench.host.snapshot(), bench.agent.status()
    wrong = (epoch + epoch_shift, sequence)
    agent = bench.agent
    assert refusal(lambda: agent.set_frequency(caller, FrequencyRequest(*wrong, 2_000_000))) == code
    assert refusal(lambda: agent.renew(caller, RenewRequest(*wrong))) == code
    assert refusal(lambda: agent.release(caller, ReleaseRequest(*wrong))) == code
    assert bench.host.snapshot() == before
    assert agent.status().expires_in_ms == status.expires_in_ms
    assert agent.status().refused == status.refused + 3
    assert [line["code"] for line in bench.events("refused")] == [code] * 3


def test_without_a_lease_nothing_is_commanded(bench: Bench) -> None:
    bench.epoch = 1
    assert refusal(lambda: bench.cap(1_500_000)) == "no_lease"
    assert bench.tree.writes == []


def test_only_one_caller_holds_the_lease(bench: Bench) -> None:
    bench.take(ALICE)
    assert refusal(lambda: bench.agent.lease(BOB, LeaseRequest(1000))) == "lease_held"
    assert refusal(lambda: bench.agent.lease(BOB, LeaseRequest(1000, True))) == "lease_held"
    assert refusal(lambda: bench.agent.lease(READER, LeaseRequest(1000))) == "not_allowed"
    assert bench.agent.status().holder == "alice"


def test_a_restarted_controller_takes_over_and_nothing_moves(bench: Bench) -> None:
    before = bench.host.snapshot()
    first = bench.take()
    bench.cap(1_500_000)
    assert refusal(bench.take) == "lease_held"
    second = bench.take(take_over=True)
    assert second > first
    assert max_khz(bench) == 1_500_000
    assert refusal(lambda: bench.agent.renew(ALICE, RenewRequest(first, 99))) == "stale_epoch"
    bench.cap(1_600_000)
    bench.release()
    assert bench.host.snapshot() == before


def test_a_lease_that_is_not_renewed_expires_and_the_host_is_restored(bench: Bench) -> None:
    before = bench.host.snapshot()
    epoch = bench.take()
    bench.cap(1_500_000)
    bench.clock.advance(2.9)
    bench.agent.tick()
    assert max_khz(bench) == 1_500_000
    bench.agent.renew(ALICE, RenewRequest(epoch, bench.next()))
    bench.clock.advance(2.9)
    bench.agent.tick()
    assert max_khz(bench) == 1_500_000
    bench.clock.advance(0.1)
    bench.agent.tick()
    assert bench.host.snapshot() == before
    assert refusal(lambda: bench.agent.renew(ALICE, RenewRequest(epoch, 99))) == "no_lease"
    assert [line["event"] for line in bench.events("lease_expired", "restored")] == [
        "lease_expired",
        "restored",
    ]


def test_an_expired_lease_is_over_even_before_the_tick(bench: Bench) -> None:
    before = bench.host.snapshot()
    epoch = bench.take()
    bench.cap(1_500_000)
    bench.clock.advance(3.0)
    late = FrequencyRequest(epoch, bench.next(), 1_300_000)
    assert refusal(lambda: bench.agent.set_frequency(ALICE, late)) == "no_lease"
    assert bench.host.snapshot() == before
    assert bench.take(BOB) > epoch


def test_an_administrator_ends_any_lease_and_nobody_else_does(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    assert refusal(lambda: bench.agent.release_as_administrator(ALICE)) == "not_allowed"
    assert max_khz(bench) == 1_500_000
    assert len(bench.agent.release_as_administrator(ROOT).restored) == 4
    assert bench.host.snapshot() == before
    assert refusal(lambda: bench.cap(1_500_000)) == "no_lease"


def test_epochs_rise_across_restarts_boots_and_a_lost_journal(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    epochs = []
    for boot in ("a", "a", "b", "lost"):
        if boot == "lost":
            bench.journal.path.unlink()
            bench.clock.advance(60.0)
        bench.boot_id = boot
        bench.start()
        epochs += [bench.take(), bench.take(take_over=True)]
    assert epochs == sorted(set(epochs))
    bench.close()


def test_stopping_restores_and_refuses_whatever_comes_later(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    assert len(bench.agent.stop().restored) == 4
    assert bench.host.snapshot() == before
    assert refusal(lambda: bench.cap(1_500_000)) == "stopping"
    assert refusal(lambda: bench.take(BOB)) == "stopping"
    assert bench.agent.stop().restored == ()
    bench.agent.tick()
    assert len(bench.events("stopped")) == 1


def test_parts_of_a_clock_domain_are_refused_by_name(tmp_path: Path) -> None:
    host = FaultyHost(HostDescription(cpus=4, cpus_per_domain=2))
    bench = Bench(tmp_path, host)
    bench.start()
    bench.take()
    with pytest.raises(Refused, match="policy1") as refused:
        bench.cap(1_500_000, "policy0")
    assert refused.value.code == "unsupported"
    assert len(bench.cap(1_500_000, "policy0", "policy1").outcomes) == 2
    host.unplug(3)
    bench.clock.advance(10.0)
    bench.agent.tick()
    assert refusal(lambda: bench.cap(1_500_000, "policy3")) == "no_lease"
    bench.take()
    assert refusal(lambda: bench.cap(1_500_000, "policy3")) == "policy_inactive"
    assert len(bench.cap(1_500_000, "policy2").outcomes) == 1
    bench.close()


def test_a_failed_change_is_undone_on_every_policy(bench: Bench) -> None:
    bench.take()
    bench.cap(2_000_000)
    before = bench.host.snapshot()
    bench.host.inject(attribute("policy2"), errno.EIO, on="write")
    assert refusal(lambda: bench.cap(1_500_000)) == "host_fault"
    assert bench.host.snapshot() == before
    bench.host.inject(attribute("policy2"), None)
    bench.agent.tick()
    assert bench.host.snapshot() == before
    assert len(bench.cap(1_500_000).outcomes) == 4


def test_a_disk_that_takes_no_journal_means_no_change_and_no_lease(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    obstacle = bench.journal.path.with_name("journal.json.new")
    obstacle.mkdir()
    assert refusal(lambda: bench.cap(1_500_000)) == "unavailable"
    assert refusal(lambda: bench.take(take_over=True)) == "unavailable"
    assert bench.host.snapshot() == before
    assert "journal" in str(bench.agent.status().last_problem)
    obstacle.rmdir()
    bench.agent.tick()
    assert bench.agent.status().last_problem is None
    bench.cap(1_500_000)


def test_a_command_that_cannot_be_audited_is_refused_but_restoring_goes_on(bench: Bench) -> None:
    before = bench.host.snapshot()
    bench.take()
    bench.cap(1_500_000)
    bench.audit.path.unlink()
    bench.audit.path.mkdir()
    assert refusal(lambda: bench.cap(1_600_000)) == "unavailable"
    assert refusal(lambda: bench.agent.renew(ALICE, RenewRequest(bench.epoch, bench.next())))
    assert max_khz(bench) == 1_500_000
    assert "audit" in str(bench.agent.status().last_problem)
    bench.release()
    assert bench.host.snapshot() == before
    assert refusal(bench.take) == "unavailable"


def test_userspace_speed_is_set_and_the_governor_comes_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path, rules=FrequencyRules(actuation="userspace", min_dwell_ms=0))
    bench.start()
    before = bench.host.snapshot()
    bench.take()
    answer = bench.cap(1_650_000)
    assert [one.effective_khz for one in answer.outcomes] == [1_600_000] * 4
    assert bench.host.read(attribute("policy0", "scaling_governor")) == "userspace\n"
    bench.agent.tick()
    assert not any(policy.drifted for policy in bench.agent.status().policies)
    bench.host.write(attribute("policy3", "scaling_governor"), "performance")
    bench.agent.tick()
    assert [policy.drifted for policy in bench.agent.status().policies] == [False] * 3 + [True]
    bench.cap(1_700_000)
    bench.start()
    after = bench.host.snapshot()
    changed = attribute("policy3", "scaling_governor")
    assert {path for path in after if after[path] != before[path]} == {changed}
    bench.close()


def test_userspace_is_refused_where_the_driver_has_none(tmp_path: Path) -> None:
    host = FaultyHost(HostDescription(driver="intel_pstate", cpus=1))
    bench = Bench(tmp_path, host, FrequencyRules(actuation="userspace"))
    bench.start()
    bench.take()
    assert refusal(lambda: bench.cap(1_500_000)) == "unsupported"
    bench.close()
