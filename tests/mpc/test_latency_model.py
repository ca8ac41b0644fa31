"""Both moments of the micro-batch model: variability, late rows, what holds for all inputs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.parts.latency_model import latency_model_rows
from mpc.batch_cost import BatchCost, BatchCostEstimate, refined
from mpc.micro_batch import (
    BatchModel,
    batch_duration_moments,
    batch_latency_s,
    late_share,
    micro_batch_latency_s,
)
from mpc.micro_batch_latency import MicroBatchLatency
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement

SPACE = ConfigurationSpace(1, 12, tuple(range(1_200_000, 2_000_001, 100_000)))
MODEL = BatchModel(0.3, 1.0, 0.2, overhead_cv=0.2, work_cv=0.2)
"""On a capacity of one the arrivals are the utilisation."""

models = st.builds(
    BatchModel,
    st.floats(0, 100),
    st.floats(0, 1e9),
    st.floats(0, 1e12),
    st.floats(0, 2),
    st.floats(0, 2),
    st.floats(0, 1e4),
    st.one_of(st.just(0.0), st.floats(0.1, 60)),
    st.floats(1, 60),
    st.just(0.0),
)


def test_the_second_moment_back_to_back_is_that_of_the_recursion() -> None:
    rho, fixed_s, cv = 0.8, 0.5, 0.2
    mean_s = fixed_s / (1 - rho)
    fresh = cv**2 * (0.3**2 + (0.2 + rho * mean_s) ** 2)
    square = mean_s**2 + fresh / (1 - rho**2 * (1 + cv**2))
    expected_s = square / mean_s * (0.5 + rho) + fixed_s
    assert batch_latency_s(rho, 1.0, MODEL) == pytest.approx(expected_s)


def test_irregular_arrivals_lengthen_the_latency() -> None:
    bursty = MODEL._replace(arrival_dispersion=50.0)
    assert batch_latency_s(0.8, 1.0, bursty) > 1.05 * batch_latency_s(0.8, 1.0, MODEL)


@pytest.mark.parametrize("interval_s", [0.0, 3.0])
def test_variability_counts_more_the_closer_to_saturation(interval_s: float) -> None:
    model = MODEL._replace(interval_s=interval_s)
    steady = model._replace(overhead_cv=0.0, work_cv=0.0)
    excess = [
        batch_latency_s(rho, 1.0, model) / batch_latency_s(rho, 1.0, steady)
        for rho in (0.3, 0.8, 0.9)
    ]
    assert 1.0 <= excess[0] < excess[1] < excess[2]


@given(models, st.lists(st.floats(0, 1e9), min_size=1, max_size=6))
def test_finite_rising_with_arrivals_and_never_with_resources(
    model: BatchModel, rates: list[float]
) -> None:
    table = micro_batch_latency_s(np.sort(np.asarray(rates)), model, SPACE)
    assert np.isfinite(table).all()
    assert (table >= 0).all()
    slack = 1e-7 * table.max()
    assert (np.diff(table, axis=0) >= -slack).all()
    assert (np.diff(table, axis=1) <= slack).all()
    assert (np.diff(table, axis=2) <= slack).all()


@given(models, st.floats(0, 2), st.floats(0.55, 0.99))
def test_a_quantile_is_the_latency_that_the_share_of_the_rows_keeps(
    model: BatchModel, rho: float, quantile: float
) -> None:
    model = model._replace(row_cycles=1.0, batch_cycles=model.batch_cycles / 1e12)
    judged_s = batch_latency_s(rho, 1.0, model._replace(quantile=quantile))
    assert math.isfinite(judged_s)
    if judged_s > 1e-6:
        assert late_share(1.001 * judged_s, rho, 1.0, model) <= 1 - quantile + 1e-3
        assert late_share(0.999 * judged_s, rho, 1.0, model) >= 1 - quantile - 1e-3


@pytest.mark.parametrize("interval_s", [0.0, 2.0])
def test_fewer_rows_are_late_with_more_capacity(interval_s: float) -> None:
    model = MODEL._replace(interval_s=interval_s)
    shares = [late_share(4.0, 0.7, capacity, model) for capacity in np.linspace(0.75, 2.0, 30)]
    assert shares[0] > 0.5
    assert shares[-1] < 0.01
    assert (np.diff(shares) <= 1e-9).all()


def test_without_noise_the_rows_are_spread_evenly_over_their_period() -> None:
    steady = MODEL._replace(overhead_cv=0.0, work_cv=0.0, interval_s=4.0)
    # In time: D = 0.5 + 0.5 * 4 = 2.5 s after up to 4 s of waiting.
    for share in (0.9, 0.5, 0.1):
        assert late_share(6.5 - 4.0 * share, 0.5, 1.0, steady) == pytest.approx(share, abs=1e-3)
    assert batch_duration_moments(0.5, 1.0, steady) == pytest.approx((2.5, 0.0))


def test_the_event_level_plant_agrees() -> None:
    rows = latency_model_rows([0.5, 0.9], [0.3], [None, 2.0], seeds=2, batches=1500)
    for row in rows:
        assert abs(row.error_mean) < 0.05
        assert row.error_late_share < 0.03
    # What the mean of a batch alone would say.
    assert rows[1].error_without_variability < -0.05


def learned(generator: np.random.Generator, cost: BatchCost, batches: int) -> BatchCostEstimate:
    estimate = None
    for _ in range(batches):
        ran_on = Configuration(int(generator.integers(2, 13)), 2_000_000)
        speed_hz, rows = ran_on.executors * 2e9, int(generator.integers(10_000, 60_000))
        noise = math.log1p(cost.cv**2)
        overhead, work = generator.lognormal(-noise / 2, math.sqrt(noise), 2)
        work_s = (cost.batch_cycles + rows * cost.row_cycles) / speed_hz
        sample = BatchSample(rows, cost.overhead_s * overhead + work_s * work, ran_on)
        estimate = refined(estimate, sample)
    assert estimate is not None
    return estimate


@pytest.mark.parametrize("seed", range(3))
def test_work_of_a_batch_and_variability_are_learned_where_speeds_differ(seed: int) -> None:
    truth = BatchCost(1.4, 88_000.0, 5.3e9, cv=0.15)
    found = learned(np.random.default_rng(seed), truth, 400).cost
    for executors in (2, 12):
        speed_hz = executors * 2e9
        assert found.fixed_s(speed_hz) == pytest.approx(truth.fixed_s(speed_hz), rel=0.2)
    assert found.row_cycles == pytest.approx(truth.row_cycles, rel=0.15)
    assert found.cv == pytest.approx(truth.cv, rel=0.35)


def test_at_one_speed_the_fixed_part_is_taken_for_overhead() -> None:
    generator = np.random.default_rng(1)
    estimate, on = None, Configuration(4, 2_000_000)
    for rows in generator.integers(10_000, 100_000, 2_000):
        duration_s = 0.5 + int(rows) * 1e5 / 8e9 * generator.lognormal(0, 0.1)
        estimate = refined(estimate, BatchSample(int(rows), duration_s, on))
    assert estimate is not None
    assert estimate.cost.overhead_s == pytest.approx(0.5, rel=0.15)
    assert estimate.cost.batch_cycles / 8e9 < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_no_estimate_predicts_that_rows_have_no_latency(seed: int) -> None:
    """Noise of the rows swallows a small overhead, and least squares alone would call it zero."""
    generator = np.random.default_rng(seed)
    model, on = MicroBatchLatency(SPACE, step_s=1.0), Configuration(6, 2_000_000)
    for step in range(200):
        rows = int((1 + 0.5 * math.sin(step / 30)) * 3_000)
        duration_s = max(0.02 + rows * 2e6 / 12e9 * (1 + 0.3 * generator.normal()), 0.01)
        sample = BatchSample(rows, duration_s, on)
        model.observe(Measurement(step, step, on, on, batches=(sample,)), had_backlog=False)
        assert model.floor_s > 1e-3
        assert model.predict_s(np.full((1, 1), 3_000.0)).min() > 1e-3


def test_a_quantile_is_judged_by_the_level_of_its_track_record_alone() -> None:
    on = Configuration(4, 2_000_000)
    mean, judged = (MicroBatchLatency(SPACE, 1.0, quantile) for quantile in (None, 0.95))
    for step in range(60):
        sample = BatchSample(20_000 + 1_000 * (step % 5), 0.7 + 0.02 * (step % 3), on)
        for model in (mean, judged):
            measured = Measurement(
                step, step, on, on, arrivals_per_s=20_000.0, latency_s=1.0 + 0.2 * (step % 2),
                batches=(sample,),
            )  # fmt: skip
            model.observe(measured, had_backlog=False)
    rates = np.full((20, 1), 20_000.0)
    means, quantiles = mean.predict_s(rates), judged.predict_s(rates)
    assert means[:, 0, 3, -1].std() > 0.01
    assert np.ptp(quantiles[:, 0, 3, -1]) == 0
    assert quantiles[0, 0, 3, -1] > 1.2 * means[:, 0, 3, -1].mean()
