"""What a rate usually is at this time of the day, or of the week.

A mean in every bin of the period, one visit a period, older visits forgotten over weeks. Time is
the clock's own, in UTC: where people's clocks change for the summer, a profile is an hour off until
it has learned the new hours, and weighs as little as it foresees.
"""

from dataclasses import dataclass, field

import numpy as np

from forecasting.compiled import compiled
from forecasting.contract import FloatArray, IntArray

DAY_S = 86_400.0
WEEK_S = 7 * DAY_S
_MONDAY_S = 4 * DAY_S
"""The clock began on a Thursday."""
_UNKNOWN_CLOCK = -1.0


@dataclass(slots=True, eq=False)
class Profile:
    """Bins divide the period evenly. `newest_share` is what the newest visit counts at least."""

    period_s: float
    bin_s: float
    newest_share: float
    means: FloatArray = field(default_factory=lambda: np.zeros(0))
    """NaN where nothing is known."""
    visits: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    until_s: float = _UNKNOWN_CLOCK
    """It has learned what was before; what is given again counts once."""
    since_s: float | None = None
    """Where it began to learn."""
    _open: FloatArray = field(default_factory=lambda: np.array([-1.0, 0.0, 0.0]))
    """The bin that time is in, and the sum and number of its values: it counts when time leaves
    it, so that what is foreseen for it are the visits before."""

    def __post_init__(self) -> None:
        if not len(self.means):
            bins = round(self.period_s / self.bin_s)
            self.means = np.full(bins, np.nan)
            self.visits = np.zeros(bins, dtype=np.int64)

    def learn(self, begin_s: float, end_s: float, value: float) -> None:
        """The rate was `value` from `begin_s` to `end_s`."""
        if end_s <= self.until_s:
            return
        self.until_s = end_s
        if self.since_s is None:
            self.since_s = begin_s
        first, last = self._bins(begin_s, end_s)
        _learn(first, last, value, self.newest_share, self._open, self.means, self.visits)

    def path(self, begin_s: float, step_s: float, steps: int) -> FloatArray:
        """The means of steps that follow one another; NaN where one is not wholly known."""
        return _path(begin_s - _MONDAY_S, step_s, steps, self.bin_s, self.means)

    @property
    def spans_a_day(self) -> bool:
        """Before that, nothing it knows comes round again."""
        return self.since_s is not None and self.until_s - self.since_s >= DAY_S - self.bin_s

    @property
    def mean(self) -> float:
        """Of all that is known; 0 if nothing is."""
        return _mean(self.means)

    def _bins(self, begin_s: float, end_s: float) -> tuple[int, int]:
        """First and last bin of the stretch; the one of its middle where it is shorter than one."""
        if end_s - begin_s <= self.bin_s:
            middle = int(((begin_s + end_s) / 2.0 - _MONDAY_S) // self.bin_s)
            return middle, middle
        # A bin that is only touched is the neighbour's.
        first = round((begin_s - _MONDAY_S) / self.bin_s)
        return first, max(round((end_s - _MONDAY_S) / self.bin_s) - 1, first)


@compiled
def _learn(
    first: int,
    last: int,
    value: float,
    newest_share: float,
    open_bin: FloatArray,
    means: FloatArray,
    visits: IntArray,
) -> None:
    for position in range(first, last + 1):
        if position != open_bin[0]:
            if open_bin[2] > 0.0:
                left = int(open_bin[0]) % len(means)
                mean = open_bin[1] / open_bin[2]
                visits[left] += 1
                if visits[left] == 1:
                    means[left] = mean
                else:
                    means[left] += max(newest_share, 1.0 / visits[left]) * (mean - means[left])
            open_bin[0], open_bin[1], open_bin[2] = position, 0.0, 0.0
        open_bin[1] += value
        open_bin[2] += 1.0


@compiled
def _path(begin_s: float, step_s: float, steps: int, bin_s: float, means: FloatArray) -> FloatArray:
    found = np.empty(steps)
    bins = len(means)
    for step in range(steps):
        from_s = begin_s + step * step_s
        if step_s <= bin_s:
            found[step] = means[int((from_s + step_s / 2.0) // bin_s) % bins]
            continue
        first = round(from_s / bin_s)
        last = max(round((from_s + step_s) / bin_s) - 1, first)
        total = 0.0
        for position in range(first, last + 1):
            total += means[position % bins]
        found[step] = total / (last - first + 1)
    return found


@compiled
def _mean(values: FloatArray) -> float:
    total, known = 0.0, 0
    for value in values:
        if not np.isnan(value):
            total += value
            known += 1
    return total / max(known, 1)
