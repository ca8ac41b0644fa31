from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mpc.balance import balanced, flux, imbalance
from mpc.values import FloatArray, IntArray

weights_of_keys = npst.arrays(
    np.float64,
    st.integers(0, 60),
    elements=st.one_of(st.floats(0, 1e9), st.sampled_from([0.0, 1.0, 2.0, 1e-300])),
)
replica_counts = st.integers(1, 20)


def loads_of(weights: FloatArray, owners: IntArray, executors: int) -> FloatArray:
    return np.bincount(owners, weights=weights, minlength=executors).astype(np.float64)


@pytest.fixture(scope="session")
def paper_weights(shared_data: Path) -> FloatArray:
    words = (shared_data / "paper" / "key_probabilities.txt").read_text().split()
    return np.asarray(words[3:], dtype=np.float64)


def scanned_algorithm_1(weights: FloatArray, executors: int) -> IntArray:
    """Algorithm 1 as printed: a scan for the least load at every key."""
    loads = np.zeros(executors)
    owners = np.zeros(len(weights), dtype=np.int64)
    for key in sorted(range(len(weights)), key=lambda key: (-weights[key], key)):
        owners[key] = int(np.argmin(loads))
        loads[owners[key]] += weights[key]
    return owners


@given(weights_of_keys, replica_counts)
def test_balanced_is_algorithm_1(weights: FloatArray, executors: int) -> None:
    expected = scanned_algorithm_1(weights, executors)
    assert balanced(weights, executors).tolist() == expected.tolist()


@given(weights_of_keys.filter(lambda weights: weights.sum() > 0), replica_counts)
def test_balanced_keeps_grahams_bound(weights: FloatArray, executors: int) -> None:
    largest = loads_of(weights, balanced(weights, executors), executors).max()
    # Graham 1966: any list order stays within 2 - 1/n of the optimum, by way of this bound.
    at_least = max(weights.sum() / executors, weights.max())
    assert largest <= (2 - 1 / executors) * at_least * (1 + 1e-9)


@settings(max_examples=200)
@given(weights_of_keys, st.data(), replica_counts, st.sampled_from([0.0, 0.1, 0.5]))
def test_flux_ends_with_no_worse_balance(
    weights: FloatArray, data: st.DataObject, executors: int, threshold: float
) -> None:
    before = data.draw(npst.arrays(np.int64, len(weights), elements=st.integers(0, 19)))
    original = before.copy()
    after = flux(weights, before, executors, threshold)
    assert before.tolist() == original.tolist()
    assert after.shape == before.shape
    assert ((after >= 0) & (after < executors)).all()
    assert not (weights[(after != before) & (before < executors)] == 0).any()
    if (before < executors).all():
        old, new = loads_of(weights, before, executors), loads_of(weights, after, executors)
        assert new.max() <= old.max() * (1 + 1e-9)
        assert new.min() >= old.min() * (1 - 1e-9)
        if old.max() <= (1 + threshold) * old.min():
            assert after.tolist() == before.tolist()


@given(npst.arrays(np.float64, st.integers(60, 120), elements=st.floats(0.5, 1.0)), replica_counts)
def test_flux_meets_the_threshold_when_keys_are_small(weights: FloatArray, executors: int) -> None:
    # Every key is below a third of a replica's share, so there is always one that fits a gap.
    executors = min(executors, 6)
    loads = loads_of(weights, flux(weights, balanced(weights, 3), executors, 0.25), executors)
    assert loads.max() <= 1.25 * loads.min() + 1e-9


@pytest.mark.parametrize("before", range(1, 13))
def test_flux_on_the_papers_distribution(paper_weights: FloatArray, before: int) -> None:
    owners = balanced(paper_weights, before)
    for after in range(1, 13):
        loads = loads_of(paper_weights, flux(paper_weights, owners, after), after)
        assert loads.max() <= 1.1 * loads.min() * (1 + 1e-9)


def test_flux_moves_few_keys_where_balanced_moves_most(paper_weights: FloatArray) -> None:
    owners = balanced(paper_weights, 6)
    # Section 5.2 of the paper, 6 -> 8 replicas: 2,460 keys moved against 68.
    assert np.count_nonzero(balanced(paper_weights, 8) != owners) > 2_300
    assert np.count_nonzero(flux(paper_weights, owners, 8) != owners) <= 68


def test_flux_scales_in_by_moving_only_orphans_when_that_is_enough() -> None:
    weights = np.ones(12)
    owners = np.arange(12) % 4
    moved = flux(weights, owners, 3)
    assert np.flatnonzero(moved != owners).tolist() == [3, 7, 11]
    assert loads_of(weights, moved, 3).tolist() == [4.0, 4.0, 4.0]


def test_flux_balances_the_others_around_a_key_too_heavy_to_share() -> None:
    weights = np.array([100.0, *([1.0] * 12)])
    owners = np.array([0] + [1] * 12)
    loads = loads_of(weights, flux(weights, owners, 4), 4)
    assert loads.tolist() == [100.0, 4.0, 4.0, 4.0]


@pytest.mark.parametrize("executors", [1, 2, 3, 7, 8, 9, 1_000])
def test_any_number_of_replicas(executors: int) -> None:
    weights = np.linspace(1.0, 2.0, 500)
    owners = balanced(weights, executors)
    assert owners.tolist() == scanned_algorithm_1(weights, executors).tolist()
    assert flux(weights, owners, executors + 1).max() <= executors


def test_imbalance_is_largest_over_mean() -> None:
    owners = np.array([0, 0, 1])
    assert imbalance(np.array([1.0, 2.0, 3.0]), owners, 2) == 1.0
    assert imbalance(np.array([1.0, 2.0, 3.0]), owners, 3) == pytest.approx(1.5)
    assert imbalance(np.zeros(3), owners, 2) == 1.0


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_weights_without_meaning_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        balanced(np.array([1.0, bad]), 2)
    with pytest.raises(ValueError, match="finite and not negative"):
        flux(np.array([1.0, bad]), np.array([0, 0]), 2)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="executors must be at least 1"):
        balanced(np.ones(2), 0)
    with pytest.raises(ValueError, match="3 owners for 2 weights"):
        flux(np.ones(2), np.zeros(3, dtype=np.int64), 2)
    with pytest.raises(ValueError, match="must not be negative"):
        flux(np.ones(2), np.array([0, -1]), 2)
    with pytest.raises(ValueError, match="threshold"):
        flux(np.ones(2), np.zeros(2, dtype=np.int64), 2, threshold=-0.1)
