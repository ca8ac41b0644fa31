"""How well each forecaster predicts a series of arrival rates, and what it costs.

Every model runs once through the series behind the same interval tracker; all figures are taken
on the same points, all horizons pooled.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from forecasting.contract import FloatArray
from forecasting.intervals import IntervalForecaster
from forecasting.mixture import Mixture
from forecasting.registry import make_forecaster

WARM_UP_STEPS = 10
"""The first forecasts rest on next to nothing; no model is judged by them."""
COVERAGE_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """One model on one series."""

    model: str
    mase: float
    """Mean absolute error relative to that of holding the last value."""
    under_fraction: float
    """Share of forecasts below what then came."""
    coverage_95: float
    """Share of values at or below their 95 % upper quantile."""
    ms_per_step: float
    """Update, forecast and quantile, refits included."""


def evaluate_forecasters(
    rates: FloatArray,
    models: Sequence[str],
    horizon: int = 10,
    progress: Callable[[str], None] | None = None,
    step_s: float | None = None,
) -> list[ForecastRow]:
    """One row a model, in the given order. NaN in `rates` is a gap. With the length of a step,
    models that remember other days are told the time."""
    needed = WARM_UP_STEPS + horizon + 1
    if len(rates) < needed:
        raise ValueError(f"a horizon of {horizon} needs at least {needed} rates, got {len(rates)}")
    reference = _absolute_error(_held_last(rates, horizon), rates)
    if not reference > 0.0:
        raise ValueError("the rates never change: there is nothing to forecast")
    rows = []
    for model in models:
        if progress is not None:
            progress(model)
        means, quantiles, seconds = _run(model, rates, horizon, step_s)
        errors = _errors(means, rates)
        exceeded = _errors(quantiles, rates)
        rows.append(
            ForecastRow(
                model=model,
                mase=float(np.abs(errors).mean()) / reference,
                under_fraction=float((errors > 0.0).mean()),
                coverage_95=float((exceeded <= 0.0).mean()),
                ms_per_step=1e3 * seconds / len(rates),
            )
        )
    return rows


@dataclass(frozen=True, slots=True)
class ShareRow:
    """One of the forecasts in the mixture."""

    forecast: str
    mean_share: float
    """Of the forecast one step ahead."""
    leading: float
    """Share of the steps in which its share is the largest."""


def mixture_shares(rates: FloatArray, step_s: float | None = None) -> list[ShareRow]:
    """After the warm-up."""
    mixture = Mixture()
    if step_s is not None:
        mixture.set_clock(0.0, step_s)
    shares = []
    for value in rates.tolist():
        mixture.update(value)
        shares.append(mixture.shares())
    table = np.array(shares[WARM_UP_STEPS:])
    leading = np.bincount(table.argmax(axis=1), minlength=len(mixture.names)) / len(table)
    return [
        ShareRow(name, float(share), float(led))
        for name, share, led in zip(mixture.names, table.mean(axis=0), leading, strict=True)
    ]


def _run(
    model: str, rates: FloatArray, horizon: int, step_s: float | None
) -> tuple[FloatArray, FloatArray, float]:
    """Mean and quantile paths by origin (row) and horizon, and the seconds they took."""
    forecaster = IntervalForecaster(make_forecaster(model), horizon, (COVERAGE_LEVEL,))
    if step_s is not None:
        forecaster.set_clock(0.0, step_s)
    means = np.full((len(rates), horizon), np.nan)
    quantiles = np.full((len(rates), horizon), np.nan)
    start_s = time.perf_counter()
    for origin, value in enumerate(rates.tolist()):
        forecaster.update(value)
        path = forecaster.forecast(horizon)
        quantile = forecaster.quantile(horizon, COVERAGE_LEVEL)
        if path is not None and quantile is not None:
            means[origin] = path
            quantiles[origin] = quantile
    return means, quantiles, time.perf_counter() - start_s


def _held_last(rates: FloatArray, horizon: int) -> FloatArray:
    """The last value there was, at every horizon."""
    known = np.where(np.isfinite(rates), np.arange(len(rates)), -1)
    latest = np.maximum.accumulate(known)
    held = np.where(latest >= 0, rates[latest], np.nan)
    return np.repeat(held[:, None], horizon, axis=1)


def _errors(paths: FloatArray, rates: FloatArray) -> FloatArray:
    """Actual minus forecast, over all origins after the warm-up and all horizons."""
    horizons = paths.shape[1]
    errors = np.concatenate(
        [
            rates[WARM_UP_STEPS + ahead :] - paths[WARM_UP_STEPS : len(rates) - ahead, ahead - 1]
            for ahead in range(1, horizons + 1)
        ]
    )
    return np.asarray(errors[np.isfinite(errors)])


def _absolute_error(paths: FloatArray, rates: FloatArray) -> float:
    errors = _errors(paths, rates)
    return float(np.abs(errors).mean()) if len(errors) else 0.0
