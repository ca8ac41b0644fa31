"""A made series and small helpers for the forecasting tests."""

from collections.abc import Sequence

import numpy as np

from forecasting.contract import FloatArray, Forecaster


def bursty(count: int, seed: int = 7) -> FloatArray:
    """Clustered counts: a Poisson stream whose rate itself wanders and jumps."""
    generator = np.random.default_rng(seed)
    rate = 20.0 * np.exp(0.7 * generator.standard_normal(count))
    return generator.poisson(rate).astype(np.float64)


def feed(forecaster: Forecaster, values: Sequence[float | None] | FloatArray) -> None:
    for value in values:
        forecaster.update(value)


def path_after(
    forecaster: Forecaster, values: Sequence[float | None] | FloatArray, steps: int = 10
) -> FloatArray:
    feed(forecaster, values)
    path = forecaster.forecast(steps)
    assert path is not None
    return path
