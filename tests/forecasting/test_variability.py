"""Arrival variability: known processes have known values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.variability import (
    dispersion_by_window,
    dispersion_index,
    interarrival_cv,
    window_counts,
)


def test_a_clock_has_no_variation() -> None:
    assert interarrival_cv(np.arange(0.0, 100.0, 0.25)) == pytest.approx(0.0, abs=1e-9)


def test_a_poisson_stream_is_one_in_both_views() -> None:
    generator = np.random.default_rng(1)
    times_s = np.cumsum(generator.exponential(0.01, 200_000))
    assert interarrival_cv(times_s) == pytest.approx(1.0, abs=0.02)
    indices = dispersion_by_window(window_counts(times_s, 0.1), [1, 10, 100])
    assert indices == pytest.approx((1.0, 1.0, 1.0), abs=0.25)


def test_clusters_show_in_counts_over_long_windows() -> None:
    # Shuffling the gaps of a clustered stream keeps its coefficient of variation and destroys
    # the clusters: only the index of dispersion can tell the two apart.
    generator = np.random.default_rng(2)
    rates_per_s = np.repeat(generator.choice([20.0, 500.0], 400), 200)
    gaps_s = generator.exponential(1.0, len(rates_per_s)) / rates_per_s
    clustered_s, shuffled_s = np.cumsum(gaps_s), np.cumsum(generator.permutation(gaps_s))
    assert interarrival_cv(clustered_s) == pytest.approx(interarrival_cv(shuffled_s), rel=1e-3)
    clustered = dispersion_index(window_counts(clustered_s, 5.0))
    shuffled = dispersion_index(window_counts(shuffled_s, 5.0))
    assert clustered is not None
    assert shuffled is not None
    assert clustered > 10.0 * shuffled


def test_counts_fall_into_whole_windows() -> None:
    times_s = np.array([10.0, 10.2, 11.5, 12.0, 12.9, 13.4])
    np.testing.assert_array_equal(window_counts(times_s, 1.0), [2.0, 1.0, 2.0])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=50), st.integers(2, 9))
def test_repeating_every_count_scales_the_dispersion(counts: list[int], factor: int) -> None:
    plain = dispersion_index(np.array(counts, dtype=np.float64))
    scaled = dispersion_index(factor * np.array(counts, dtype=np.float64))
    if sum(counts) == 0:
        assert plain is None
        assert scaled is None
    else:
        assert plain is not None
        assert scaled == pytest.approx(factor * plain)


def test_too_little_to_tell_is_none() -> None:
    assert interarrival_cv(np.array([1.0, 2.0])) is None
    assert interarrival_cv(np.array([1.0, 1.0, 1.0])) is None
    assert dispersion_index(np.array([5.0])) is None
    assert dispersion_index(np.zeros(10)) is None
    assert dispersion_by_window(np.ones(5), [3]) == (None,)
    assert len(window_counts(np.zeros(0), 1.0)) == 0


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="times_s must ascend"):
        interarrival_cv(np.array([3.0, 2.0, 5.0]))
    with pytest.raises(ValueError, match="window_s must be positive"):
        window_counts(np.array([1.0]), 0.0)
    with pytest.raises(ValueError, match="lengths must be at least 1"):
        dispersion_by_window(np.ones(5), [0])
