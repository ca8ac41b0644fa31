"""The threshold-based local policy: when it scales, and how urgent it says that is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.policies.edf.options import EdfThresholdOptions
from mpc.policies.edf.threshold import ThresholdScaling
from mpc.policies.edf.values import OperatorSample

SCALING = ThresholdScaling(EdfThresholdOptions(scale_out_utilisation=0.6), 1, 4)


def sample(*utilisations: float) -> OperatorSample:
    return OperatorSample(len(utilisations), utilisations)


def test_one_busy_replica_is_enough_to_scale_out() -> None:
    proposal = SCALING.propose(sample(0.2, 0.8))
    assert proposal.change == 1
    assert proposal.score == pytest.approx((0.8 - 0.6) / 0.4)


def test_scales_in_only_when_the_others_can_take_it() -> None:
    # With one replica fewer 0.44 each: below 0.75 * 0.6 = 0.45.
    proposal = SCALING.propose(sample(0.22, 0.22))
    assert proposal.change == -1
    assert proposal.score == pytest.approx((0.45 - 0.44) / 0.45)
    assert SCALING.propose(sample(0.23, 0.23)).change == 0


def test_keeps_within_its_limits() -> None:
    assert SCALING.propose(sample(1.0, 1.0, 1.0, 1.0)).change == 0
    assert SCALING.propose(sample(0.0)).change == 0


def test_without_a_measurement_nothing_changes() -> None:
    assert SCALING.propose(OperatorSample(2)).change == 0


@given(
    utilisations=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    target=st.floats(0.05, 0.95),
    fraction=st.floats(0.05, 0.95),
)
def test_a_scale_in_is_never_followed_by_a_scale_out_at_the_same_load(
    utilisations: list[float], target: float, fraction: float
) -> None:
    """What c < 1 is for: the work of the ended replica, dealt out evenly, stays below target."""
    scaling = ThresholdScaling(EdfThresholdOptions(target, fraction), 1, 4)
    proposal = scaling.propose(sample(*utilisations))
    assert 0.0 <= proposal.score <= 1.0
    if proposal.change == -1:
        left = len(utilisations) - 1
        each = sum(utilisations) / left
        assert scaling.propose(sample(*[each] * left)).change != 1
