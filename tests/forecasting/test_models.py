"""The single algorithms against worked examples and against what they must recover."""

import numpy as np
import pytest

from forecasting.autoregression import Autoregression
from forecasting.contract import FloatArray, Model
from forecasting.holt import Holt
from forecasting.last import LastValue
from forecasting.recent_mean import RecentMean
from forecasting.registry import make_forecaster
from forecasting.ses import SimpleSmoothing
from tests.forecasting.series import feed, path_after


def observe_all(model: Model, values: FloatArray | list[float]) -> None:
    for value in values:
        model.observe(value)


def test_last_and_mean_of_three() -> None:
    last, mean = LastValue(), RecentMean(3)
    for model in (last, mean):
        observe_all(model, [1.0, 2.0, 6.0, 7.0])
    np.testing.assert_allclose(last.path(2), [7.0, 7.0])
    np.testing.assert_allclose(mean.path(2), [5.0, 5.0])


def test_the_mean_of_three_ignores_gaps() -> None:
    path = path_after(make_forecaster("mean-3"), [4.0, None, 5.0, None, None, 6.0], steps=1)
    np.testing.assert_allclose(path, [5.0])


def test_exponential_smoothing_by_hand() -> None:
    model = SimpleSmoothing(0.25)
    observe_all(model, [8.0, 16.0, 4.0])
    # 8, then 8 + 0.25 * 8 = 10, then 10 - 0.25 * 6 = 8.5.
    np.testing.assert_allclose(model.path(3), 8.5)


def test_holt_by_hand() -> None:
    model = Holt(level_smoothing=0.5, trend_smoothing=0.4, damping=0.5)
    observe_all(model, [10.0, 14.0, 12.0])
    # Level 10, trend 0; level 12, trend 0.8; expected 12.4, level 12.2,
    # trend 0.4 * 0.2 + 0.6 * 0.4 = 0.32.
    np.testing.assert_allclose(model.path(2), [12.2 + 0.16, 12.2 + 0.24])


def test_holt_with_the_published_parameters_extrapolates_without_damping() -> None:
    model = Holt(level_smoothing=0.67, trend_smoothing=0.26, damping=1.0)
    observe_all(model, np.arange(100.0, 300.0, 2.0))
    np.testing.assert_allclose(model.path(5), 298.0 + 2.0 * np.arange(1, 6), rtol=1e-6)


def test_a_gap_runs_the_trend_on() -> None:
    model = Holt(level_smoothing=1.0, trend_smoothing=1.0, damping=0.5)
    observe_all(model, [10.0, 14.0])
    ahead = model.path(3)
    model.skip()
    np.testing.assert_allclose(model.path(2), ahead[1:])


def test_autoregression_recovers_what_made_the_series() -> None:
    generator = np.random.default_rng(2)
    values = np.full(3000, 100.0)
    for index in range(2, len(values)):
        before, earlier = values[index - 1] - 100.0, values[index - 2] - 100.0
        values[index] = 100.0 + 0.5 * before - 0.4 * earlier + generator.normal(0.0, 5.0)
    model = Autoregression(order=2, forgetting=0.999)
    observe_all(model, values)
    before, earlier = values[-1] - 100.0, values[-2] - 100.0
    expected = 100.0 + 0.5 * before - 0.4 * earlier
    assert model.path(1)[0] == pytest.approx(expected, abs=2.0)
    assert model.path(60)[-1] == pytest.approx(100.0, abs=3.0)


def test_autoregression_starts_as_the_last_value() -> None:
    model = Autoregression()
    observe_all(model, [10.0, 30.0])
    np.testing.assert_allclose(model.path(5), 30.0)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("ses", {"level_smoothing": 1.5}, "level_smoothing must be between 0 and 1, got 1.5"),
        ("holt", {"trend_smoothing": -0.1}, "trend_smoothing must be between 0 and 1"),
        ("mean-3", {"count": 0}, "count must be at least 1"),
        ("holt-winters", {"season_steps": 1}, "season_steps must be at least 2"),
        ("holt-winters", {"refit_steps": 0}, "refit_steps and window_steps must be at least 1"),
        ("mixture", {"max_steps": 0}, "steps must be at least 1"),
    ],
)
def test_impossible_parameters_are_named(
    name: str, parameters: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_forecaster(name, **parameters)


def test_gaps_before_the_first_value_are_harmless() -> None:
    forecaster = make_forecaster("mixture")
    feed(forecaster, [None, None])
    assert forecaster.forecast(3) is None
