"""The last value, held: the reference every other forecaster is measured against."""

import numpy as np

from forecasting.contract import FloatArray


class LastValue:
    def __init__(self) -> None:
        self._value = 0.0

    def observe(self, value: float) -> None:
        self._value = value

    def skip(self) -> None:
        pass

    def restart(self, level: float) -> None:
        self._value = level

    def path(self, steps: int) -> FloatArray:
        return np.full(steps, self._value)
