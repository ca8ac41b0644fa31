"""Holt-Winters: an online recursion whose parameters are refitted now and then.

Refitting every 60 steps on the last 300 values is about as accurate as refitting at every step;
fitting once is not. A refit brings new parameters only: the recursion keeps its own state, which
has seen more than the window. The trend is damped by default; a season is used when one is given
or when the window shows one.
"""

from collections import deque
from itertools import islice

import numpy as np

from forecasting.contract import FloatArray
from forecasting.holt import damping_sums
from forecasting.holt_winters_fit import (
    Smoothing,
    fit_smoothing,
    load_statsmodels,
    season_shape,
)
from forecasting.season import find_season

_OPENING_VALUES = 5
_NO_SEASON = np.zeros(0)


class HoltWinters:
    def __init__(
        self,
        season_steps: int | None = None,
        *,
        damped: bool = True,
        refit_steps: int = 60,
        window_steps: int = 300,
    ) -> None:
        """`season_steps` is the length of a known season; without one, it is looked for."""
        if season_steps is not None and season_steps < 2:
            raise ValueError(f"season_steps must be at least 2, got {season_steps}")
        if refit_steps < 1 or window_steps < 1:
            raise ValueError(
                f"refit_steps and window_steps must be at least 1, got "
                f"{refit_steps} and {window_steps}"
            )
        load_statsmodels()
        self._given_season = season_steps
        self._damped = damped
        self._refit_steps = refit_steps
        self._window_steps = window_steps
        # Two cycles show the shape of a season; parameters are fitted to the newest part.
        self._values: deque[float] = deque(maxlen=max(window_steps, 2 * (season_steps or 0)))
        # The first fit need not wait for a full interval.
        self._since_fit = refit_steps // 2
        self._smoothing = Smoothing(damping=0.9 if damped else 1.0)
        self._damping_sums = damping_sums(self._smoothing.damping, 1)
        self._level: float | None = None
        self._trend = 0.0
        self._season = _NO_SEASON
        self._phase = 0
        """Index of the next value within the season."""

    def observe(self, value: float) -> None:
        self._values.append(value)
        if self._level is None:
            self._level = value
        else:
            self._follow(value, self._level)
        self._since_fit += 1
        if self._since_fit >= self._refit_steps:
            self._since_fit = 0
            self._refit()

    def skip(self) -> None:
        if self._level is None:
            return
        self._trend *= self._smoothing.damping
        self._level = max(0.0, self._level + self._trend)
        seasonal = float(self._season[self._phase]) if len(self._season) else 0.0
        # A hole in the window would shift the season; its own forecast is the neutral filling.
        self._values.append(max(0.0, self._level + seasonal))
        self._advance()

    def restart(self, level: float) -> None:
        self._level = level
        self._trend = 0.0
        # The shape of a season at one level says little about another.
        self._season = _NO_SEASON
        self._values.clear()
        self._since_fit = self._refit_steps // 2

    def path(self, steps: int) -> FloatArray:
        if len(self._damping_sums) < steps:
            self._damping_sums = damping_sums(self._smoothing.damping, steps)
        level = 0.0 if self._level is None else self._level
        path = level + self._trend * self._damping_sums[:steps]
        if len(self._season):
            path += self._season[(self._phase + np.arange(steps)) % len(self._season)]
        return path

    def _follow(self, value: float, level: float) -> None:
        # The recursion of statsmodels: the season moves against the level of the step before.
        smoothing = self._smoothing
        damped = smoothing.damping * self._trend
        expected = level + damped
        seasonal = float(self._season[self._phase]) if len(self._season) else 0.0
        error = value - expected - seasonal
        self._level = expected + smoothing.level_smoothing * error
        self._trend = damped + smoothing.trend_smoothing * (self._level - level - damped)
        if len(self._season):
            self._season[self._phase] += smoothing.season_smoothing * error
        self._advance()

    def _advance(self) -> None:
        if len(self._season):
            self._phase = (self._phase + 1) % len(self._season)

    def _refit(self) -> None:
        newest = islice(reversed(self._values), self._window_steps)
        window = np.array(list(newest)[::-1])
        shape, phase = self._wanted_season(window)
        season = len(shape) or None
        rest = window
        if season is not None:
            rest = window - shape[(phase + np.arange(-len(window), 0)) % season]
        if season is not None and season > len(window) // 3:
            # So long a season takes too long to fit: fit the rest, lifted above zero.
            lifted = rest - min(0.0, float(rest.min()))
            fitted = fit_smoothing(lifted, self._smoothing, None, damped=self._damped)
        else:
            fitted = fit_smoothing(window, self._smoothing, season, damped=self._damped)
        if fitted is None:
            return
        self._smoothing = fitted
        self._damping_sums = damping_sums(fitted.damping, len(self._damping_sums))
        if len(shape) != len(self._season):
            # The state of another season cannot be kept: run the recursion over the window.
            self._season = shape
            self._phase = (phase - len(window)) % season if season is not None else 0
            self._trend = 0.0
            self._level = float(rest[:_OPENING_VALUES].mean())
            for value in window.tolist():
                self._follow(value, self._level)

    def _wanted_season(self, window: FloatArray) -> tuple[FloatArray, int]:
        """The shape of the season to use from now on, and the phase of the next value."""
        current = len(self._season) or None
        season = self._given_season
        if season is None:
            season = find_season(window, current)
        elif len(self._values) < 2 * season:
            season = None
        if season is None:
            return _NO_SEASON, 0
        if season == current:
            return self._season, self._phase
        return season_shape(np.array(self._values), season), len(self._values) % season
