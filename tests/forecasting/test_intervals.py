"""Quantiles that keep their promise, and scenarios that look like the past."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.contract import FloatArray
from forecasting.intervals import DEFAULT_LEVELS, IntervalForecaster
from forecasting.registry import make_forecaster
from tests.forecasting.series import bursty, feed

measured = st.one_of(
    st.floats(min_value=0.0, max_value=1e12), st.none(), st.sampled_from([float("nan"), 1e9, -1.0])
)


def tracked(values: FloatArray | list[float | None], model: str = "ses") -> IntervalForecaster:
    forecaster = IntervalForecaster(make_forecaster(model), 10)
    feed(forecaster, values)
    return forecaster


def covered(values: FloatArray, level: float, steps: int) -> float:
    forecaster = IntervalForecaster(make_forecaster("ses"), steps)
    hits = []
    for index, value in enumerate(values[:-steps]):
        forecaster.update(value)
        quantile = forecaster.quantile(steps, level)
        assert quantile is not None
        if index >= 20:
            hits.append(values[index + 1 : index + 1 + steps] <= quantile)
    return float(np.mean(hits))


@pytest.mark.parametrize("level", DEFAULT_LEVELS)
@pytest.mark.parametrize("steps", [1, 10])
def test_quantiles_keep_their_promise(level: float, steps: int) -> None:
    assert covered(bursty(3000), level, steps) == pytest.approx(level, abs=0.015)


def test_they_keep_it_when_the_noise_changes() -> None:
    generator = np.random.default_rng(17)
    calm, wild = generator.normal(0.0, 5.0, 1500), generator.standard_t(3, 1500) * 40.0
    values = np.maximum(1000.0 + np.concatenate((calm, wild, calm)), 0.0)
    assert covered(values, 0.95, 5) == pytest.approx(0.95, abs=0.012)


@settings(max_examples=40, deadline=None)
@given(values=st.lists(measured, max_size=60), steps=st.integers(1, 10), count=st.integers(1, 50))
def test_always_usable(values: list[float | None], steps: int, count: int) -> None:
    forecaster = tracked(values, "mean-3")
    mean = forecaster.forecast(steps)
    paths = forecaster.scenarios(steps, count)
    quantiles = [forecaster.quantile(steps, level) for level in DEFAULT_LEVELS]
    if mean is None:
        assert paths is None
        assert quantiles == [None] * len(DEFAULT_LEVELS)
        return
    assert paths is not None
    assert paths.shape == (count, steps)
    stacked = np.array(quantiles, dtype=np.float64)
    for answer in (mean, paths, stacked):
        assert np.isfinite(answer).all()
        assert answer.min() >= 0.0
    assert np.all(np.diff(stacked, axis=0) >= 0.0)


@pytest.mark.parametrize("model", ["last", "holt", "mixture"])
def test_a_few_varied_values_give_some_width(model: str) -> None:
    forecaster = tracked([100.0, 120.0, 90.0, 110.0], model)
    mean = forecaster.forecast(10)
    high = forecaster.quantile(10, 0.95)
    paths = forecaster.scenarios(10, 20)
    assert mean is not None
    assert high is not None
    assert paths is not None
    assert np.all(high > mean + 5.0)
    assert np.all(high < mean + 500.0)
    assert np.all(paths.max(axis=0) > mean + 5.0)
    assert np.all(paths.min(axis=0) < mean - 5.0)


def test_a_glitch_does_not_widen_what_follows() -> None:
    generator = np.random.default_rng(19)
    values = 100.0 + generator.normal(0.0, 5.0, 200)
    struck = np.concatenate((values, [1e9], values[:30]))
    high = tracked(struck).quantile(10, 0.99)
    paths = tracked(struck).scenarios(10, 50)
    assert high is not None
    assert paths is not None
    assert high.max() < 300.0
    assert paths.max() < 300.0


def test_width_follows_a_new_level() -> None:
    generator = np.random.default_rng(23)
    before = 10.0 * (1.0 + 0.1 * generator.normal(size=200))
    after = 300.0 * (1.0 + 0.1 * generator.normal(size=4))
    forecaster = tracked(np.concatenate((before, after)))
    mean, high = forecaster.forecast(1), forecaster.quantile(1, 0.95)
    assert mean is not None
    assert high is not None
    assert 20.0 < high[0] - mean[0] < 200.0


def test_scenarios_spread_like_the_errors() -> None:
    generator = np.random.default_rng(29)
    values = 1000.0 + generator.normal(0.0, 50.0, 600)
    paths = tracked(values).scenarios(5, 40)
    assert paths is not None
    spread = paths.std(axis=0)
    assert np.all(spread > 40.0)
    assert np.all(spread < 75.0)
    np.testing.assert_allclose(paths.mean(axis=0), 1000.0, atol=40.0)


def test_scenarios_are_the_same_every_time() -> None:
    values = bursty(300)
    first, second = tracked(values).scenarios(8, 30), tracked(values).scenarios(8, 30)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first, second)


def test_errors_that_persist_make_scenarios_that_persist() -> None:
    # On a random walk the error of a path grows; independent errors would stay where they are.
    generator = np.random.default_rng(31)
    values = 10_000.0 + np.cumsum(generator.normal(0.0, 10.0, 600))
    paths = tracked(values, "last").scenarios(10, 100)
    assert paths is not None
    deviations = paths - paths.mean(axis=0)
    assert deviations[:, 9].std() > 2.0 * deviations[:, 0].std()
    assert np.corrcoef(deviations[:, 8], deviations[:, 9])[0, 1] > 0.8


def test_long_paths_come_from_the_forecaster() -> None:
    forecaster = tracked(bursty(50))
    path = forecaster.forecast(40)
    assert path is not None
    assert path.shape == (40,)


def test_what_is_not_tracked_is_refused() -> None:
    forecaster = tracked(bursty(20))
    with pytest.raises(ValueError, match=r"level 0.7 is not tracked.*0.95"):
        forecaster.quantile(5, 0.7)
    with pytest.raises(ValueError, match="at most max_steps = 10, got 11"):
        forecaster.quantile(11, 0.95)
    with pytest.raises(ValueError, match="count must be at least 1"):
        forecaster.scenarios(5, 0)
    with pytest.raises(ValueError, match="levels must lie between 0 and 1"):
        IntervalForecaster(make_forecaster("last"), 5, levels=(0.5, 1.0))


def test_a_rate_of_next_to_nothing_does_not_overflow_the_scale_of_the_next_level() -> None:
    forecaster = tracked([2.2e-313, None, None, 1.0, 1.0, 1.0, None, 1.0], model="last")
    scenarios = forecaster.scenarios(2, 20)
    assert scenarios is not None
    assert np.isfinite(scenarios).all()
