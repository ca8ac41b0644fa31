import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agent.core.lease import LeaseKeeper
from runtime.agent.wire.refusals import Refused


def granted() -> LeaseKeeper:
    keeper = LeaseKeeper()
    keeper.grant("controller", 7, 1000, now_s=100.0)
    return keeper


def test_a_lease_lives_for_three_periods() -> None:
    keeper = granted()
    assert not keeper.expired(102.999)
    assert keeper.expired(103.0)


def test_renewing_starts_the_three_periods_again() -> None:
    keeper = granted()
    keeper.admit("controller", 7, 1)
    assert keeper.renew(102.0).remaining_ms(102.0) == 3000
    assert not keeper.expired(104.9)


def test_another_caller_is_told_who_holds_it_and_for_how_long() -> None:
    with pytest.raises(Refused, match=r"controller holds the lease.*1500 ms") as refused:
        granted().check_free("other", take_over=True, now_s=101.5)
    assert refused.value.code == "lease_held"


def test_the_same_caller_must_ask_to_take_over() -> None:
    keeper = granted()
    with pytest.raises(Refused) as refused:
        keeper.check_free("controller", take_over=False, now_s=100.0)
    assert refused.value.refusal.field == "take_over"
    keeper.check_free("controller", take_over=True, now_s=100.0)


def test_an_epoch_that_does_not_fence_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="fence"):
        granted().grant("controller", 7, 1000, now_s=101.0)


@pytest.mark.parametrize(
    ("caller", "epoch", "sequence", "code"),
    [
        ("controller", 6, 2, "stale_epoch"),
        ("controller", 8, 2, "stale_epoch"),
        ("other", 6, 2, "stale_epoch"),
        ("other", 7, 2, "lease_held"),
        ("controller", 7, 1, "replayed"),
    ],
)
def test_what_is_not_the_next_command_of_the_holder_is_refused_and_changes_nothing(
    caller: str, epoch: int, sequence: int, code: str
) -> None:
    keeper = granted()
    keeper.admit("controller", 7, 1)
    before = keeper.lease
    with pytest.raises(Refused) as refused:
        keeper.admit(caller, epoch, sequence)
    assert refused.value.code == code
    assert keeper.lease == before


def test_without_a_lease_nothing_is_let_through() -> None:
    keeper = granted()
    keeper.end()
    with pytest.raises(Refused) as refused:
        keeper.admit("controller", 7, 1)
    assert refused.value.code == "no_lease"
    assert not keeper.expired(1e9)
    with pytest.raises(ValueError, match="no lease"):
        keeper.renew(100.0)


@given(st.lists(st.integers(1, 30), max_size=40))
def test_each_sequence_number_is_let_through_at_most_once_and_only_rising(
    sequences: list[int],
) -> None:
    keeper, passed = granted(), []
    for sequence in sequences:
        try:
            keeper.admit("controller", 7, sequence)
        except Refused:
            continue
        passed.append(sequence)
    assert passed == sorted(set(passed))
