"""Holt's linear trend, damped or not.

Settable to the parameters in the published code of the MPC paper: level 1, trend 0.015 for its
random walk, 0.67 and 0.26 for its real data, both without damping (1.0).
"""

import numpy as np

from forecasting.checks import check_fraction
from forecasting.contract import FloatArray


class Holt:
    def __init__(
        self, level_smoothing: float = 0.5, trend_smoothing: float = 0.1, damping: float = 0.9
    ) -> None:
        check_fraction("level_smoothing", level_smoothing)
        check_fraction("trend_smoothing", trend_smoothing)
        check_fraction("damping", damping)
        self._level_smoothing = level_smoothing
        self._trend_smoothing = trend_smoothing
        self._damping = damping
        self._level: float | None = None
        self._trend = 0.0
        self._damping_sums = damping_sums(damping, 1)

    def observe(self, value: float) -> None:
        if self._level is None:
            self._level = value
            return
        # Gardner and McKenzie 1985: l' = a y + (1-a)(l + phi b), b' = b*(l' - l) + (1-b*) phi b.
        expected = self._level + self._damping * self._trend
        level = expected + self._level_smoothing * (value - expected)
        damped = self._damping * self._trend
        self._trend = damped + self._trend_smoothing * (level - self._level - damped)
        self._level = level

    def skip(self) -> None:
        if self._level is not None:
            self._trend *= self._damping
            # A level below zero is no rate; without the floor a long gap would sink it for good.
            self._level = max(0.0, self._level + self._trend)

    def restart(self, level: float) -> None:
        self._level = level
        self._trend = 0.0

    def path(self, steps: int) -> FloatArray:
        if len(self._damping_sums) < steps:
            self._damping_sums = damping_sums(self._damping, steps)
        level = 0.0 if self._level is None else self._level
        return level + self._trend * self._damping_sums[:steps]


def damping_sums(damping: float, steps: int) -> FloatArray:
    """phi + phi^2 + ... + phi^h for h = 1..steps: what a damped trend adds up to."""
    return np.cumsum(damping ** np.arange(1, steps + 1, dtype=np.float64))
