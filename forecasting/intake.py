"""What stands between a measured series and a model: gaps, outliers and level shifts.

A single value far above the recent past is cut back, because one glitch of 1e9 would poison a
model for hundreds of steps; a run of them is a level shift (a market open is a factor of 30 in
one step) and restarts the model there. All rules are ratios, so results do not depend on the
unit of the series.
"""

import math
from collections import deque
from typing import NamedTuple

RECENT_VALUES = 60
"""How far back "recent" reaches, in observations."""
JUMP_RATIO = 3.0
"""Values this far above the recent maximum, or below the recent minimum, are suspects."""
CONFIRMATIONS = 3
"""So many suspects in a row are a new level."""
PROBATION = 20
"""Number of values after a rise within which one value back in the old range ends it: bursts are
common."""
# A value at exactly the limit must fall on the same side whatever the unit of the series.
_ROUNDING = 1.0 + 1e-9
# In any unit less than this is no rate, and the ratio of a new level to it would overflow.
_NOTHING = 1e-100


class Reading(NamedTuple):
    """One accepted value, and the new level at the moment a shift to it is confirmed."""

    value: float
    new_level: float | None = None
    old_level: float | None = None


class Intake:
    """Judges every value against the recent past and remembers what it accepted."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RECENT_VALUES)
        self._suspects: list[float] = []
        self._past: tuple[float, ...] = ()
        """The recent values without the suspects; empty when there are none."""
        self._before_rise: tuple[float, ...] = ()
        self._probation = 0

    @property
    def ceiling(self) -> float | None:
        """Three times the recent maximum: the largest forecast worth believing."""
        return JUMP_RATIO * max(self._recent) if self._recent else None

    def accept(self, value: float | None, foreseen: float | None = None) -> Reading | None:
        """The value to learn from, or None for a gap. `foreseen` is what was forecast for it."""
        if value is None or not math.isfinite(value) or value < 0.0:
            return None
        value = float(value) if value >= _NOTHING else 0.0
        if not self._recent:
            self._recent.append(value)
            return Reading(value)
        if self._before_rise:
            if value <= max(self._before_rise) * _ROUNDING:
                reading = self._shift(value, self._before_rise)
                self._recent.append(value)
                return reading
            self._probation -= 1
            if self._probation == 0:
                self._before_rise = ()
        past = self._past or self._recent
        low, high = min(past), max(past)
        # After nothing but zeros there is no scale to call anything an outlier.
        rising = high > 0.0 and value > JUMP_RATIO * high * _ROUNDING
        falling = value * JUMP_RATIO * _ROUNDING < low
        # Only a memory of other days forecasts so much, and where it comes it is no glitch.
        expected = foreseen or 0.0
        near = expected / JUMP_RATIO <= value <= JUMP_RATIO * expected
        if rising and near and expected > JUMP_RATIO * max(self._recent) * _ROUNDING:
            return self._shift(value, (value,))
        if not rising and not falling:
            self._suspects.clear()
            self._past = ()
            self._recent.append(value)
            return Reading(value)
        return self._suspect(value, high, rising)

    def _suspect(self, value: float, high: float, rising: bool) -> Reading:
        if not self._past:
            self._past = tuple(self._recent)
        if self._suspects and rising != (self._suspects[-1] > high):
            self._suspects.clear()
        self._suspects.append(value)
        if len(self._suspects) == CONFIRMATIONS:
            before = self._past if rising else ()
            reading = self._shift(value, tuple(self._suspects))
            self._before_rise = before
            self._probation = PROBATION
            return reading
        # The second suspect in a row is no glitch any more, if not yet a level.
        accepted = min(value, JUMP_RATIO * high) if len(self._suspects) == 1 else value
        self._recent.append(accepted)
        return Reading(accepted)

    def _shift(self, value: float, values: tuple[float, ...]) -> Reading:
        old_level = _mean(self._past or tuple(self._recent))
        self._recent.clear()
        self._recent.extend(values)
        self._suspects.clear()
        self._past = ()
        self._before_rise = ()
        return Reading(value, _mean(values), old_level)


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values)
