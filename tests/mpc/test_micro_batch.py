import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mpc.batch_cost import BatchCost, BatchCostEstimate, refined
from mpc.micro_batch import micro_batch_latency_s
from mpc.values import BatchSample, Configuration, ConfigurationSpace, FloatArray

SPACE = ConfigurationSpace(1, 12, tuple(range(1_200_000, 2_000_001, 100_000)))
COST = BatchCost(overhead_s=0.4, row_cycles=20_000.0)
ON = Configuration(8, 2_000_000)
CAPACITY_PER_S = 8 * 2e9 / COST.row_cycles
"""Rows a second that eight executors at 2 GHz can do."""

costs = st.builds(BatchCost, st.floats(0, 100), st.floats(0, 1e9))
intervals_s = st.one_of(st.none(), st.floats(0.1, 60))
rates_per_s = npst.arrays(np.float64, st.integers(1, 8), elements=st.floats(0, 1e9))
samples = st.builds(
    BatchSample,
    rows=st.integers(-1, 10**9),
    duration_s=st.one_of(
        st.floats(1e-6, 1e6), st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e-300])
    ),
    ran_on=st.builds(Configuration, st.integers(0, 1_000), st.integers(0, 6_000_000)),
)


def at(utilisation: float, interval_s: float | None = None) -> float:
    rate = np.array([utilisation * CAPACITY_PER_S])
    table = micro_batch_latency_s(rate, COST.model(1.0, interval_s), SPACE)
    return float(table[0, SPACE.executor_index(8), SPACE.frequency_index(2_000_000)])


@pytest.mark.parametrize("utilisation", [0.0, 0.3, 0.9, 0.98])
def test_back_to_back_is_one_and_a_half_batches(utilisation: float) -> None:
    assert at(utilisation) == pytest.approx(1.5 * 0.4 / (1 - utilisation))


def test_an_interval_longer_than_the_batch_sets_the_pace() -> None:
    assert at(0.5, interval_s=4.0) == pytest.approx(4.0 / 2 + 0.4 + 0.5 * 4.0)


def test_an_interval_too_short_is_back_to_back() -> None:
    assert at(0.9, interval_s=4.0) == pytest.approx(at(0.9))


def test_the_continuation_leaves_no_gap() -> None:
    for edge in (0.98, 1.0):
        assert at(edge - 1e-9) == pytest.approx(at(edge + 1e-9), rel=1e-5)


def test_close_to_saturation_it_follows_the_tangent() -> None:
    # D* at 0.98 is 50 * o, its slope 2,500 * o.
    period_s = 0.4 * (50 + 2_500 * 0.01)
    assert at(0.99) == pytest.approx(period_s / 2 + 0.4 + 0.99 * period_s)


def test_overload_grows_with_the_length_of_the_step() -> None:
    rate = np.array([2.0 * CAPACITY_PER_S])
    one, ten = (micro_batch_latency_s(rate, COST.model(step_s), SPACE)[0] for step_s in (1.0, 10.0))
    row, column = SPACE.executor_index(8), SPACE.frequency_index(2_000_000)
    # Twice the capacity: the delay grows by one second a second, half of it on average.
    assert ten[row, column] - one[row, column] == pytest.approx(9.0 / 2)


@given(rates_per_s, costs, intervals_s, st.floats(1, 60))
def test_finite_rising_with_arrivals_and_never_with_resources(
    rates: FloatArray, cost: BatchCost, interval_s: float | None, step_s: float
) -> None:
    table = micro_batch_latency_s(np.sort(rates), cost.model(step_s, interval_s), SPACE)
    assert table.shape == (*rates.shape, 12, 9)
    assert np.isfinite(table).all()
    assert (table >= 0).all()
    slack = 1e-12 * table.max()
    assert (np.diff(table, axis=0) >= -slack).all()
    assert (np.diff(table, axis=1) <= slack).all()
    assert (np.diff(table, axis=2) <= slack).all()


def test_arrivals_may_have_any_shape() -> None:
    rates = np.linspace(0, 2 * CAPACITY_PER_S, 6)
    flat = micro_batch_latency_s(rates, COST.model(1.0), SPACE)
    assert micro_batch_latency_s(rates.reshape(2, 3), COST.model(1.0), SPACE).shape == (2, 3, 12, 9)
    np.testing.assert_array_equal(
        micro_batch_latency_s(rates.reshape(2, 3), COST.model(1.0), SPACE).reshape(6, 12, 9), flat
    )


def batch(
    generator: np.random.Generator,
    *,
    cost: BatchCost = COST,
    spread: float = 0.3,
    noise: float = 0.05,
    ran_on: Configuration = ON,
) -> BatchSample:
    rows = int(1e6 * np.clip(generator.normal(1.0, spread), 0.05, 3.0))
    work_s = rows * cost.row_cycles / (ran_on.executors * ran_on.frequency_khz * 1e3)
    duration_s = (cost.overhead_s + work_s) * generator.lognormal(0.0, noise)
    return BatchSample(rows, duration_s, ran_on)


def learned(
    batches: list[BatchSample], estimate: BatchCostEstimate | None = None
) -> BatchCostEstimate:
    for sample in batches:
        estimate = refined(estimate, sample)
    assert estimate is not None
    return estimate


