"""The probabilistic decision: right on average, and never beyond what one instance may do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.decentralised.decision import LoadBand, change, replication_factor

BAND = LoadBand()


@pytest.mark.parametrize("load", [0.0, 100.0, 300.0, 400.0, 700.0, 1104.0, 2600.0])
def test_the_sum_of_all_decisions_is_what_the_operator_needs(load: float) -> None:
    generator = np.random.default_rng(3)
    instances = 20_000
    total = sum(change(load, 500.0, BAND, False, generator) for _ in range(instances))
    needed = load * instances / (0.7 * 500.0)
    # The standard error of a Bernoulli sum of so many is at most 0.0035 of their number.
    assert (instances + total) / instances == pytest.approx(needed / instances, abs=0.015)


@pytest.mark.parametrize("load", [301.0, 350.0, 399.0])
def test_within_the_band_nothing_happens(load: float) -> None:
    generator = np.random.default_rng(3)
    assert all(change(load, 500.0, BAND, False, generator) == 0 for _ in range(100))


@given(load=st.floats(0, 1e6), keeper=st.booleans(), seed=st.integers(0, 1000))
def test_whole_duplicates_are_certain_and_the_keeper_stays(
    load: float, keeper: bool, seed: int
) -> None:
    wanted = change(load, 500.0, BAND, keeper, np.random.default_rng(seed))
    factor = replication_factor(load, 500.0, BAND.target)
    if load >= 400.0:
        assert int(factor) <= wanted <= int(factor) + 1
    elif load <= 300.0 and not keeper:
        assert wanted in {-1, 0}
    else:
        assert wanted == 0


@pytest.mark.parametrize(
    ("target", "upper", "lower"),
    [(0.7, 0.6, 0.5), (0.7, 0.8, 0.75), (1.2, 1.3, 0.5), (0.7, 0.8, 0)],
)
def test_a_band_out_of_order_is_refused(target: float, upper: float, lower: float) -> None:
    with pytest.raises(ValueError, match="load band"):
        LoadBand(target, upper, lower)
