"""Forecasts with their uncertainty: upper quantiles and scenarios, for any forecaster.

Errors are measured in units of a local scale, their running mean size at each horizon, so that
what was learned in busy times serves in calm ones. Quantiles are tracked online: after a value
above the quantile the tracker steps up, otherwise it creeps down, and the share of values above
settles at the promised one whatever the distribution (Gibbs and Candes 2021). No randomness.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from forecasting.checks import check_steps
from forecasting.compiled import compiled
from forecasting.contract import FloatArray, Forecaster, IntArray
from forecasting.intake import Intake
from forecasting.mixture import Mixture

DEFAULT_LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
_STORED_PATHS = 200
_LARGEST_STRETCH = 4.0
_ENOUGH_PATHS = 40
"""From here on the stored paths are compared with the tracked quantile."""
_SCALE_SMOOTHING = 0.03
_TRACKING_STEP = 0.2
"""In units of the local scale; smaller is smoother, larger recovers faster from a change."""
_SCORE_LIMIT = 10.0
"""Errors count up to this many local scales: one glitch must not widen the next hour."""
_FIRST_ERROR = 0.2
_FIRST_ERROR_COUNT = 2
"""Before any error is known: a fifth of the first value, worth two observations. Without it the
first forecasts would look certain."""
_FEW = 10
"""With fewer errors than this, the scale of a horizon leans on that of the one before."""
_NORMAL_SCALE = (np.pi / 2.0) ** 0.5
"""Standard deviation over mean absolute error of a normal distribution: the first guess."""


class _Tracker(NamedTuple):
    """What is known about errors."""

    tails: FloatArray
    """The share of values that may lie above each level's quantile."""
    multipliers: FloatArray
    """The tracked quantiles of the errors, in local scales, by level and horizon."""
    errors: FloatArray
    """Running mean size of the errors, by horizon."""
    counts: IntArray


class _History(NamedTuple):
    """What was forecast and how it turned out, by origin (a ring) and horizon."""

    steps: IntArray
    """When each origin's forecast was made."""
    settled: IntArray
    """Horizons of each origin whose errors are known, from the first one on."""
    means: FloatArray
    scales: FloatArray
    quantiles: FloatArray
    """By origin, level and horizon."""
    scores: FloatArray
    """Errors in local scales; NaN until they are known."""