def assert_close(cost: BatchCost, expected: BatchCost, rel: float) -> None:
    assert cost.row_cycles == pytest.approx(expected.row_cycles, rel=rel)
    # The overhead is a small part of these batches, so it is known less well.
    assert cost.overhead_s == pytest.approx(expected.overhead_s, rel=3 * rel)


def test_without_noise_both_constants_are_found() -> None:
    generator = np.random.default_rng(1)
    estimate = learned([batch(generator, noise=0.0) for _ in range(400)])
    assert_close(estimate.cost, COST, 0.005)


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_averaged_out(seed: int) -> None:
    generator = np.random.default_rng(seed)
    estimate = learned([batch(generator) for _ in range(300)])
    assert_close(estimate.cost, COST, 0.1)


def test_changing_executors_tell_the_constants_apart_at_a_steady_load() -> None:
    generator = np.random.default_rng(2)
    estimate = learned(
        [
            batch(generator, spread=0.0, ran_on=Configuration(int(n), 2_000_000))
            for n in generator.integers(2, 13, 300)
        ]
    )
    assert_close(estimate.cost, COST, 0.1)


@pytest.mark.parametrize("seed", range(5))
def test_stragglers_do_not_bend_the_estimate(seed: int) -> None:
    generator = np.random.default_rng(seed)
    batches = [batch(generator) for _ in range(300)]
    for index in generator.choice(np.arange(20, 300), 15, replace=False):
        slow = batches[index]
        batches[index] = BatchSample(slow.rows, 8 * slow.duration_s, slow.ran_on)
    assert_close(learned(batches).cost, COST, 0.15)


@pytest.mark.parametrize("factor", [3.0, 1 / 3])
def test_a_job_that_changes_is_learned_within_tens_of_batches(factor: float) -> None:
    generator = np.random.default_rng(3)
    before = learned([batch(generator) for _ in range(300)])
    changed = BatchCost(COST.overhead_s, COST.row_cycles * factor)
    after = learned([batch(generator, cost=changed) for _ in range(20)], before)
    usual_load = 1e6 / (8 * 2e9)
    predicted_s = after.cost.overhead_s + after.cost.row_cycles * usual_load
    assert predicted_s == pytest.approx(
        changed.overhead_s + changed.row_cycles * usual_load, rel=0.1
    )


def test_hours_of_equal_batches_do_not_make_the_estimate_wander() -> None:
    generator = np.random.default_rng(4)
    settled = learned([batch(generator) for _ in range(300)])
    bored = learned([batch(generator, spread=0.0) for _ in range(5_000)], settled)
    assert bored.cost.row_cycles == pytest.approx(settled.cost.row_cycles, rel=0.1)
    # Bounded covariance: one more batch, however odd, moves the prediction by less than itself.
    odd = BatchSample(5_000_000, 1_000.0, ON)
    after = learned([odd], bored)
    assert after.cost.row_cycles == pytest.approx(bored.cost.row_cycles, rel=0.2)


def test_a_night_of_nearly_empty_batches_does_not_unlearn_the_row_cost() -> None:
    generator = np.random.default_rng(6)
    evening = learned([batch(generator) for _ in range(300)])
    night = [
        BatchSample(int(rows), 0.4 * generator.lognormal(0.0, 0.2), ON)
        for rows in generator.integers(0, 300, 5_000)
    ]
    morning = learned(night, evening)
    assert morning.cost.row_cycles == pytest.approx(evening.cost.row_cycles, rel=0.1)
    assert morning.cost.overhead_s == pytest.approx(0.4, rel=0.1)


@pytest.mark.parametrize("first", [BatchSample(50_000_000, 63.0, ON), BatchSample(1, 0.4, ON)])
def test_a_first_batch_of_another_size_is_overcome(first: BatchSample) -> None:
    generator = np.random.default_rng(5)
    estimate = learned([first, *(batch(generator) for _ in range(200))])
    assert_close(estimate.cost, COST, 0.15)


def test_nothing_is_known_before_a_batch_with_rows() -> None:
    assert refined(None, BatchSample(0, 0.4, ON)) is None
    first = refined(None, BatchSample(1_000_000, 1.6, ON))
    assert first is not None
    load = 1_000_000 / (8 * 2e9)
    assert first.cost.overhead_s + first.cost.row_cycles * load == pytest.approx(1.6)


@pytest.mark.parametrize(
    "useless",
    [
        BatchSample(1_000, math.nan, ON),
        BatchSample(1_000, 0.0, ON),
        BatchSample(-1, 1.0, ON),
        BatchSample(1_000, 1.0, Configuration(0, 2_000_000)),
    ],
)
def test_a_batch_without_meaning_changes_nothing(useless: BatchSample) -> None:
    estimate = refined(None, BatchSample(1_000_000, 1.6, ON))
    assert refined(estimate, useless) is estimate
    assert refined(None, useless) is None


@given(st.lists(samples, max_size=30))
def test_any_batches_leave_a_finite_estimate_that_is_not_negative(
    batches: list[BatchSample],
) -> None:
    estimate = None
    for sample in batches:
        estimate = refined(estimate, sample)
        if estimate is not None:
            for value in (estimate.cost.overhead_s, estimate.cost.row_cycles):
                assert math.isfinite(value)
                assert value >= 0
