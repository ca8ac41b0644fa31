"""The forecast benchmark."""

import numpy as np
import pytest

from benchmarks.parts.forecast import evaluate_forecasters
from forecasting.registry import FORECASTER_NAMES
from tests.forecasting.series import bursty


def test_a_row_for_every_model_in_the_order_asked() -> None:
    seen: list[str] = []
    names = tuple(reversed(FORECASTER_NAMES))
    rows = evaluate_forecasters(bursty(200), names, 5, seen.append)
    assert tuple(row.model for row in rows) == names
    assert tuple(seen) == names
    assert all(0.0 <= row.under_fraction <= 1.0 for row in rows)
    assert all(0.8 <= row.coverage_95 <= 1.0 for row in rows)
    assert all(row.ms_per_step > 0.0 for row in rows)


def test_the_last_value_scores_one_and_a_ramp_is_always_under() -> None:
    (row,) = evaluate_forecasters(np.arange(100.0, 200.0), ["last"], 3)
    assert row.mase == pytest.approx(1.0)
    assert row.under_fraction == 1.0


def test_errors_are_pooled_over_the_horizons() -> None:
    # 0 2 0 2 ...: the mean of 3 is off by 4/3 and 2/3 one and two steps ahead, the last value by
    # 2 and 0; one step ahead alone the ratio would be 2/3.
    rates = np.tile([0.0, 2.0], 60)
    (row,) = evaluate_forecasters(rates, ["mean-3"], 2)
    assert row.mase == pytest.approx(1.0, abs=0.01)


def test_gaps_are_left_out_of_the_account() -> None:
    rates = bursty(300)
    rates[::7] = np.nan
    (row,) = evaluate_forecasters(rates, ["ses"], 5)
    assert 0.6 < row.mase < 1.0


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        (np.ones(100), "the rates never change"),
        (np.arange(15.0), "needs at least 16 rates, got 15"),
    ],
)
def test_series_that_tell_nothing_are_refused(rates: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate_forecasters(rates, ["last"], 5)
