"""Fitting Holt-Winters parameters to a window with statsmodels, within a bounded time.

The starting states are given, not estimated, and the search is short: the online recursion keeps
its own state and only wants the smoothing factors. That turns 20 ms and more into a few.
"""

import importlib
import math
import warnings
from dataclasses import astuple, dataclass
from functools import cache
from typing import Any

import numpy as np

from forecasting.contract import FloatArray
from forecasting.season import detrended

MINIMUM_WINDOW = 30
LEVEL_FLOOR = 0.05
"""A fit on a flat window answers "never move again"; the next level shift would be missed."""
SEASON_FLOOR = 0.02
"""Likewise: the shape of a season changes, if slowly."""
_MAXIMUM_ITERATIONS = 6
_TOLERANCE = 0.01
"""Of the sum of squares, which is in the hundreds: what is finer costs time and gains nothing."""
_OUTLIER_DEVIATIONS = 5.0
_DECIMALS = 6
_MARGIN = 0.01
_DAMPING = (0.805, 0.99)
"""Starts strictly inside the bounds of statsmodels, which refuses one on them."""


@dataclass(frozen=True, slots=True)
class Smoothing:
    """The parameters of additive Holt-Winters with a damped trend."""

    level_smoothing: float = 0.5
    trend_smoothing: float = 0.05
    season_smoothing: float = 0.1
    damping: float = 0.9


@cache
def load_statsmodels() -> Any:
    """Import and try it once: both are slow at first, so neither may happen in a control step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smoothing_class = importlib.import_module(
            "statsmodels.tsa.holtwinters"
        ).ExponentialSmoothing
    trial = 10.0 + np.sin(np.arange(MINIMUM_WINDOW, dtype=np.float64))
    _search(smoothing_class, trial, Smoothing(), None, damped=True)
    return smoothing_class


def fit_smoothing(
    window: FloatArray, start: Smoothing, season: int | None, *, damped: bool = True
) -> Smoothing | None:
    """The parameters that predict the window best one step ahead; None if it teaches nothing."""
    if len(window) < MINIMUM_WINDOW:
        return None
    scaled = scale_free(window)
    if scaled is None:
        return None
    return _search(load_statsmodels(), scaled, start, season, damped=damped)


def scale_free(window: FloatArray) -> FloatArray | None:
    """The window without its unit and its outliers; None if it is flat.

    The result of a search depends on scale through its tolerances. Dividing by the mean removes
    the unit, dividing by the size of a typical step makes a smooth series as hard to please as a
    rough one, and rounding makes the same window in another unit exactly the same input.
    """
    mean = float(window.mean())
    if not mean > 0.0:
        return None
    relative = window / mean
    middle = float(np.median(relative))
    spread = _OUTLIER_DEVIATIONS * float(np.mean(np.abs(relative - middle)))
    clipped = np.clip(relative, middle - spread, middle + spread)
    typical_step = float(np.mean(np.abs(np.diff(clipped))))
    if typical_step < 1e-6:
        return None
    return np.round(clipped / typical_step, _DECIMALS)


def season_shape(window: FloatArray, season: int) -> FloatArray:
    """Mean deviation from the line through the window, for each phase of the season."""
    deviations = detrended(window)
    cycles = len(window) // season
    return np.asarray(deviations[: cycles * season].reshape(cycles, season).mean(axis=0))


def _search(
    smoothing_class: Any, scaled: FloatArray, start: Smoothing, season: int | None, *, damped: bool
) -> Smoothing | None:
    level = min(max(start.level_smoothing, 2.0 * LEVEL_FLOOR), 1.0 - _MARGIN)
    parameters = [level, min(max(start.trend_smoothing, _MARGIN), 0.9 * level)]
    if season is not None:
        parameters.append(min(max(start.season_smoothing, _MARGIN), 0.9 * (1.0 - level)))
    if damped:
        parameters.append(min(max(start.damping, _DAMPING[0]), _DAMPING[1]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A search that stops at its iteration limit warns; stopping there is what is wanted.
        warnings.simplefilter("ignore")
        try:
            found = smoothing_class(
                scaled,
                trend="add",
                damped_trend=damped,
                seasonal=None if season is None else "add",
                seasonal_periods=season,
                initialization_method="known",
                initial_level=float(scaled[: season or MINIMUM_WINDOW // 6].mean()),
                initial_trend=0.0,
                initial_seasonal=None if season is None else season_shape(scaled, season),
            ).fit(
                start_params=np.array(parameters),
                method="SLSQP",
                use_brute=False,
                minimize_kwargs={"options": {"maxiter": _MAXIMUM_ITERATIONS, "ftol": _TOLERANCE}},
            )
        except (ValueError, np.linalg.LinAlgError):
            return None
    fitted = Smoothing(
        level_smoothing=_within(found.params["smoothing_level"], LEVEL_FLOOR),
        trend_smoothing=_within(found.params["smoothing_trend"]),
        season_smoothing=start.season_smoothing
        if season is None
        else _within(found.params["smoothing_seasonal"], SEASON_FLOOR),
        damping=_within(found.params["damping_trend"]) if damped else 1.0,
    )
    return fitted if all(map(math.isfinite, astuple(fitted))) else None


def _within(value: float, lowest: float = 0.0) -> float:
    # The search may end a hair outside its bounds. NaN stays NaN: both comparisons are false.
    value = float(value)
    return lowest if value < lowest else 1.0 if value > 1.0 else value
