"""Aggregation and regression, judged by numpy's own least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.hft.pipeline.fit import FitOptions, Points, aggregate, fit, predict
from benchmarks.hft.pipeline.records import HELD, Records
from mpc.values import FloatArray


def window(quotes: int, mean_gap_us: float, seed: int = 0) -> Records:
    rng = np.random.default_rng(seed)
    records = np.empty(quotes, dtype=HELD)
    records["ts_us"] = 1_700_000_000_000_000 + np.cumsum(rng.exponential(mean_gap_us, quotes))
    middle = 100.0 + np.cumsum(rng.normal(0.0, 0.02, quotes))
    records["bid"], records["ask"] = middle - 0.01, middle + 0.01
    return records


def points_of(values: FloatArray) -> Points:
    return Points(np.arange(len(values), dtype=np.int64) + 1_700_000_000_000, values)


@given(
    quotes=st.integers(4, 400),
    mean_gap_us=st.sampled_from([50.0, 1_000.0, 30_000.0]),
    degree=st.integers(0, 4),
    seed=st.integers(0, 1_000),
)
def test_levenberg_marquardt_finds_the_least_squares(
    quotes: int, mean_gap_us: float, degree: int, seed: int
) -> None:
    records = window(quotes, mean_gap_us, seed)
    points = aggregate(records["ts_us"] // 1_000, records["bid"])
    degree = min(degree, len(points.interval) - 1)
    # Of milliseconds since 1970 numpy's own scaling loses the last digits.
    since_first = points.interval - points.interval[0]
    judge = np.polynomial.Polynomial.fit(since_first, points.price, degree)
    expected = judge(float(since_first[-1] + 1))
    predicted = fit(points, degree).at(float(points.interval[-1] + 1))
    assert predicted == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_an_exact_parabola_is_found_and_continued() -> None:
    time = np.arange(50.0)
    points = points_of(20.0 + 0.5 * time - 0.01 * time**2)
    fitted = fit(points, degree=2)
    assert fitted.at(float(points.interval[0] + 60)) == pytest.approx(20.0 + 30.0 - 36.0, abs=1e-9)


def test_a_price_that_does_not_move_is_predicted() -> None:
    assert fit(points_of(np.full(30, 42.5)), degree=2).at(1_700_000_000_100.0) == 42.5


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_points_lower_the_degree(count: int) -> None:
    points = points_of(np.arange(float(count)))
    assert len(fit(points, degree=5).coefficients) == count


def test_a_millisecond_is_averaged_and_absent_prices_are_not_there() -> None:
    points = aggregate(np.array([7, 7, 7, 8, 9, 9]), np.array([1.0, 2.0, np.nan, np.nan, 5.0, 6.0]))
    assert points.interval.tolist() == [7, 9]
    assert points.price.tolist() == [1.5, 5.5]


def test_a_side_without_quotes_has_no_prediction() -> None:
    records = window(100, 1_000.0)
    records["ask"] = np.nan
    prediction = predict(records, FitOptions())
    assert prediction.ask is None
    assert prediction.bid is not None


def test_the_prediction_is_at_the_interval_after_the_window() -> None:
    records = window(100, 1_000.0)
    records["bid"] = (records["ts_us"] // 1_000 - records["ts_us"][0] // 1_000).astype(float)
    span = float(records["bid"][-1])
    here, ahead = (
        predict(records, FitOptions(degree=1, ahead_intervals=ahead)).bid for ahead in (0, 5)
    )
    assert here == pytest.approx(span)
    assert ahead == pytest.approx(span + 5)


def test_nothing_to_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one point"):
        fit(points_of(np.empty(0)), degree=2)


@pytest.mark.parametrize(
    "options", [{"interval_us": 0}, {"degree": -1}, {"ahead_intervals": -1}], ids=str
)
def test_impossible_options_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        FitOptions(**options)
