"""Forecasts of a rate that is reported late and not at every step.

A micro-batch engine counts arrivals when a batch begins, and tells when it ends: one mean over
several steps, some steps ago. A forecaster that took that for the rate of one step between gaps
would hardly ever see a trend. Here the mean stands for the middle of the time it was counted over,
the steps since the last one lie on the line between the two, and forecasts begin where it ends.
"""

from collections import deque

import numpy as np

from forecasting.contract import FloatArray
from forecasting.intervals import IntervalForecaster


class LateForecaster:
    """Told every value in its own step, it is the forecaster inside it.

    That must have `max_steps` for the horizon and `longest_gap` more.
    """

    def __init__(self, forecaster: IntervalForecaster, longest_gap: int = 0) -> None:
        if longest_gap < 0:
            raise ValueError(f"longest_gap must not be negative, got {longest_gap}")
        self._forecaster = forecaster
        self._longest_gap = longest_gap
        self._behind = 0
        """Steps that have passed and that the forecaster has not seen."""
        self._last: float | None = None
        """The value of the last step that it has seen; None after a gap that was too long."""
        self._reported: deque[float] = deque(maxlen=max(longest_gap, 1))
        """What the last steps were taken to be."""

    def update(self, value: float | None, age_steps: int = 0) -> None:
        """A step has passed; `value` belongs to the step `age_steps` before it."""
        self._behind += 1
        if value is None:
            if self._behind > self._longest_gap:
                self._forecaster.update(None)
                self._behind -= 1
                self._last = None
            return
        # Never before what is reported already, and never farther back than forecasts reach.
        age_steps = min(max(age_steps, 0), self._behind - 1, self._longest_gap)
        steps = self._behind - age_steps
        for step in range(1, steps):
            between = None
            if self._last is not None:
                between = self._last + (value - self._last) * step / steps
                self._reported.append(between)
            self._forecaster.update(between)
        self._forecaster.update(value)
        self._reported.append(value)
        self._behind, self._last = age_steps, value

    def forecast(self, steps: int) -> FloatArray | None:
        path = self._forecaster.forecast(self._behind + steps)
        return None if path is None else path[self._behind :]

    def scenarios(self, steps: int, count: int, before: int = 0) -> FloatArray | None:
        """`count` equally likely paths, one a row: of the next `steps` steps, and first of as many
        `before` them as are known or can be reckoned."""
        paths = self._forecaster.scenarios(self._behind + steps, count)
        if paths is None or before <= self._behind:
            return None if paths is None else paths[:, self._behind - before :]
        earlier = list(self._reported)[self._behind - before :]
        return np.concatenate((np.tile(earlier, (count, 1)), paths), axis=1)
