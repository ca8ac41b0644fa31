"""Simple exponential smoothing: a level that follows the series, held."""

import numpy as np

from forecasting.checks import check_fraction
from forecasting.contract import FloatArray


class SimpleSmoothing:
    def __init__(self, level_smoothing: float = 0.3) -> None:
        check_fraction("level_smoothing", level_smoothing)
        self._level_smoothing = level_smoothing
        self._level: float | None = None

    def observe(self, value: float) -> None:
        if self._level is None:
            self._level = value
        else:
            self._level += self._level_smoothing * (value - self._level)

    def skip(self) -> None:
        pass

    def restart(self, level: float) -> None:
        self._level = level

    def path(self, steps: int) -> FloatArray:
        return np.full(steps, 0.0 if self._level is None else self._level)
