"""A small autoregression, fitted by recursive least squares with forgetting.

It works on deviations from a slow running mean, in units of their running size: the coefficients
are plain numbers, the fit weighs calm and busy times alike, and no scale enters. It starts as
"hold the last value" and leaves that only as far as the data say.
"""

import numpy as np

from forecasting.checks import check_fraction
from forecasting.compiled import compiled
from forecasting.contract import FloatArray

_ERROR_LIMIT = 3.0
"""Errors count up to this many typical deviations, so that a burst is not a lesson."""
_PRIOR_VARIANCE = 0.03
"""Of the coefficients at the start: how readily the first values move them."""
_WEIGHT_OF_LEVEL = 3
"""How many observations the level of a restart stands for."""
_NEGLIGIBLE = 1e-9
"""Deviations below this share of the mean are rounding."""


class Autoregression:
    def __init__(
        self, order: int = 5, forgetting: float = 0.99, mean_smoothing: float = 0.015
    ) -> None:
        if order < 1:
            raise ValueError(f"order must be at least 1, got {order}")
        check_fraction("forgetting", forgetting)
        check_fraction("mean_smoothing", mean_smoothing)
        self._forgetting = forgetting
        self._mean_smoothing = mean_smoothing
        self._coefficients = np.zeros(order)
        self._coefficients[0] = 1.0
        self._covariance = np.eye(order) * _PRIOR_VARIANCE
        self._lags = np.zeros(order)
        """The latest values, newest first."""
        self._mean = 0.0
        self._deviation = 0.0
        self._seen = 0
        self._compile()

    def observe(self, value: float) -> None:
        if self._seen == 0:
            self._mean = value
            self._lags[:] = value
        elif self._deviation > _NEGLIGIBLE * self._mean:
            _learn(
                (self._lags - self._mean) / self._deviation,
                (value - self._mean) / self._deviation,
                self._forgetting,
                self._coefficients,
                self._covariance,
            )
        self._seen += 1
        share = max(self._mean_smoothing, 1.0 / self._seen)
        self._mean += share * (value - self._mean)
        self._deviation += share * (abs(value - self._mean) - self._deviation)
        self._push(value)

    def skip(self) -> None:
        if self._seen:
            expected = float(self.path(1)[0])
            self._push(min(max(expected, 0.0), float(self._lags.max())))

    def restart(self, level: float) -> None:
        if self._mean > 0.0:
            self._deviation *= level / self._mean
        self._mean = level
        self._lags[:] = level
        self._seen = _WEIGHT_OF_LEVEL

    def path(self, steps: int) -> FloatArray:
        return _iterate(self._lags, self._mean, self._coefficients, steps)

    def _push(self, value: float) -> None:
        self._lags[1:] = self._lags[:-1]
        self._lags[0] = value

    def _compile(self) -> None:
        _learn(self._lags, 0.0, 1.0, self._coefficients.copy(), self._covariance.copy())
        self.path(1)


@compiled
def _learn(
    inputs: FloatArray,
    target: float,
    forgetting: float,
    coefficients: FloatArray,
    covariance: FloatArray,
) -> None:
    """One step of recursive least squares, in place.

    k = P x / (f + x'P x), w += k (y - w'x), P = (P - k x'P) / f.
    """
    order = len(inputs)
    projected = np.zeros(order)
    error = target
    normaliser = forgetting
    for i in range(order):
        for j in range(order):
            projected[i] += covariance[i, j] * inputs[j]
        error -= coefficients[i] * inputs[i]
        normaliser += inputs[i] * projected[i]
    error = min(max(error, -_ERROR_LIMIT), _ERROR_LIMIT)
    trace = 0.0
    for i in range(order):
        gain = projected[i] / normaliser
        coefficients[i] += gain * error
        for j in range(order):
            covariance[i, j] = (covariance[i, j] - gain * projected[j]) / forgetting
        trace += covariance[i, i]
    # Forgetting without news would blow the covariance up: hold it at the size of its prior.
    largest = order * _PRIOR_VARIANCE
    if trace > largest:
        covariance *= largest / trace


@compiled
def _iterate(lags: FloatArray, mean: float, coefficients: FloatArray, steps: int) -> FloatArray:
    """The autoregression applied to its own forecasts."""
    order = len(lags)
    deviations = np.empty(order + steps)
    for i in range(order):
        deviations[order - 1 - i] = lags[i] - mean
    for step in range(order, order + steps):
        deviations[step] = 0.0
        for i in range(order):
            deviations[step] += coefficients[i] * deviations[step - 1 - i]
    return deviations[order:] + mean
