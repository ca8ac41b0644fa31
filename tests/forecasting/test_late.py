"""A wave is foreseen through means over several steps that are told late."""

import numpy as np
import pytest

from forecasting.contract import FloatArray
from forecasting.intervals import IntervalForecaster
from forecasting.late import LateForecaster
from forecasting.registry import make_forecaster

HORIZON, LONGEST_GAP = 5, 20
SPAN, DELAY = 8, 4
"""Means over so many steps, told so many after their end."""


def late(model: str = "mixture") -> LateForecaster:
    return LateForecaster(
        IntervalForecaster(make_forecaster(model), HORIZON + LONGEST_GAP), LONGEST_GAP
    )


def assert_same(one: FloatArray | None, other: FloatArray | None) -> None:
    assert one is not None
    assert other is not None
    assert np.array_equal(one, other)


def error(wave: FloatArray, forecaster: LateForecaster, age_steps: int) -> float:
    """Mean over the second half of the wave, relative to its mean."""
    errors = []
    for step in range(len(wave) - HORIZON):
        end = step - DELAY
        told = end % SPAN == 0 and end >= SPAN
        forecaster.update(float(wave[end - SPAN : end].mean()) if told else None, age_steps)
        path = forecaster.forecast(HORIZON)
        if step > len(wave) / 2 and path is not None:
            errors.append(np.abs(path - wave[step + 1 : step + 1 + HORIZON]).mean())
    return float(np.mean(errors) / wave.mean())


def test_told_in_time_it_is_the_forecaster_inside() -> None:
    plain = IntervalForecaster(make_forecaster("mixture"), HORIZON)
    wrapped = LateForecaster(IntervalForecaster(make_forecaster("mixture"), HORIZON))
    for value in [*(10.0 + np.sin(np.arange(60.0))).tolist(), None, None, 9.0, 11.0]:
        plain.update(value)
        wrapped.update(value)
        for steps in (1, HORIZON):
            assert_same(wrapped.forecast(steps), plain.forecast(steps))
            assert_same(wrapped.scenarios(steps, 20), plain.scenarios(steps, 20))


def test_a_wave_is_foreseen_better_than_by_taking_each_mean_for_the_present_rate() -> None:
    wave = 38.0 - 32.0 * np.cos(2 * np.pi * np.arange(400) / 90)
    naive = LateForecaster(IntervalForecaster(make_forecaster("mixture"), HORIZON))
    assert error(wave, late(), DELAY + SPAN // 2) < 0.4 * error(wave, naive, 0)


def test_scenarios_lie_around_the_forecast() -> None:
    forecaster = late()
    error(38.0 - 32.0 * np.cos(2 * np.pi * np.arange(200) / 90), forecaster, DELAY + SPAN // 2)
    paths, mean = forecaster.scenarios(HORIZON, 50), forecaster.forecast(HORIZON)
    assert paths is not None
    assert mean is not None
    assert paths.shape == (50, HORIZON)
    assert (paths.min(axis=0) <= mean).all()
    assert (paths.max(axis=0) >= mean).all()


def test_scenarios_can_begin_before_now() -> None:
    forecaster = late("last")
    assert forecaster.scenarios(2, 3, before=4) is None
    for value in (1.0, 2.0, 3.0):
        forecaster.update(value)
    forecaster.update(None)
    now = forecaster.scenarios(2, 3)
    paths = forecaster.scenarios(2, 3, before=1)  # the step that was not told
    assert now is not None
    assert paths is not None
    assert paths.shape == (3, 3)
    assert np.array_equal(paths[:, 1:], now)
    longer = forecaster.scenarios(2, 3, before=3)
    assert longer is not None
    assert np.array_equal(longer[:, :2], [[2.0, 3.0]] * 3)
    assert np.array_equal(longer[:, 2:], paths)
    every = forecaster.scenarios(2, 3, before=9)  # no more than there are
    assert every is not None
    assert every.shape == (3, 6)


def test_a_gap_that_is_too_long_is_a_gap() -> None:
    forecaster = late("last")
    forecaster.update(10.0)
    for _ in range(3 * LONGEST_GAP):
        forecaster.update(None)
        assert forecaster.forecast(HORIZON) == pytest.approx(np.full(HORIZON, 10.0))
    forecaster.update(12.0, age_steps=2)
    assert forecaster.forecast(1) == pytest.approx([12.0])


def test_a_value_for_a_step_that_was_told_already_counts_for_the_next_one() -> None:
    forecaster = late("last")
    forecaster.update(10.0)
    forecaster.update(12.0, age_steps=5)
    assert forecaster.forecast(1) == pytest.approx([12.0])


def test_a_negative_gap_is_refused() -> None:
    with pytest.raises(ValueError, match="longest_gap"):
        LateForecaster(IntervalForecaster(make_forecaster("last"), 5), -1)
