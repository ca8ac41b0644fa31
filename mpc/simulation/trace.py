"""From a rate series to the stream of triggering tuples a window operator has to serve.

Every single tuple is drawn: its key from the key frequencies, its time evenly spaced in its rate
bin. Each `slide`-th tuple of a key triggers the window of the last `window` tuples of that key
(De Matteis and Mencagli 2016, section 5.1). A trace does not depend on the policy that is tried on
it, so it is generated once per seed and shared by all policies.
"""

from dataclasses import dataclass

import numpy as np

from forecasting.compiled import compiled
from mpc.simulation.series import RateSeries
from mpc.values import FloatArray, IntArray

MILLISECONDS_PER_S = 1e3


@dataclass(frozen=True, slots=True)
class Windows:
    """Count-based sliding windows, per key."""

    size: int = 1_000
    slide: int = 25


@dataclass(frozen=True, slots=True)
class TriggerTrace:
    """Every triggering tuple of one run, in time order."""

    time_s: FloatArray
    key: IntArray
    points: FloatArray
    """Aggregated quotes in the triggered window: one per millisecond that has a quote."""
    key_counts: IntArray
    """Tuples of every key (columns) in every second (rows): what a splitter counts."""
    duration_s: float

    @property
    def keys(self) -> int:
        return int(self.key_counts.shape[1])


def draw_trace(
    rates: RateSeries,
    key_frequencies: FloatArray,
    windows: Windows,
    random: np.random.Generator,
) -> TriggerTrace:
    """Draw every tuple of the run. Windows start full, as in a stream that runs for long."""
    counts = _tuples_per_bin(rates)
    threshold, alias = _alias_table(key_frequencies)
    keys = len(key_frequencies)
    slides = windows.size // windows.slide
    # Distinct milliseconds of a full window at the first bin's rate: 1 - exp(-x) of all
    # milliseconds have a quote when x quotes arrive per millisecond.
    per_ms = key_frequencies * max(rates.tuples_per_s[0], 1.0) / MILLISECONDS_PER_S
    distinct_per_slide = windows.slide * -np.expm1(-per_ms) / per_ms
    history = np.outer(distinct_per_slide, np.arange(-slides, 0, dtype=np.float64))
    seconds = int(np.ceil(rates.duration_s))
    capacity = int(counts.sum()) // windows.slide + keys
    time_s = np.empty(capacity)
    key = np.empty(capacity, dtype=np.int64)
    points = np.empty(capacity)
    key_counts = np.zeros((seconds, keys), dtype=np.int64)
    phase = random.integers(0, windows.slide, size=keys)
    found = _draw(
        counts, rates.bin_s, threshold, alias, windows.slide, history, phase, random,
        time_s, key, points, key_counts,
    )  # fmt: skip
    return TriggerTrace(time_s[:found], key[:found], points[:found], key_counts, rates.duration_s)


def _tuples_per_bin(rates: RateSeries) -> IntArray:
    """Whole tuples of every bin; the rounding carries over, so no bin loses its fraction."""
    cumulative = np.cumsum(rates.tuples_per_s * rates.bin_s)
    return np.diff(np.floor(cumulative + 0.5), prepend=0.0).astype(np.int64)


def _alias_table(frequencies: FloatArray) -> tuple[FloatArray, IntArray]:
    """Walker's alias method: one uniform number draws a key in constant time."""
    count = len(frequencies)
    scaled = frequencies / frequencies.sum() * count
    alias = np.arange(count, dtype=np.int64)
    threshold = np.ones(count)
    small = [index for index in range(count) if scaled[index] < 1]
    large = [index for index in range(count) if scaled[index] >= 1]
    while small and large:
        low, high = small.pop(), large.pop()
        threshold[low] = scaled[low]
        alias[low] = high
        scaled[high] -= 1 - scaled[low]
        (small if scaled[high] < 1 else large).append(high)
    return threshold, alias


@compiled
def _draw(
    counts: IntArray,
    bin_s: float,
    threshold: FloatArray,
    alias: IntArray,
    slide: int,
    history: FloatArray,
    phase: IntArray,
    random: np.random.Generator,
    time_s: FloatArray,
    key: IntArray,
    points: FloatArray,
    key_counts: IntArray,
) -> int:
    keys, slides = history.shape
    distinct = np.zeros(keys)
    last_millisecond = np.full(keys, -1, dtype=np.int64)
    slot = np.zeros(keys, dtype=np.int64)
    found = 0
    for bin_index in range(len(counts)):
        start_s = bin_index * bin_s
        spacing_s = bin_s / max(counts[bin_index], 1)
        for position in range(counts[bin_index]):
            now_s = start_s + (position + 0.5) * spacing_s
            uniform = random.random() * keys
            drawn = int(uniform)
            if uniform - drawn >= threshold[drawn]:
                drawn = alias[drawn]
            key_counts[int(now_s), drawn] += 1
            millisecond = int(now_s * 1e3)
            if millisecond != last_millisecond[drawn]:
                last_millisecond[drawn] = millisecond
                distinct[drawn] += 1
            phase[drawn] += 1
            if phase[drawn] == slide:
                phase[drawn] = 0
                oldest = slot[drawn]
                time_s[found] = now_s
                key[found] = drawn
                # Slides may share a millisecond; a window has no more points than tuples.
                points[found] = min(distinct[drawn] - history[drawn, oldest], slide * slides)
                history[drawn, oldest] = distinct[drawn]
                slot[drawn] = (oldest + 1) % slides
                found += 1
    return found
