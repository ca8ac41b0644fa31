"""Other days are remembered: a jump at the same hour is foreseen, noise is not taken for one."""

import numpy as np
import pytest

from forecasting.contract import FloatArray
from forecasting.intervals import IntervalForecaster
from forecasting.late import LateForecaster
from forecasting.memory import RateMemory, remembered
from forecasting.mixture import Mixture
from forecasting.profile import DAY_S, Profile

MONDAY_S = 4 * DAY_S
OPEN, CLOSE = 870, 1260
"""Minutes of the day at which a market opens and closes."""


def market(days: int, seed: int = 1) -> FloatArray:
    minute = np.arange(days * 1440) % 1440
    level = np.where((minute >= OPEN) & (minute < CLOSE), 3000.0, 100.0)
    return np.asarray(level * np.exp(0.1 * np.random.default_rng(seed).normal(size=len(level))))


def errors(rates: FloatArray, step_s: float | None, ahead: int = 10) -> FloatArray:
    """Absolute, of forecasts so many steps ahead."""
    mixture = Mixture()
    if step_s is not None:
        mixture.set_clock(MONDAY_S, step_s)
    paths = []
    for rate in rates.tolist():
        mixture.update(rate)
        path = mixture.forecast(ahead)
        assert path is not None
        paths.append(path[-1])
    return np.abs(np.array(paths[:-ahead]) - rates[ahead:])


def test_an_open_is_foreseen_ten_steps_before_after_one_day() -> None:
    rates = market(3)
    forecaster = LateForecaster(IntervalForecaster(Mixture(), 10))
    for step, rate in enumerate(rates[: 2 * 1440 + OPEN].tolist()):
        forecaster.update(rate, 0.0, MONDAY_S + 60.0 * (step + 1), 60.0)
        if step == 1440 + OPEN - 8:
            first = forecaster.forecast(10)
        if step == 2 * 1440 + OPEN - 8:
            second = forecaster.forecast(10)
    assert first is not None
    assert second is not None
    assert first[:6].max() < 300.0
    assert first[-1] > 600.0  # one day is a hint
    assert second[:6].max() < 300.0
    assert second[-1] > 2000.0  # two are a habit
    carrier = forecaster.carrier()
    assert carrier is not None
    assert carrier[0] == "memory of the day"


def test_a_foreseen_jump_is_no_glitch() -> None:
    rates = market(3)
    mixture = Mixture()
    mixture.set_clock(MONDAY_S, 60.0)
    for rate in rates[: 2 * 1440 + OPEN + 1].tolist():
        mixture.update(rate)
    path = mixture.forecast(5)
    assert path is not None
    assert path.min() > 2000.0  # at the first step of the new level, not after its confirmation


def test_a_series_with_a_day_is_forecast_better() -> None:
    rates = market(5)
    assert errors(rates, 60.0).mean() < 0.9 * errors(rates, None).mean()


@pytest.mark.parametrize("kind", ["walk", "noise"])
def test_a_series_without_one_is_not_forecast_worse(kind: str) -> None:
    random = np.random.default_rng(3)
    steps = random.normal(size=4000)
    rates = 5000.0 * np.exp(0.02 * np.cumsum(steps) if kind == "walk" else 0.2 * steps)
    for ahead in (1, 10):
        with_memory, without = errors(rates, 600.0, ahead), errors(rates, None, ahead)
        assert with_memory.mean() < 1.01 * without.mean()


def test_without_a_clock_nothing_is_remembered() -> None:
    mixture = Mixture()
    for rate in market(2).tolist():
        mixture.update(rate)
    assert not any(profile.visits.any() for profile in mixture.memory.profiles)


def test_a_memory_of_earlier_days_serves_from_the_first_step() -> None:
    rates = market(2)
    mixture = Mixture()
    mixture.memory = remembered(rates[:1440].tolist(), MONDAY_S, 60.0)
    mixture.set_clock(MONDAY_S + DAY_S + 60.0 * (OPEN - 30), 60.0)
    for rate in rates[1440 + OPEN - 30 : 1440 + OPEN - 2].tolist():
        mixture.update(rate)
    path = mixture.forecast(10)
    assert path is not None
    assert path[-1] > 600.0


def test_what_is_given_again_counts_once() -> None:
    profile = Profile(DAY_S, 60.0, 0.2)
    for _ in range(2):
        for minute in range(3):
            profile.learn(60.0 * minute, 60.0 * (minute + 1), 10.0 + minute)
    assert profile.visits[[0, 1]].tolist() == [0, 0] or profile.visits.max() == 1


def test_steps_may_be_longer_than_bins() -> None:
    memory = remembered([5.0, 7.0, 9.0], MONDAY_S, 1800.0, RateMemory())
    day = memory.profiles[0]
    path = day.path(MONDAY_S, 1800.0, 3)
    assert path[:2].tolist() == [5.0, 7.0]
    assert np.isnan(day.path(MONDAY_S + 7200.0, 1800.0, 1)).all()
