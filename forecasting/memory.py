"""What the time of the day and of the week says about the next steps, beside the mixture.

Two specialists (Freund et al. 1997), one for each profile: a specialist
speaks only where the change it foresees differs from the mixture's forecast by more than forecasts
are usually off, and is judged only where it spoke. So a jump that comes once a day is remembered as
one, and not forgotten among the thousands of steps between on which everybody is right. What it
has earned or lost is kept for weeks, with the profiles.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from forecasting.compiled import compiled
from forecasting.contract import FloatArray
from forecasting.profile import DAY_S, WEEK_S, Profile

PROFILES = ("day", "week")
HORIZONS = 64
"""Farther ahead, what is known of this one is used."""
_PRIOR = 0.5
"""Weight of a specialist that was never judged, that of the whole mixture being 1."""
_RATE = 0.2
_DISCOUNT = 0.999
"""Of the judgements, each time it speaks."""
_LOSS_LIMIT = 100.0
_LEVEL_SMOOTHING = 0.5
"""Of the level that a foreseen change is added to."""
_RATIO_SMOOTHING = 0.02
"""Of today's size relative to the profile's."""
_RATIO_ANCHOR = 0.1
"""Of the mean of the profile: at so low a level the ratio is half today's and half 1."""
_LARGEST_RATIO = 3.0
_SIZES = (1.0, 8.0)
"""A specialist speaks where it is so many usual errors away from the mixture: of a drift, and of a
jump. Who knows the one need not know the other, so each is judged by its own."""
_MOST_CREDIT, _MOST_DEBT = 20.0, 40.0
"""Limits of what is earned and lost: a specialist that was right for months and is wrong now is
silenced within a few steps, and one that was wrong for months can come back (Herbster and Warmuth
1998)."""


@dataclass(slots=True, eq=False)
class RateMemory:
    """Everything that outlives a run: the profiles and how well each foresaw."""

    profiles: tuple[Profile, ...] = field(
        default_factory=lambda: (Profile(DAY_S, 60.0, 0.2), Profile(WEEK_S, 300.0, 0.3))
    )
    edges: FloatArray = field(
        default_factory=lambda: np.zeros((len(PROFILES), len(_SIZES), HORIZONS))
    )
    """Discounted losses of each specialist less those of the mixture, by size and horizon."""

    @property
    def spans_a_day(self) -> bool:
        return any(profile.spans_a_day for profile in self.profiles)


def remembered(
    rates_per_s: Iterable[float],
    begin_clock_s: float,
    step_s: float,
    memory: RateMemory | None = None,
) -> RateMemory:
    """A memory with a stretch of the past added: one rate a step of the clock."""
    memory = memory or RateMemory()
    for step, rate in enumerate(rates_per_s):
        begin_s = begin_clock_s + step * step_s
        for profile in memory.profiles:
            profile.learn(begin_s, begin_s + step_s, float(rate))
    return memory


