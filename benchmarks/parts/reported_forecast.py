"""How often rates stay within what was foreseen, where they are reported by the batch.

A batch begins every `every` steps, counts what came in the steps before it, takes 0.7 of its period
and reports when it ends. What is foreseen is held against the mean of as many steps around each
step: that is what a batch can tell, and what the next one has to work on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from forecasting.contract import FloatArray
from forecasting.intervals import IntervalForecaster
from forecasting.late import LateForecaster
from forecasting.registry import make_forecaster

WARM_UP_STEPS = 400
LONGEST_GAP = 30
SCENARIOS = 100
AHEAD = (1, 8)
_BUSY_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class CoverageRow:
    model: str
    reported_every: int
    steps_ahead: int
    coverage_95: float
    """Share of the rates at or below the 95 % quantile of the scenarios."""
    above_all: float
    """Share of the rates above every scenario."""


def coverage_rows(
    rates: FloatArray,
    models: Sequence[str],
    every: int,
    progress: Callable[[str], None] | None = None,
) -> list[CoverageRow]:
    needed = WARM_UP_STEPS + 2 * every + max(AHEAD)
    if len(rates) < needed:
        raise ValueError(f"batches of {every} steps need at least {needed} rates, got {len(rates)}")
    rows = []
    for model in models:
        if progress is not None:
            progress(model)
        rows += _of_model(rates, model, every)
    return rows


def _of_model(rates: FloatArray, model: str, every: int) -> list[CoverageRow]:
    horizon = max(AHEAD)
    inner = IntervalForecaster(make_forecaster(model), horizon + LONGEST_GAP)
    forecaster = LateForecaster(inner, LONGEST_GAP)
    came = around(rates, every)
    quantiles = np.full((len(rates), len(AHEAD)), np.nan)
    highest = np.full((len(rates), len(AHEAD)), np.nan)
    columns = np.array(AHEAD) - 1
    for step in range(len(rates)):
        forecaster.update(*reported(rates, step, every))
        paths = forecaster.scenarios(horizon, SCENARIOS) if step >= WARM_UP_STEPS else None
        if paths is not None:
            quantiles[step] = np.quantile(paths[:, columns], 0.95, axis=0)
            highest[step] = paths[:, columns].max(axis=0)
    return [
        CoverageRow(
            model,
            every,
            ahead,
            _share(came[ahead:] <= quantiles[:-ahead, column], came[ahead:]),
            1.0 - _share(came[ahead:] <= highest[:-ahead, column], came[ahead:]),
        )
        for column, ahead in enumerate(AHEAD)
    ]


def reported(rates: FloatArray, step: int, every: int) -> tuple[float | None, float]:
    """What is known when `step` has passed: a mean, and how many steps before it belongs."""
    if every == 1:
        return float(rates[step]), 0.0
    took = round(_BUSY_SHARE * every)
    begun = step - took
    if begun < every or begun % every:
        return None, 0.0
    return float(rates[begun - every : begun].mean()), took + (every + 1) / 2


def around(rates: FloatArray, every: int) -> FloatArray:
    """Means over `every` steps, each around its own; NaN at the ends."""
    weights = np.ones(every) if every % 2 else np.array([0.5, *[1.0] * (every - 1), 0.5])
    means = np.convolve(rates, weights / every, "same")
    edge = len(weights) // 2
    means[:edge] = np.nan
    means[len(means) - edge :] = np.nan
    return np.asarray(means)


def _share(within: np.ndarray, came: FloatArray) -> float:
    judged = np.isfinite(came)
    judged[:WARM_UP_STEPS] = False
    return float(within[judged].mean())
