"""How capacity may be given up: not all at once, and not on the word of one measurement.

To have too much costs a little energy, to have too little costs violations until the executors are
back. So capacity is given up as Kubernetes' horizontal autoscaler and Flink's do it: to the highest
target of a window of time, so that less must have been enough throughout, and by a share of the
capacity in one step. The windows follow from how fast the capacity comes back: executors take as
long as they take to start, a frequency acts at once. A rate that contradicts those before it, as
after a step of the clock, gives nothing up until the next ones agree with it.
"""

from collections import deque
from math import ceil
from statistics import median

from mpc.bounds import Bounds, Reason
from mpc.descent_limits import FEWEST_PER_S, DescentLimits
from mpc.events import EventKind
from mpc.values import Configuration, Measurement

FEWEST_WINDOW_STEPS = 3
NEIGHBOURS = 3
"""Rates that the next one is compared with: a change is believed when it has lasted for two."""


class Descent:
    """Asked in every step: whether to trust it, for the least that may be planned, then for what
    may be applied."""

    def __init__(self, limits: DescentLimits, step_s: float) -> None:
        self._limits = limits
        self._step_s = step_s
        self._step = 0
        self._executors: deque[tuple[int, int]] = deque()
        """Steps with a fresh measurement, and the executors wanted in each."""
        self._frequencies_khz: deque[int] = deque(maxlen=limits.frequency_readings)
        self._rates_per_s: deque[float] = deque(maxlen=NEIGHBOURS)
        self._trusted = False

    def doubt(self, measurement: Measurement) -> Reason | None:
        """Why the measurement of this step gives nothing up; None: it is fresh and plausible.
        Asked before everything else."""
        self._step += 1
        reason = self._doubt(measurement)
        self._trusted = reason is None
        return reason

    def _doubt(self, measurement: Measurement) -> Reason | None:
        stale = EventKind.HELD_STALE_MEASUREMENT
        rate_per_s = measurement.arrivals_per_s
        if rate_per_s is None:
            return Reason(stale, "no arrivals were measured")
        before = list(self._rates_per_s)
        self._rates_per_s.append(rate_per_s)
        if not measurement.is_fresh:
            return Reason(stale, "a query has not reported")
        if len(before) < NEIGHBOURS:
            return None
        usual_per_s = median(before)
        lower, higher = sorted(max(each, FEWEST_PER_S) for each in (usual_per_s, rate_per_s))
        if higher <= self._limits.doubtful_ratio * lower:
            return None
        detail = f"{rate_per_s:.3g} rows/s after {usual_per_s:.3g}"
        return Reason(EventKind.HELD_DOUBTFUL_RATE, detail)

    def floor(self, current: Configuration, useful: int) -> Configuration:
        """The least of each part of the configuration. Executors that find no task are no
        capacity, so to give them up is no loss."""
        kept = 1.0 - self._limits.largest_share
        return Configuration(
            ceil(kept * min(current.executors, useful)), ceil(kept * current.frequency_khz)
        )

    def window_steps(self, startup_s: float | None) -> int:
        window_s = self._limits.window_s
        if window_s is not None:
            return max(ceil(window_s / self._step_s), 1)
        return max(ceil((startup_s or 0.0) / self._step_s), FEWEST_WINDOW_STEPS)

    def limited(
        self,
        measurement: Measurement,
        bounds: Bounds,
        wanted: Configuration,
        useful: int,
        *,
        at_once: bool = False,
    ) -> Configuration:
        """What may be applied of a target inside the bounds: never less than it. `at_once`: to wait
        would break a limit."""
        current = bounds.nearest(measurement.requested)
        if not self._trusted:
            return wanted  # held by the bounds, so nobody's wish
        if not self._executors:
            # What was found counts as wanted, or the first wish would decide alone.
            self._executors.append((self._step - 1, current.executors))
            self._frequencies_khz.append(current.frequency_khz)
        settled = self._settled(wanted.executors, self.window_steps(measurement.startup_s))
        executors = max(wanted.executors, min(settled, current.executors))
        frequency_khz = wanted.frequency_khz
        running = min(executors, measurement.observed.executors)
        if running * current.frequency_khz >= wanted.executors * frequency_khz:
            # With the executors that stay, the frequency of now does all that was wanted.
            frequency_khz = min(frequency_khz, current.frequency_khz)
        self._frequencies_khz.append(frequency_khz)
        if at_once:
            return wanted
        settled_khz = max(self._frequencies_khz)
        frequency_khz = max(frequency_khz, min(settled_khz, current.frequency_khz))
        return self._within_share(bounds, current, Configuration(executors, frequency_khz), useful)

    def _settled(self, wanted_executors: int, window_steps: int) -> int:
        """The highest wish of the window, with this one."""
        wishes = self._executors
        wishes.append((self._step, wanted_executors))
        # Where measurements are rare the one before counts, however long ago that was.
        fewest = min(window_steps, 2)
        while len(wishes) > fewest and wishes[0][0] <= self._step - window_steps:
            wishes.popleft()
        return max(executors for _, executors in wishes)

    def _within_share(
        self, bounds: Bounds, current: Configuration, target: Configuration, useful: int
    ) -> Configuration:
        """Where both parts together would give up too much, the frequency gives way."""
        kept = 1.0 - self._limits.largest_share
        least_khz = kept * min(current.executors, useful) * current.frequency_khz
        least_khz = min(least_khz / min(target.executors, useful), current.frequency_khz)
        if target.frequency_khz >= least_khz:
            return target
        enough_khz = (khz for khz in bounds.space.frequencies_khz if khz >= least_khz)
        return Configuration(target.executors, next(enough_khz, target.frequency_khz))
