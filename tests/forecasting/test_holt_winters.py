"""Holt-Winters: the recursion, the fit behind it and the search for a season."""

import numpy as np
import pytest
from statsmodels.tsa.holtwinters import ExponentialSmoothing

from forecasting.contract import FloatArray
from forecasting.holt_winters import HoltWinters
from forecasting.holt_winters_fit import (
    LEVEL_FLOOR,
    Smoothing,
    fit_smoothing,
    scale_free,
)
from forecasting.last import LastValue
from forecasting.season import find_season
from tests.forecasting.series import bursty


def seasonal(count: int, period: int, seed: int = 1, noise: float = 3.0) -> FloatArray:
    generator = np.random.default_rng(seed)
    phases = np.arange(count) % period
    shape = 40.0 * np.sin(2.0 * np.pi * phases / period) + 30.0 * (phases < period // 4)
    return 200.0 + shape + generator.normal(0.0, noise, count)


def ten_step_error(model: HoltWinters | LastValue, values: FloatArray, first: int) -> float:
    errors = []
    for index, value in enumerate(values[:-10]):
        model.observe(value)
        if index >= first:
            errors.append(np.abs(model.path(10) - values[index + 1 : index + 11]).mean())
    return float(np.mean(errors))


def test_the_recursion_is_that_of_statsmodels() -> None:
    values = bursty(59)
    model = HoltWinters(refit_steps=1000)
    for value in values:
        model.observe(value)
    start = Smoothing()
    reference = ExponentialSmoothing(
        values[1:],
        trend="add",
        damped_trend=True,
        initialization_method="known",
        initial_level=values[0],
        initial_trend=0.0,
    ).fit(
        smoothing_level=start.level_smoothing,
        smoothing_trend=start.trend_smoothing,
        damping_trend=start.damping,
        optimized=False,
    )
    np.testing.assert_allclose(model.path(10), reference.forecast(10), rtol=1e-9)


def test_the_fit_finds_the_smoothing_that_made_the_series() -> None:
    generator = np.random.default_rng(4)
    level, values = 1000.0, []
    for _ in range(300):
        noise = generator.normal(0.0, 20.0)
        values.append(level + noise)
        level += 0.3 * noise
    fitted = fit_smoothing(np.array(values), Smoothing(), None)
    assert fitted is not None
    assert fitted.level_smoothing == pytest.approx(0.3, abs=0.12)


def test_the_level_never_freezes() -> None:
    generator = np.random.default_rng(4)
    fitted = fit_smoothing(100.0 + generator.normal(0.0, 1.0, 300), Smoothing(), None)
    assert fitted is not None
    assert LEVEL_FLOOR <= fitted.level_smoothing < 0.2


def test_an_outlier_does_not_spoil_the_fit() -> None:
    values = bursty(300)
    struck = values.copy()
    struck[150] = 1e9
    clean, poisoned = scale_free(values), scale_free(struck)
    assert clean is not None
    assert poisoned is not None
    assert fit_smoothing(struck, Smoothing(), None) is not None
    assert poisoned.max() < 1e4


@pytest.mark.parametrize("values", [np.zeros(300), np.full(300, 7.0), np.arange(10.0)])
def test_windows_that_teach_nothing_are_left_alone(values: FloatArray) -> None:
    assert fit_smoothing(values, Smoothing(), None) is None


def test_an_undamped_trend_keeps_rising() -> None:
    values = 1000.0 + 5.0 * np.arange(200.0)
    model = HoltWinters(damped=False)
    for value in values:
        model.observe(value)
    np.testing.assert_allclose(model.path(60)[-1], values[-1] + 300.0, rtol=0.02)


def test_refits_adapt_where_the_first_guess_does_not() -> None:
    # Noise around a level: a good forecast averages, and only a fit can know.
    generator = np.random.default_rng(8)
    values = 100.0 + generator.normal(0.0, 10.0, 500)
    fitted = ten_step_error(HoltWinters(), values, 200)
    frozen = ten_step_error(HoltWinters(refit_steps=100_000), values, 200)
    assert fitted < 0.95 * frozen


@pytest.mark.parametrize("period", [7, 24, 48])
def test_a_season_is_found(period: int) -> None:
    assert find_season(seasonal(300, period)) == period


def test_no_season_is_found_where_there_is_none() -> None:
    generator = np.random.default_rng(6)
    noise = sum(find_season(generator.normal(size=300)) is not None for _ in range(50))
    walks = sum(find_season(np.cumsum(generator.normal(size=300))) is not None for _ in range(100))
    assert noise == 0
    assert walks <= 3


@pytest.mark.parametrize("values", [np.zeros(300), np.full(300, 3.0), np.arange(300.0)])
def test_a_flat_or_straight_window_has_no_season(values: FloatArray) -> None:
    assert find_season(values) is None


@pytest.mark.parametrize("given", [None, 24])
def test_a_short_season_is_used(given: int | None) -> None:
    values = seasonal(500, 24)
    held = ten_step_error(LastValue(), values, 300)
    assert ten_step_error(HoltWinters(given), values, 300) < 0.25 * held


def test_a_long_season_is_used_when_it_is_given() -> None:
    values = seasonal(1100, 250)
    held = ten_step_error(LastValue(), values, 700)
    assert ten_step_error(HoltWinters(250), values, 700) < 0.6 * held


def test_a_season_that_ends_is_dropped() -> None:
    generator = np.random.default_rng(9)
    values = np.concatenate((seasonal(400, 24), 200.0 + generator.normal(0.0, 3.0, 420)))
    model = HoltWinters()
    for value in values:
        model.observe(value)
    np.testing.assert_allclose(model.path(24), 200.0, atol=8.0)


def test_a_gap_keeps_the_season_in_step() -> None:
    values = seasonal(504, 24, noise=0.5)
    model = HoltWinters(24)
    for index, value in enumerate(values[:-24]):
        if index % 17 == 0 and index > 100:
            model.skip()
        else:
            model.observe(value)
    np.testing.assert_allclose(model.path(24), values[-24:], atol=8.0)
