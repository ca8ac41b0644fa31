"""A model behind the intake: the forecaster that every single algorithm is used through."""

import numpy as np

from forecasting.checks import check_steps
from forecasting.contract import FloatArray, Model
from forecasting.intake import Intake


class GuardedForecaster:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._intake = Intake()

    def update(self, value: float | None) -> None:
        reading = self._intake.accept(value)
        if reading is None:
            if self._intake.ceiling is not None:
                self._model.skip()
        else:
            if reading.new_level is not None:
                self._model.restart(reading.new_level)
            self._model.observe(reading.value)

    def forecast(self, steps: int) -> FloatArray | None:
        check_steps(steps)
        ceiling = self._intake.ceiling
        if ceiling is None:
            return None
        return np.clip(self._model.path(steps), 0.0, ceiling)
