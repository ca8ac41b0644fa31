"""Traces, scenarios and the oracle."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.mpc_paper.catalogue import check_policies, clairvoyance
from benchmarks.mpc_paper.scenarios import ScenarioRequest, build
from benchmarks.workloads.keys import PAPER_SYMBOLS, generated_key_frequencies, read_key_frequencies
from benchmarks.workloads.rates import (
    generated_equity_day,
    generated_random_walk,
    read_random_walk,
)
from mpc.simulation.series import RateSeries
from mpc.simulation.trace import Windows, draw_trace
from runtime.rates import averaged_to, read_equity_ticks


def test_every_slide_of_a_key_triggers_one_window() -> None:
    frequencies = np.asarray([0.6, 0.3, 0.1])
    rates = RateSeries(np.asarray([1_000.0, 500.0, 2_000.0]), bin_s=1.0)
    trace = draw_trace(rates, frequencies, Windows(100, 10), np.random.default_rng(1))
    assert trace.key_counts.sum(axis=1).tolist() == [1_000, 500, 2_000]
    for key in range(3):
        expected = trace.key_counts[:, key].sum() / 10
        assert abs((trace.key == key).sum() - expected) <= 1
    assert (np.diff(trace.time_s) >= 0).all()
    assert trace.time_s[-1] < 3.0
    assert (trace.points >= 1).all()
    assert (trace.points <= 100).all()


def test_keys_come_with_their_frequencies_and_busy_keys_aggregate() -> None:
    frequencies = np.asarray([0.5, 0.25, 0.15, 0.1])
    rates = RateSeries(np.full(5, 40_000.0), bin_s=1.0)
    trace = draw_trace(rates, frequencies, Windows(), np.random.default_rng(2))
    shares = trace.key_counts.sum(axis=0) / 200_000
    np.testing.assert_allclose(shares, frequencies, atol=0.005)
    # 20 tuples a millisecond: 1,000 of them are 50 milliseconds.
    busy = trace.points[(trace.key == 0) & (trace.time_s > 1)]
    assert busy.mean() == pytest.approx(50, rel=0.05)


def test_the_same_seed_draws_the_same_trace() -> None:
    rates = RateSeries(np.full(2, 5_000.0), bin_s=1.0)
    frequencies = generated_key_frequencies()
    one, same, other = (
        draw_trace(rates, frequencies, Windows(), np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(one.time_s, same.time_s)
    np.testing.assert_array_equal(one.points, same.points)
    assert len(one.time_s) != len(other.time_s) or (one.key != other.key).any()


def test_generated_keys_are_as_skewed_as_the_papers(shared_data: Path) -> None:
    real = np.sort(read_key_frequencies(shared_data / "paper/key_probabilities.txt"))[::-1]
    ours = generated_key_frequencies()
    assert len(ours) == len(real) == PAPER_SYMBOLS
    for top in (10, 100, 1000):
        assert ours[:top].sum() == pytest.approx(real[:top].sum(), abs=0.02)
    assert ours[0] / ours[-1] == pytest.approx(real[0] / real[-1], rel=0.1)


def test_generated_rates_resemble_the_real_ones(shared_data: Path) -> None:
    real = read_random_walk(shared_data / "paper/random_walk_rates.txt").tuples_per_s
    walks = [generated_random_walk(np.random.default_rng(s)).tuples_per_s for s in range(20)]
    assert np.mean([np.diff(walk).std() for walk in walks]) == pytest.approx(
        np.diff(real).std(), rel=0.1
    )
    assert all(real.min() <= walk.min() and walk.max() <= real.max() for walk in walks)

    ticks = read_equity_ticks(shared_data / "quotes/us_equity_ticks_20131007.parquet")
    days = [generated_equity_day(np.random.default_rng(s)) for s in range(10)]

    def burstiness(series: RateSeries) -> float:
        within = series.tuples_per_s.reshape(-1, 100)
        return float((within / within.mean(axis=1, keepdims=True)).std())

    assert np.mean([burstiness(day) for day in days]) == pytest.approx(burstiness(ticks), rel=0.15)
    assert days[0].duration_s == pytest.approx(ticks.duration_s)


def test_scaling_sets_the_peak_of_a_window() -> None:
    series = RateSeries(np.asarray([1.0, 3.0, 2.0, 2.0]), bin_s=0.5).scaled_to_peak(400.0, 1.0)
    assert series.tuples_per_s.tolist() == pytest.approx([200.0, 600.0, 400.0, 400.0])
    with pytest.raises(ValueError, match="zero everywhere"):
        RateSeries(np.zeros(4), 1.0).scaled_to_peak(1.0, 1.0)


def test_scenarios_work_without_any_data_and_say_so() -> None:
    for name in ("paper-random-walk", "equity-day", "paper-step"):
        scenario = build(ScenarioRequest(name, data=None))
        assert "generated" in scenario.source
        assert scenario.rates(np.random.default_rng(1)).duration_s > 40


def test_unknown_names_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="paper-random-walk"):
        build(ScenarioRequest("paper"))
    with pytest.raises(ValueError, match="lat-power-h2"):
        check_policies(["lat-power"])
    with pytest.raises(ValueError, match="12 executors"):
        check_policies(["static-13"])
    with pytest.raises(ValueError, match="--rates"):
        build(ScenarioRequest("replay"))


def test_replay_scales_a_rate_file_to_the_plant(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_text("second,rate\n" + "\n".join(f"{i},{100 + 10 * (i % 5)}" for i in range(20)))
    scenario = build(ScenarioRequest("replay", rates_file=path, rate_column="rate", peak_load=0.5))
    rates = scenario.rates(np.random.default_rng(1)).tuples_per_s
    assert len(rates) == 20
    assert rates.max() == pytest.approx(0.5 * 12 / 0.513e-3 * 25)


def test_long_rate_files_are_averaged_and_gaps_bridged() -> None:
    values = np.asarray([1.0, np.nan, 3.0, 5.0, 7.0, 9.0, 11.0])
    assert averaged_to(values, 100).tolist() == [1.0, 2.0, 3.0, 5.0, 7.0, 9.0, 11.0]
    assert averaged_to(values, 3).tolist() == [2.0, 7.0]  # stretches of 3; the rest is cut
    with pytest.raises(ValueError, match="no value"):
        averaged_to(np.asarray([np.nan]), 5)


def test_the_bound_falls_with_violations_and_nothing_beats_it() -> None:
    scenario = build(ScenarioRequest("paper-step"))
    known = clairvoyance(scenario, scenario.trace(1))
    bound_w = known.least_power_w()
    assert len(bound_w) == 46
    assert (np.diff(bound_w) <= 1e-9).all()
    assert bound_w[-1] == pytest.approx(known.power_w.min())
    plan = known.plan()
    kept = [known.lowest_frequency[step, n] <= f for step, (n, f) in enumerate(plan)]
    assert all(kept)
    used_w = np.mean([known.power_w[place] for place in plan])
    assert used_w >= bound_w[0] - 1e-9
    strict = build(ScenarioRequest("paper-step", threshold_s=1e-3))
    assert clairvoyance(strict, strict.trace(1)).least_power_w()[1] > bound_w[1]
    # The rate rises at second 30: so does the power it takes.
    before = np.mean([known.power_w[place] for place in plan[5:29]])
    after = np.mean([known.power_w[place] for place in plan[31:]])
    assert after > before * 1.1
