"""The mixture: follows whoever is right, and earns its place on real traces."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from benchmarks.parts.forecast import evaluate_forecasters
from forecasting.contract import FloatArray
from forecasting.registry import make_forecaster
from runtime.rates import read_rates
from tests.forecasting.series import bursty, feed, path_after


def test_it_averages_noise_and_follows_a_walk() -> None:
    generator = np.random.default_rng(21)
    noise = 1000.0 + generator.normal(0.0, 100.0, 600)
    walk = 1000.0 + np.cumsum(generator.normal(0.0, 10.0, 600))
    (on_noise,) = evaluate_forecasters(noise, ["mixture"], 10)
    (on_walk,) = evaluate_forecasters(walk, ["mixture"], 10)
    assert on_noise.mase < 0.8
    assert on_walk.mase < 1.03


def test_it_follows_a_ramp() -> None:
    values = 1000.0 + 10.0 * np.arange(400.0)
    path = path_after(make_forecaster("mixture"), values)
    np.testing.assert_allclose(path, values[-1] + 10.0 * np.arange(1, 11), rtol=0.01)


def test_it_is_never_far_behind_its_best_member() -> None:
    values = np.concatenate((bursty(500), 20.0 + 0.5 * np.arange(500.0), bursty(300, seed=3)))
    names = ["last", "ses", "holt-winters", "mixture"]
    errors = {row.model: row.mase for row in evaluate_forecasters(values, names, 10)}
    assert errors["mixture"] < 1.05 * min(errors.values())


def test_weights_reach_beyond_the_learned_horizon() -> None:
    values = bursty(200)
    short, long = make_forecaster("mixture", max_steps=3), make_forecaster("mixture", max_steps=10)
    feed(long, values)
    path = path_after(short, values, steps=40)
    assert path.shape == (40,)
    assert 0.0 < path.min() <= path.max() < values.max()


REAL = {
    "random walk": ("paper/random_walk_rates.txt", None, slice(None), 1.01),
    "ad events": ("rates/demeter_ads_18h.csv.gz", None, slice(20_000, 21_200), 0.5),
    "ad events, scaled": ("rates/daedalus_ads_6h_550K.csv.gz", None, slice(8_000, 9_200), 0.5),
    "tweets": ("rates/nab_twitter_volume.csv.gz", "AMZN", slice(0, 1_500), 0.95),
    "taxis": ("rates/nab_nyc_taxi.csv.gz", None, slice(0, 1_500), 0.8),
    "requests": ("rates/worldcup98_per_min.csv.gz", None, slice(20_000, 21_200), 0.9),
}


@pytest.mark.parametrize("trace", REAL)
def test_it_beats_the_last_value_on_real_rates(shared_data: Path, trace: str) -> None:
    name, column, part, at_most = REAL[trace]
    (row,) = evaluate_forecasters(read_rates(shared_data / name, column)[part], ["mixture"], 10)
    assert row.mase <= at_most
    assert 0.93 <= row.coverage_95 <= 0.97


def quotes_per_second(path: Path, symbol: str, seconds: int) -> FloatArray:
    nine_thirty_ms = 34_200_000
    table = parquet.read_table(
        path,
        columns=["ts_ms"],
        filters=[
            ("sym", "=", symbol),
            ("kind", "=", "Q"),
            ("ts_ms", ">=", nine_thirty_ms - 60_000),
        ],
    )
    seconds_since = (table["ts_ms"].to_numpy() - (nine_thirty_ms - 60_000)) // 1000
    return np.bincount(seconds_since)[:seconds].astype(np.float64)


def test_it_beats_the_last_value_on_the_market_open(shared_data: Path) -> None:
    path = shared_data / "quotes" / "us_equity_ticks_20131008.parquet"
    rates = quotes_per_second(path, "AIG", 1_200)
    rows = {row.model: row for row in evaluate_forecasters(rates, ["last", "mixture"], 10)}
    assert rows["mixture"].mase < 0.87 * rows["last"].mase
    assert 0.93 <= rows["mixture"].coverage_95 <= 0.97
