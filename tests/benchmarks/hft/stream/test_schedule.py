"""Due times and counts are exact inverses, whatever the rate."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.hft.stream.schedule import QuoteSchedule, RecordedSchedule, rate_schedule
from benchmarks.hft.stream.shapes import SHAPES, Shape, scheduled, shaped_rates
from mpc.values import IntArray

rates = st.lists(st.floats(0, 5_000), min_size=1, max_size=8).filter(lambda some: sum(some) > 20)


@dataclass(frozen=True, slots=True)
class Times:
    at_us: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.at_us)

    def time_us(self, first: int, last: int) -> IntArray:
        return np.asarray(self.at_us[first:last], dtype=np.int64)


def assert_inverse(schedule: QuoteSchedule, first: int, last: int) -> None:
    due_us = schedule.due_us(first, last)
    assert len(due_us) == last - first
    assert (np.diff(due_us) >= 0).all()
    for index, at_us in enumerate(due_us.tolist(), start=first):
        assert schedule.due_by(at_us) > index
        assert schedule.due_by(at_us - 1) <= index


@given(rates, st.floats(0.01, 2), st.floats(0.1, 50), st.integers(0, 100_000), st.integers(1, 60))
def test_a_rate_schedule_and_its_inverse(
    per_s: list[float], bin_s: float, acceleration: float, first: int, count: int
) -> None:
    assume(sum(per_s) * bin_s >= 1)
    schedule = rate_schedule(np.asarray(per_s), bin_s, acceleration)
    assert_inverse(schedule, first, first + count)


@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=50).map(sorted),
    st.floats(0.01, 1_000),
)
def test_a_recorded_schedule_and_its_inverse(times_us: list[int], acceleration: float) -> None:
    schedule = RecordedSchedule(Times(tuple(times_us)), acceleration)
    assert_inverse(schedule, 0, len(times_us))
    assert schedule.due_us(0, 1).tolist() == [0]
    assert schedule.due_by(10**18) == len(times_us)


@given(rates, st.integers(0, 10_000), st.lists(st.integers(0, 500), max_size=6))
def test_ranges_join_to_the_same_times(per_s: list[float], first: int, lengths: list[int]) -> None:
    schedule = rate_schedule(np.asarray(per_s), 0.5)
    edges = first + np.cumsum([0, *lengths])
    parts = [schedule.due_us(int(a), int(b)) for a, b in pairwise(edges)]
    whole = schedule.due_us(first, int(edges[-1]))
    assert np.concatenate([*parts, []]).tolist() == whole.tolist()


def test_every_bin_has_its_rate_and_the_cycle_repeats() -> None:
    schedule = rate_schedule(np.asarray([100.0, 0.0, 300.0]), bin_s=1.0)
    ends = [schedule.due_by(second * 1_000_000 - 1) for second in range(7)]
    assert ends == [0, 100, 100, 400, 500, 500, 800]
    assert schedule.due_by(-1) == 0
    assert schedule.due_by(0) == 0


def test_acceleration_shortens_time_and_keeps_the_quotes() -> None:
    slow = rate_schedule(np.asarray([100.0, 300.0]), bin_s=1.0)
    fast = rate_schedule(np.asarray([100.0, 300.0]), bin_s=1.0, acceleration=10.0)
    assert fast.due_by(200_000 - 1) == slow.due_by(2_000_000 - 1) == 400


def test_fractions_of_a_quote_carry_over() -> None:
    schedule = rate_schedule(np.full(10, 0.3), bin_s=1.0)
    assert schedule.due_by(10_000_000 - 1) == 3


@pytest.mark.parametrize(
    ("per_s", "bin_s", "acceleration"),
    [
        ([], 1.0, 1.0),
        ([-1.0], 1.0, 1.0),
        ([float("nan")], 1.0, 1.0),
        ([0.1], 1.0, 1.0),
        ([1e9], 1e-3, 1e6),
        ([1e9], 1e6, 1.0),
        ([10.0], 1.0, 0.0),
    ],
)
def test_rates_that_make_no_schedule_are_refused(
    per_s: list[float], bin_s: float, acceleration: float
) -> None:
    with pytest.raises(ValueError, match=r"rates|bins|acceleration"):
        rate_schedule(np.asarray(per_s), bin_s, acceleration)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_peaks_where_asked(shape: Shape) -> None:
    series = shaped_rates(shape, peak_per_s=2_000, trough_per_s=500, period_s=20, seed=3)
    schedule = scheduled(series, acceleration=1.0)
    seconds = int(series.duration_s)
    due = [schedule.due_by(second * 1_000_000 - 1) for second in range(seconds + 1)]
    assert 1_950 <= np.diff(due).max() <= 2_001


def test_a_wave_starts_at_its_trough() -> None:
    series = shaped_rates("wave", peak_per_s=2_000, trough_per_s=500, period_s=20, seed=3)
    schedule = scheduled(series, acceleration=1.0)
    first = schedule.due_by(1_000_000)
    middle = schedule.due_by(10_500_000) - schedule.due_by(9_500_000)
    assert first < 600
    assert middle > 1_900
    with pytest.raises(ValueError, match="trough <= peak"):
        shaped_rates("wave", peak_per_s=100, trough_per_s=500, period_s=20, seed=3)
