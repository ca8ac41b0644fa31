"""Arrival variability: known processes have known values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.variability import dispersion_index


def test_a_poisson_stream_is_one_whatever_its_rate() -> None:
    generator = np.random.default_rng(1)
    for rate in (3.0, 500.0):
        counts = generator.poisson(rate, 20_000).astype(np.float64)
        assert dispersion_index(counts) == pytest.approx(1.0, abs=0.05)


def test_clusters_show_in_counts_over_long_windows() -> None:
    # Shuffled, the same counts have the same dispersion, and their sums no longer have.
    generator = np.random.default_rng(2)
    clustered = generator.poisson(np.repeat(generator.choice([20.0, 500.0], 400), 50))
    shuffled = generator.permutation(clustered)
    of_sums = [
        dispersion_index(counts.reshape(-1, 50).sum(axis=1).astype(np.float64))
        for counts in (clustered, shuffled)
    ]
    assert of_sums[0] is not None
    assert of_sums[1] is not None
    assert of_sums[0] > 10.0 * of_sums[1]


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
    assert dispersion_index(np.array([5.0])) is None
    assert dispersion_index(np.zeros(10)) is None
