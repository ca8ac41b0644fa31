"""One suite over every forecaster: what must hold whatever is measured."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.autoregression import Autoregression
from forecasting.catalogue import forecaster_names
from forecasting.contract import Forecaster
from forecasting.guarded import GuardedForecaster
from forecasting.intake import RECENT_VALUES
from forecasting.registry import make_forecaster
from tests.forecasting.series import bursty, feed, path_after

EVERY = pytest.mark.parametrize("name", [*forecaster_names(), "autoregression", "holt-random-walk"])

rates = st.floats(min_value=0.0, max_value=1e12, allow_nan=False)
measured = st.one_of(
    rates,
    st.integers(min_value=0, max_value=50).map(float),
    st.none(),
    st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 1e9, 0.0, 5e-324]),
)


def make(name: str) -> Forecaster:
    if name == "autoregression":
        return GuardedForecaster(Autoregression())
    if name == "holt-random-walk":
        # The undamped parameters of the MPC paper's code.
        return make_forecaster("holt", level_smoothing=1.0, trend_smoothing=0.015, damping=1.0)
    return make_forecaster(name)


def is_observation(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value >= 0.0


@EVERY
@settings(max_examples=40, deadline=None)
@given(values=st.lists(measured, max_size=90), steps=st.integers(min_value=1, max_value=60))
def test_always_usable_numbers(name: str, values: list[float | None], steps: int) -> None:
    forecaster = make(name)
    observed: list[float] = []
    for value in values:
        forecaster.update(value)
        if value is not None and is_observation(value):
            observed.append(value)
        path = forecaster.forecast(steps)
        if not observed:
            assert path is None
            continue
        assert path is not None
        assert path.shape == (steps,)
        assert np.isfinite(path).all()
        assert path.min() >= 0.0
        # The recent past also holds the values before a burst that ended.
        assert path.max() <= 3.0 * max(observed[-2 * RECENT_VALUES :]) * (1.0 + 1e-9)


@EVERY
@settings(max_examples=15, deadline=None)
@given(
    scale=st.floats(min_value=1e-3, max_value=1e6),
    seed=st.integers(min_value=0, max_value=1000),
)
def test_forecasts_do_not_depend_on_the_unit(name: str, scale: float, seed: int) -> None:
    values = bursty(80, seed)
    values[50] *= 100.0
    values[60:] *= 30.0
    plain = path_after(make(name), values)
    scaled = path_after(make(name), values * scale)
    np.testing.assert_allclose(scaled / scale, plain, rtol=1e-6, atol=1e-9 * values.max())


@EVERY
@pytest.mark.parametrize("value", [0.0, 1e-3, 42.0, 1e9])
def test_constants_are_continued(name: str, value: float) -> None:
    path = path_after(make(name), [value] * 130, steps=60)
    np.testing.assert_allclose(path, value, rtol=1e-9)


@EVERY
def test_one_value_is_continued(name: str) -> None:
    np.testing.assert_allclose(path_after(make(name), [None, 7.0], steps=60), 7.0)


@EVERY
def test_gaps_are_not_zeros(name: str) -> None:
    generator = np.random.default_rng(3)
    values: list[float | None] = (100.0 + generator.normal(0.0, 3.0, 200)).tolist()
    for index in range(20, 200, 3):
        values[index] = (None, math.nan, math.inf, -5.0)[index % 4]
    path = path_after(make(name), [*values, *([None] * 30)])
    assert 90.0 < path.min() <= path.max() < 110.0


@EVERY
def test_a_single_glitch_is_cut_back_and_forgotten(name: str) -> None:
    generator = np.random.default_rng(5)
    values = 100.0 + generator.normal(0.0, 5.0, 120)
    forecaster = make(name)
    struck = path_after(forecaster, [*values, 1e9])
    assert struck.max() <= 9.5 * values.max()
    after = path_after(forecaster, 100.0 + generator.normal(0.0, 5.0, 20))
    assert 70.0 < after.min() <= after.max() < 150.0


@EVERY
@pytest.mark.parametrize("factor", [30.0, 1 / 30.0, 1000.0])
def test_a_new_level_is_followed_at_once(name: str, factor: float) -> None:
    generator = np.random.default_rng(11)
    before = 200.0 + generator.normal(0.0, 20.0, 150)
    after = factor * (200.0 + generator.normal(0.0, 20.0, 3))
    path = path_after(make(name), [*before, *after], steps=3)
    assert np.all(np.abs(path / (200.0 * factor) - 1.0) < 0.35)


@EVERY
def test_a_burst_that_ends_is_left_at_once(name: str) -> None:
    generator = np.random.default_rng(13)
    calm = 10.0 + generator.normal(0.0, 1.0, 100)
    burst = 500.0 + generator.normal(0.0, 20.0, 6)
    path = path_after(make(name), [*calm, *burst, 10.0, 11.0, 9.0], steps=5)
    assert path.max() < 25.0


@EVERY
def test_the_first_traffic_after_silence_counts(name: str) -> None:
    path = path_after(make(name), [0.0] * 100 + [50.0] * 30)
    assert 30.0 < path.min() <= path.max() < 75.0


@EVERY
def test_asking_changes_nothing(name: str) -> None:
    values = bursty(150)
    asked, quiet = make(name), make(name)
    for value in values:
        asked.update(value)
        asked.forecast(60)
        asked.forecast(1)
    feed(quiet, values)
    first, second = asked.forecast(20), quiet.forecast(20)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first, second)


@EVERY
def test_the_answer_belongs_to_the_caller(name: str) -> None:
    forecaster = make(name)
    before = path_after(forecaster, bursty(30)).copy()
    answer = forecaster.forecast(10)
    assert answer is not None
    answer[:] = -1.0
    np.testing.assert_array_equal(path_after(forecaster, []), before)


@EVERY
def test_a_short_path_begins_a_long_one(name: str) -> None:
    forecaster = make(name)
    feed(forecaster, bursty(130))
    long = path_after(forecaster, [], steps=60)
    for steps in (1, 5, 10, 11, 30):
        np.testing.assert_allclose(path_after(forecaster, [], steps=steps), long[:steps])


@EVERY
def test_steps_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match="steps must be at least 1"):
        make(name).forecast(0)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'prophet'.*last, mean-3, ses, holt, holt-winters, mix"):
        make_forecaster("prophet")