class IntervalForecaster:
    def __init__(
        self,
        forecaster: Forecaster,
        max_steps: int = 10,
        levels: Sequence[float] = DEFAULT_LEVELS,
    ) -> None:
        check_steps(max_steps)
        if not levels or any(not 0.0 < level < 1.0 for level in levels):
            raise ValueError(f"levels must lie between 0 and 1, exclusive, got {tuple(levels)}")
        self._forecaster = forecaster
        self._max_steps = max_steps
        self._levels = tuple(sorted(set(levels)))
        # The level that scenarios are held to: rarer ones are known too little.
        self._reference = max(0, sum(level <= 0.95 for level in self._levels) - 1)
        first_guess = [_NORMAL_SCALE * NormalDist().inv_cdf(level) for level in self._levels]
        self._tracker = _Tracker(
            tails=1.0 - np.array(self._levels),
            multipliers=np.tile(np.array(first_guess)[:, None], (1, max_steps)),
            errors=np.zeros(max_steps),
            counts=np.zeros(max_steps, dtype=np.int64),
        )
        ring = _STORED_PATHS + max_steps
        self._history = _History(
            steps=np.zeros(ring, dtype=np.int64),
            settled=np.zeros(ring, dtype=np.int64),
            means=np.zeros((ring, max_steps)),
            scales=np.zeros((ring, max_steps)),
            quantiles=np.zeros((ring, len(self._levels), max_steps)),
            scores=np.full((ring, max_steps), np.nan),
        )
        self._intake = Intake()
        self._origins = 0
        self._step = 0
        # Compiles, here and not in a control step.
        _settle(0.0, 0.0, 1, 0, 0, self._tracker, self._history)
        _issue(np.zeros(max_steps), 0, 0, self._tracker, self._history)

    def fill(self, value: float) -> None:
        """Take what a step is believed to have been, between two that are known.

        The forecaster learns from it; no error is taken. A value on the line to one that came
        later says nothing about how far forecasts are off, and a forecast made from it would know
        what was still to come.
        """
        self._step += 1
        self._forecaster.update(value)
        self._intake.accept(value, self._foreseen)

    def set_clock(self, clock_s: float, step_s: float) -> None:
        """The last step ended at `clock_s`; for a forecaster that remembers other days."""
        if isinstance(self._forecaster, Mixture):
            self._forecaster.set_clock(clock_s, step_s)

    @property
    def mixture(self) -> Mixture | None:
        """The forecaster inside, where it is one of several that says who carries it."""
        return self._forecaster if isinstance(self._forecaster, Mixture) else None

    def update(self, value: float | None, span: int = 1) -> None:
        """Take the value of the step that just ended; of `span` steps around it, it is the mean."""
        self._step += 1
        self._forecaster.update(value)
        reading = self._intake.accept(value, self._foreseen)
        if reading is not None and value is not None:
            if not self._origins:
                grown = np.sqrt(np.arange(1, self._max_steps + 1))
                self._tracker.errors[:] = _FIRST_ERROR * reading.value * grown
                self._tracker.counts[:] = _FIRST_ERROR_COUNT
            _settle(
                float(value),
                reading.value,
                span,
                self._step,
                self._origins,
                self._tracker,
                self._history,
            )
            if reading.new_level is not None and reading.old_level:
                # Errors at the new level are as large, relative to it, as at the old one.
                errors = self._tracker.errors
                np.multiply(errors, reading.new_level / reading.old_level, out=errors)
        path = self._forecaster.forecast(self._max_steps)
        if path is not None:
            _issue(path, self._step, self._origins, self._tracker, self._history)
            self._origins += 1

    def forecast(self, steps: int) -> FloatArray | None:
        """The mean path."""
        if steps > self._max_steps:
            return self._forecaster.forecast(steps)
        check_steps(steps)
        return self._history.means[self._newest, :steps].copy() if self._origins else None

    def quantile(self, steps: int, level: float) -> FloatArray | None:
        """The value that each step stays below with probability `level`."""
        self._check(steps)
        if level not in self._levels:
            raise ValueError(f"level {level} is not tracked; this forecaster has {self._levels}")
        if not self._origins:
            return None
        return self._history.quantiles[self._newest, self._levels.index(level), :steps].copy()

    def scenarios(self, steps: int, count: int) -> FloatArray | None:
        """`count` equally likely paths, one a row.

        Historical simulation: error paths as they happened, in today's scale. Of more than
        `count` stored paths, those at evenly spaced ranks are taken; what is missing is made up
        by normal paths.
        """
        self._check(steps)
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        if not self._origins:
            return None
        # The newest paths whose values are all known, whatever the farthest horizon is.
        oldest = max(self._origins - steps - _STORED_PATHS, 0)
        places = np.sort(np.arange(oldest, self._origins) % len(self._history.scores))
        scores = self._history.scores[places, :steps]
        scores = scores[np.isfinite(scores).all(axis=1)]
        known = len(scores)
        if known > count:
            by_size = np.argsort(scores.sum(axis=1), kind="stable")
            ranks = ((np.arange(count) + 0.5) * known / count).astype(np.int64)
            scores = scores[by_size[ranks]]
        elif known < count:
            missing = count - known
            normal = NormalDist(0.0, _NORMAL_SCALE)
            made_up = [normal.inv_cdf((i + 0.5) / missing) for i in range(missing)]
            scores = np.concatenate((scores, np.tile(np.array(made_up)[:, None], (1, steps))))
        if known >= _ENOUGH_PATHS and count > 1:
            scores = self._calibrated(scores)
        newest = self._newest
        paths = self._history.means[newest, :steps] + scores * self._history.scales[newest, :steps]
        return np.maximum(paths, 0.0)

    def _calibrated(self, scores: FloatArray) -> FloatArray:
        """Errors above the mean, stretched until they agree with the tracked quantiles.

        The past few hundred paths know the shape of the errors; the tracker, which is held to
        what it promised, knows their size better. What lies beyond the reference level is
        stretched once more, until as many values as promised lie above nearly every scenario.
        """
        ordered = np.sort(scores, axis=0)
        simulated = _ranked(ordered, self._levels[self._reference])
        tracked = self._tracker.multipliers[self._reference, : scores.shape[1]]
        stretched = np.where(scores > 0.0, scores * _stretch(tracked, simulated), scores)
        beyond = _ranked(ordered, self._levels[-1]) - simulated
        further = self._tracker.multipliers[-1, : scores.shape[1]] - tracked
        excess = scores - simulated
        in_tail = (excess > 0.0) & (beyond > 0.0)
        edge = simulated * _stretch(tracked, simulated)
        return np.where(in_tail, edge + excess * _stretch(further, beyond), stretched)

    @property
    def _foreseen(self) -> float | None:
        """What was last forecast for the step that has just ended."""
        if not self._origins:
            return None
        horizon = self._step - int(self._history.steps[self._newest]) - 1
        return float(self._history.means[self._newest, min(horizon, self._max_steps - 1)])

    @property
    def _newest(self) -> int:
        return (self._origins - 1) % len(self._history.means)

    def _check(self, steps: int) -> None:
        check_steps(steps)
        if steps > self._max_steps:
            raise ValueError(f"steps must be at most max_steps = {self._max_steps}, got {steps}")


