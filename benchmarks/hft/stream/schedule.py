"""When each quote of a stream is due, and how many are due by a given time: exact inverses.

Everything is counted in whole microseconds since the start of the stream and in whole quotes, so
that a restarted reader, an executor and a test that ask the same question get the same answer.
Nothing here knows what the quotes say, nor what time it is.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from mpc.values import FloatArray, IntArray

MICROSECONDS_PER_S = 1_000_000
_SAFE_PRODUCT = 2**61


class QuoteSchedule(Protocol):
    def due_us(self, first: int, last: int) -> IntArray:
        """When quotes `first` to `last` - 1 are due; never decreasing with the index."""
        ...

    def due_by(self, now_us: int) -> int:
        """How many quotes have a due time of `now_us` or earlier."""
        ...


@dataclass(frozen=True, slots=True)
class RateSchedule:
    """A rate, constant within bins; quotes are evenly spaced in a bin. Repeats without end."""

    edge_us: IntArray
    """Ends of the bins, after a leading 0."""
    edge_quotes: IntArray
    """Quotes before each edge."""

    def due_us(self, first: int, last: int) -> IntArray:
        index = np.arange(first, last, dtype=np.int64)
        total, period_us = int(self.edge_quotes[-1]), int(self.edge_us[-1])
        cycle, place = np.divmod(index, total) if last > total else (0, index)
        # From the right: empty bins share their edge with the bin that has the quote.
        chosen = np.searchsorted(self.edge_quotes, place, side="right") - 1
        width_us, quotes = np.diff(self.edge_us), np.maximum(1, np.diff(self.edge_quotes))
        odd = 2 * (place - self.edge_quotes[chosen]) + 1
        within_us = odd * width_us[chosen] // (2 * quotes[chosen])
        return np.asarray(cycle * period_us + self.edge_us[chosen] + within_us)

    def due_by(self, now_us: int) -> int:
        if now_us < 0:
            return 0
        total, period_us = int(self.edge_quotes[-1]), int(self.edge_us[-1])
        cycle, rest_us = divmod(now_us, period_us)
        chosen = bisect_right(self.edge_us, rest_us) - 1
        before, after = (int(edge) for edge in self.edge_quotes[chosen : chosen + 2])
        start_us, end_us = (int(edge) for edge in self.edge_us[chosen : chosen + 2])
        within = 0
        if after > before:
            # Quote k is due within the bin at (2k+1)·width // 2n, solved for k.
            reached = 2 * (after - before) * (rest_us - start_us + 1) - 1
            within = (reached // (end_us - start_us) + 1) // 2
        return cycle * total + before + within


def rate_schedule(
    quotes_per_s: FloatArray, bin_s: float, acceleration: float = 1.0
) -> RateSchedule:
    """Rounding to whole quotes carries over from bin to bin, so that no rate loses its fraction.

    An acceleration of 100 has 100 times the rate for a hundredth of the time.
    """
    if acceleration <= 0:
        raise ValueError(f"acceleration must be positive, got {acceleration}")
    bin_us = bin_s * MICROSECONDS_PER_S / acceleration
    if len(quotes_per_s) == 0 or not (np.isfinite(quotes_per_s) & (quotes_per_s >= 0)).all():
        raise ValueError("rates must be at least one, finite and not negative")
    if bin_us < 1:
        raise ValueError(f"bins of {bin_s} s are under 1 µs when accelerated {acceleration} times")
    edge_us = np.rint(np.arange(len(quotes_per_s) + 1) * bin_us).astype(np.int64)
    edge_quotes = np.floor(np.cumsum(quotes_per_s * bin_s) + 0.5).astype(np.int64)
    edge_quotes = np.concatenate([[0], edge_quotes])
    if edge_quotes[-1] == 0:
        raise ValueError("the rates make less than one quote")
    if float(np.diff(edge_quotes).max()) * float(np.diff(edge_us).max()) > _SAFE_PRODUCT:
        raise ValueError("too many quotes in one bin: use shorter bins")
    return RateSchedule(edge_us, edge_quotes)


class Timed(Protocol):
    """Recorded times, ascending, of which slices are cheap."""

    @property
    def count(self) -> int: ...

    def time_us(self, first: int, last: int) -> IntArray: ...


@dataclass(frozen=True, slots=True)
class RecordedSchedule:
    """The quotes' own times, the first at 0, `acceleration` times as fast. Ends with the last."""

    recording: Timed
    acceleration: float

    def __post_init__(self) -> None:
        if self.acceleration <= 0:
            raise ValueError(f"acceleration must be positive, got {self.acceleration}")

    def due_us(self, first: int, last: int) -> IntArray:
        if first >= last:
            return np.empty(0, dtype=np.int64)
        since_us = self.recording.time_us(first, last) - self.recording.time_us(0, 1)[0]
        return np.asarray(np.floor(since_us / self.acceleration).astype(np.int64))

    def due_by(self, now_us: int) -> int:
        # Searched with the same arithmetic as above, so that rounding cannot part the two.
        due_us = partial(_due_of_one, self)
        return bisect_right(range(self.recording.count), now_us, key=due_us)


def _due_of_one(schedule: RecordedSchedule, index: int) -> int:
    return int(schedule.due_us(index, index + 1)[0])