class Recall:
    """The specialists of one run, over a memory."""

    def __init__(self, max_steps: int) -> None:
        self.memory = RateMemory()
        self._clock_s: float | None = None
        self._step_s = 1.0
        """Of the clock: a trace that is played faster has longer steps."""
        count = len(PROFILES)
        self._levels = np.full((count, 2), np.nan)
        """Smoothed: what was measured, and what the profile says of the same steps."""
        self._sizes = np.full((count, 2), np.nan)
        """The same, over longer."""
        self._steps = min(max_steps, HORIZONS)
        self._origin = 0
        self._pending = np.full((self._steps, count + 2, self._steps), np.nan)
        """By origin (a ring): specialists where they spoke, the mixture, and the usual error."""
        # Compiles, here and not in a control step.
        _judge(self._pending, 0, 0.0, RateMemory().edges)
        usual = np.ones(max_steps)
        _speak(
            self._levels, self._sizes, np.zeros((count, max_steps)), np.zeros(count), usual, usual
        )
        _follow((0.0, 0.0), np.zeros(2), np.zeros(2))
        _weigh(self._pending[0, :count], usual, usual, self.memory.edges)
        for profile in RateMemory().profiles:
            profile.learn(0.0, 1.0, 0.0)
            profile.path(0.0, 1.0, 1)

    def set_clock(self, clock_s: float, step_s: float) -> None:
        """The last step ended at `clock_s`; steps are `step_s` long."""
        self._clock_s, self._step_s = clock_s, step_s

    def observe(self, value: float | None) -> None:
        """A step has passed."""
        if self._clock_s is None:
            return
        begin_s, self._clock_s = self._clock_s, self._clock_s + self._step_s
        if value is None:
            return
        for row, profile in enumerate(self.memory.profiles):
            now = (value, float(profile.path(begin_s, self._step_s, 1)[0]))
            profile.learn(begin_s, self._clock_s, value)
            _follow(now, self._levels[row], self._sizes[row])

    def judge(self, value: float) -> None:
        """Charge the specialists that spoke for what they and the mixture said of this value."""
        _judge(self._pending, self._origin, value, self.memory.edges)

    def mix(self, base: FloatArray, usual: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The forecast of the mixture with what the specialists say, and the specialists' shares by
        profile and step. `usual` is how far forecasts are usually off, by horizon."""
        return _weigh(self._said(base, usual), base, usual, self.memory.edges)

    def issue(self, base: FloatArray, usual: FloatArray) -> FloatArray:
        """The same, to be judged by what comes."""
        said, rows = self._said(base, usual), len(PROFILES)
        pending = self._pending[self._origin]
        pending[:rows] = said[:, : self._steps]
        pending[rows], pending[rows + 1] = base[: self._steps], usual[: self._steps]
        self._origin = (self._origin + 1) % self._steps
        return _weigh(said, base, usual, self.memory.edges)[0]

    def _said(self, base: FloatArray, usual: FloatArray) -> FloatArray:
        """Forecasts of the specialists; NaN where one does not speak."""
        if self._clock_s is None or np.isnan(self._levels[:, 1]).all():
            return np.full((len(PROFILES), len(base)), np.nan)
        profiles = self.memory.profiles
        paths = [each.path(self._clock_s, self._step_s, len(base)) for each in profiles]
        means = np.array([each.mean for each in profiles])
        return _speak(self._levels, self._sizes, np.array(paths), means, base, usual)


@compiled
def _follow(now: tuple[float, float], level: FloatArray, size: FloatArray) -> None:
    known = not np.isnan(now[1])
    for column in range(2):
        if known and not np.isnan(level[0]) and not np.isnan(level[1]):
            level[column] += _LEVEL_SMOOTHING * (now[column] - level[column])
            size[column] += _RATIO_SMOOTHING * (now[column] - size[column])
    if not known:
        level[:], size[:] = np.nan, np.nan
    elif np.isnan(level[1]):
        level[0], level[1] = now
        size[0], size[1] = now


@compiled
def _speak(
    levels: FloatArray,
    sizes: FloatArray,
    paths: FloatArray,
    means: FloatArray,
    base: FloatArray,
    usual: FloatArray,
) -> FloatArray:
    """The level of now plus the change that the profile foresees, in today's size."""
    said = np.full(paths.shape, np.nan)
    for row in range(len(paths)):
        if np.isnan(levels[row, 1]):
            continue
        anchor = _RATIO_ANCHOR * means[row]
        ratio = 1.0
        if sizes[row, 1] + anchor > 0.0:
            ratio = (sizes[row, 0] + anchor) / (sizes[row, 1] + anchor)
        ratio = min(max(ratio, 1.0 / _LARGEST_RATIO), _LARGEST_RATIO)
        for step in range(paths.shape[1]):
            change = ratio * (paths[row, step] - levels[row, 1])
            foreseen = max(levels[row, 0] + change, 0.0)
            differs = abs(foreseen - base[step]) > _SIZES[0] * usual[min(step, len(usual) - 1)]
            if differs and not np.isnan(change):
                said[row, step] = foreseen
    return said


@compiled
def _judge(pending: FloatArray, newest: int, value: float, edges: FloatArray) -> None:
    ring, rows, horizons = pending.shape
    base = rows - 2
    for horizon in range(horizons):
        said = pending[(newest - 1 - horizon) % ring, :, horizon]
        usual = said[base + 1]
        if not usual > 0.0:
            continue
        loss = min(abs(said[base] - value) / usual, _LOSS_LIMIT)
        for row in range(base):
            if not np.isnan(said[row]):
                own = min(abs(said[row] - value) / usual, _LOSS_LIMIT)
                size = 1 if abs(said[row] - said[base]) > _SIZES[1] * usual else 0
                edge = _DISCOUNT * edges[row, size, horizon] + own - loss
                edges[row, size, horizon] = min(max(edge, -_MOST_CREDIT), _MOST_DEBT)


@compiled
def _weigh(
    said: FloatArray, base: FloatArray, usual: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray]:
    rows, steps = said.shape
    mixed, shares = np.empty(steps), np.zeros((rows, steps))
    for step in range(steps):
        total, weighed = 1.0, base[step]
        for row in range(rows):
            if not np.isnan(said[row, step]):
                off = usual[min(step, len(usual) - 1)]
                size = 1 if abs(said[row, step] - base[step]) > _SIZES[1] * off else 0
                # Beyond the horizons that are judged, the last of them speaks for the others.
                edge = edges[row, size, min(step, len(usual) - 1, edges.shape[2] - 1)]
                shares[row, step] = _PRIOR * np.exp(-_RATE * edge)
                total += shares[row, step]
                weighed += shares[row, step] * said[row, step]
        mixed[step] = weighed / total
        shares[:, step] /= total
    return mixed, shares