def _ranked(ordered: FloatArray, level: float) -> FloatArray:
    """The quantile of each column of sorted values, between the two nearest ones."""
    place = level * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return np.asarray(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def _stretch(tracked: FloatArray, simulated: FloatArray) -> FloatArray:
    """By how much to stretch what is simulated, within limits; not at all where either says
    nothing."""
    usable = (tracked > 0.0) & (simulated > 0.0)
    ratio = np.divide(tracked, simulated, out=np.ones_like(tracked), where=usable)
    return np.clip(ratio, 1.0 / _LARGEST_STRETCH, _LARGEST_STRETCH)


@compiled
def _settle(
    value: float,
    accepted: float,
    span: int,
    step: int,
    origins: int,
    tracker: _Tracker,
    history: _History,
) -> None:
    """Compare a value with every forecast that was made for it.

    Of a value that stands for several steps the error stands for the horizons around it too, from
    where the value before it ended; between them errors grow as those of a random walk do.
    """
    tails, multipliers, errors, counts = tracker
    steps, settled, means, scales, quantiles, scores = history
    ring, horizons = means.shape
    for back in range(min(origins, ring)):
        origin = (origins - 1 - back) % ring
        horizon = step - steps[origin] - 1
        if horizon >= horizons:
            break
        first = min(settled[origin], horizon)
        last = min(horizon + (span - 1) // 2, horizons - 1)
        settled[origin] = last + 1
        error = accepted - means[origin, horizon]
        scale = scales[origin, horizon]
        for near in range(first, last + 1):
            # Against the quantile as it was issued, not as it stands now: only then does the share
            # of misses add up to the promised one at long horizons.
            for level in range(len(tails)):
                missed = 1.0 if value > quantiles[origin, level, horizon] else 0.0
                multipliers[level, near] += _TRACKING_STEP * (missed - tails[level])
            if scale > 0.0:
                scores[origin, near] = min(max(error / scale, -_SCORE_LIMIT), _SCORE_LIMIT)
            size = abs(error) * np.sqrt((near + 1.0) / (horizon + 1.0))
            if errors[near] > 0.0:
                size = min(size, _SCORE_LIMIT * errors[near])
            counts[near] += 1
            share = max(_SCALE_SMOOTHING, 1.0 / counts[near])
            errors[near] += share * (size - errors[near])


@compiled
def _issue(path: FloatArray, step: int, origins: int, tracker: _Tracker, history: _History) -> None:
    """Write down a new forecast, with its scale and its quantiles."""
    _, multipliers, errors, counts = tracker
    steps, settled, means, scales, quantiles, scores = history
    origin = origins % len(means)
    steps[origin] = step
    settled[origin] = 0
    means[origin] = path
    scores[origin] = np.nan
    for horizon in range(len(path)):
        scale = errors[horizon]
        if horizon > 0 and counts[horizon] == 0:
            # Not seen yet: grow as the errors of a random walk do.
            scale = scales[origin, horizon - 1] * np.sqrt((horizon + 1.0) / horizon)
        elif horizon > 0 and counts[horizon] < _FEW:
            scale = max(scale, scales[origin, horizon - 1])
        scales[origin, horizon] = scale
        highest = 0.0
        for level in range(len(multipliers)):
            # Levels are tracked one by one; a higher one must not fall below a lower one.
            highest = max(highest, path[horizon] + multipliers[level, horizon] * scale)
            quantiles[origin, level, horizon] = highest
