"""Forecasts of a rate that is reported late and not at every step.

A micro-batch engine counts arrivals when a batch begins, and reports them when it ends: one mean
over several steps, some steps ago. A forecaster that took that for the rate of one step between
gaps would hardly ever see a trend. Here the mean stands for the middle of the time it was counted
over, the steps since the last one lie on the line between the two, and forecasts begin where it
ends.
"""

from collections import deque
from math import ceil, floor

import numpy as np

from forecasting.contract import FloatArray
from forecasting.intervals import IntervalForecaster
from forecasting.memory import RateMemory


class LateForecaster:
    """Told every value in its own step, it is the forecaster inside it.

    That must have `max_steps` for the horizon and `longest_gap` more.
    """

    def __init__(self, forecaster: IntervalForecaster, longest_gap: int = 0) -> None:
        if longest_gap < 0:
            raise ValueError(f"longest_gap must not be negative, got {longest_gap}")
        self._forecaster = forecaster
        self._longest_gap = longest_gap
        self._behind = 0.0
        """Steps from the last one that the forecaster has seen until now; the middle of a batch
        need not be the middle of a step."""
        self._last: float | None = None
        """The value of the last step that it has seen; None after a gap that was too long."""
        self._reported: deque[float] = deque(maxlen=max(longest_gap, 1))
        """What the last steps were taken to be."""

    @property
    def memory(self) -> RateMemory | None:
        """Of other days, where the forecaster inside has one."""
        mixture = self._forecaster.mixture
        return None if mixture is None else mixture.memory

    @memory.setter
    def memory(self, memory: RateMemory | None) -> None:
        mixture = self._forecaster.mixture
        if mixture is not None and memory is not None:
            mixture.memory = memory

    def carrier(self) -> tuple[str, float] | None:
        """Which forecast has the largest share of the next step's, and how much."""
        mixture = self._forecaster.mixture
        return None if mixture is None else mixture.carrier(ceil(self._behind) + 1)

    def update(
        self,
        value: float | None,
        age_steps: float = 0.0,
        clock_s: float | None = None,
        clock_step_s: float = 1.0,
    ) -> None:
        """A step has passed; `value` is what came around `age_steps` before it. `clock_s` is when
        the step ended, seconds since 1970 in UTC, of which a step has `clock_step_s`."""
        self._behind += 1.0
        if value is None:
            if self._behind > self._longest_gap:
                if clock_s is not None:
                    seen_s = clock_s - self._behind * clock_step_s
                    self._forecaster.set_clock(seen_s, clock_step_s)
                self._forecaster.update(None)
                self._behind -= 1.0
                self._last = None
                self._reported.clear()  # the steps before this one are not those of before the gap
            return
        # Never farther back than forecasts reach, and never before what is reported already.
        age_steps = min(max(age_steps, 0.0), float(self._longest_gap))
        if self._last is not None:
            age_steps = min(age_steps, self._behind - 1.0)
        steps = max(round(self._behind - age_steps), 1)
        if clock_s is not None:
            self._forecaster.set_clock(clock_s - (age_steps + steps) * clock_step_s, clock_step_s)
        for step in range(1, steps):
            if self._last is None:
                self._forecaster.update(None)
            else:
                between = self._last + (value - self._last) * step / steps
                self._reported.append(between)
                self._forecaster.fill(between)
        # Batches follow one another: what one counts ends where the next one begins.
        self._forecaster.update(value, 1 if self._last is None else steps)
        self._reported.append(value)
        self._behind, self._last = age_steps, value

    def forecast(self, steps: int) -> FloatArray | None:
        path = self._forecaster.forecast(ceil(self._behind) + steps)
        return None if path is None else self._in_step(path)[-steps:]

    def scenarios(self, steps: int, count: int, before: int = 0) -> FloatArray | None:
        """`count` equally likely paths, one a row: of the next `steps` steps, and first of as many
        `before` them as are known or can be reckoned."""
        paths = self._forecaster.scenarios(ceil(self._behind) + steps, count)
        if paths is None:
            return None
        if before > floor(self._behind):
            paths = np.concatenate((np.tile(list(self._reported), (count, 1)), paths), axis=1)
        return self._in_step(paths)[:, -(before + steps) :]

    def _in_step(self, paths: FloatArray) -> FloatArray:
        """Where the last value belongs between two steps, so do those of a path: moved onto steps,
        and one fewer."""
        share = self._behind - floor(self._behind)
        if share == 0.0:
            return paths
        return np.asarray((1.0 - share) * paths[..., :-1] + share * paths[..., 1:])
