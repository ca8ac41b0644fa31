"""What the latency models learn from their own errors."""

from itertools import pairwise

import numpy as np
import pytest

from mpc.feedback import LARGEST_RATIO, RatioFeedback
from mpc.micro_batch_latency import MicroBatchLatency
from mpc.operator_latency import CostElasticity, OperatorLatency
from mpc.risk import at_risk
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement

SPACE = ConfigurationSpace(1, 4, (1_000_000, 2_000_000))


def test_feedback_finds_the_level_and_the_spread() -> None:
    feedback = RatioFeedback()
    assert feedback.scenario_ratios(5).tolist() == [1.0] * 5
    random = np.random.default_rng(1)
    for error in random.normal(0.0, 0.3, 400):
        feedback.update(2.0 * np.exp(error), 1.0)
    ratios = feedback.scenario_ratios(99)
    assert np.median(ratios) == pytest.approx(2.0, rel=0.25)
    assert np.log(ratios).std() == pytest.approx(0.3, rel=0.3)


def test_one_absurd_ratio_does_not_run_away() -> None:
    feedback = RatioFeedback()
    for _ in range(30):
        feedback.update(1.0, 1.0)
    feedback.update(1e12, 1.0)
    assert feedback.scenario_ratios(100).max() <= 2 * LARGEST_RATIO
    assert np.median(feedback.scenario_ratios(100)) < 2.0
    feedback.update(1.0, 0.0)  # nothing was predicted: nothing is learned
    assert np.median(feedback.scenario_ratios(100)) < 2.0


def test_scenario_ratios_are_not_sorted() -> None:
    """Sorted arrivals paired with sorted errors would make every bad case doubly bad."""
    feedback = RatioFeedback()
    for ratio in np.linspace(0.5, 2.0, 50):
        feedback.update(float(ratio), 1.0)
    ratios = feedback.scenario_ratios(50)
    assert abs(np.corrcoef(np.arange(50), ratios)[0, 1]) < 0.2


def test_elasticity_is_learned_and_drawn_to_zero_at_first() -> None:
    elasticity = CostElasticity()
    assert elasticity.value == 0.0
    random = np.random.default_rng(2)
    rate = 1000.0
    for step in range(300):
        rate *= float(np.exp(random.normal(0.0, 0.1)))
        elasticity.update(rate, 1e6 * rate**-0.2)
        if step == 1:
            assert abs(elasticity.value) < 0.15
    assert elasticity.value == pytest.approx(-0.2, abs=0.02)
    elasticity.update(0.0, 1e6)  # an idle step tells nothing
    assert elasticity.value == pytest.approx(-0.2, abs=0.02)


def step(number: int, arrivals_per_s: float, wait_s: float) -> Measurement:
    ran = Configuration(4, 2_000_000)
    return Measurement(
        number, float(number), ran, ran,
        arrivals_per_s=arrivals_per_s, completions_per_s=arrivals_per_s, arrival_dispersion=1.0,
        cost_cycles=1e6, cost_cv=0.5, wait_s=wait_s, latency_s=wait_s + 0.0005,
    )  # fmt: skip


def test_operator_latency_agrees_with_what_was_measured() -> None:
    model = OperatorLatency(SPACE, step_s=1.0)
    assert not model.ready
    for number in range(1, 40):
        model.observe(step(number, 4_000.0, 0.003), had_backlog=False)
    predicted = model.predict_s(np.full((1, 1), 4_000.0))
    assert predicted.shape == (1, 1, 4, 2)
    assert predicted[0, 0, 3, 1] == pytest.approx(0.0035, rel=0.02)
    assert model.service_per_s()[3, 1] == pytest.approx(8_000.0)
    assert model.floor_s == pytest.approx(0.0005)


def test_a_wait_behind_a_backlog_is_not_the_models_fault() -> None:
    model = OperatorLatency(SPACE, step_s=1.0)
    for number in range(1, 20):
        model.observe(step(number, 4_000.0, 0.003), had_backlog=False)
    before = model.predict_s(np.full((1, 1), 4_000.0))
    model.observe(step(20, 4_000.0, 10.0), had_backlog=True)
    np.testing.assert_allclose(model.predict_s(np.full((1, 1), 4_000.0)), before)


def test_micro_batch_latency_learns_overhead_and_row_cost() -> None:
    model = MicroBatchLatency(SPACE, step_s=1.0)
    assert not model.ready
    ran = Configuration(2, 1_000_000)
    before_s = 0.6
    for number in range(1, 200):
        rows = 500 + 100 * (number % 7)
        duration_s = 0.2 + rows * 1e6 / 2e9
        model.observe(
            Measurement(
                number, float(number), ran, ran, arrivals_per_s=1_000.0,
                latency_s=before_s / 2 + duration_s, batches=(BatchSample(rows, duration_s, ran),),
            ),
            had_backlog=False,
        )  # fmt: skip
        before_s = duration_s
    predicted = model.predict_s(np.full((1, 1), 1_000.0))
    assert predicted[0, 0, 1, 0] == pytest.approx(0.6, rel=0.1)
    assert predicted[0, 0, 3, 1] < predicted[0, 0, 1, 0]
    assert model.service_per_s()[1, 0] == pytest.approx(2_000.0, rel=0.1)
    assert model.floor_s == pytest.approx(0.3, rel=0.1)


def test_risk_measures_by_hand() -> None:
    costs = np.asarray([[1.0], [2.0], [3.0], [10.0]])
    assert at_risk(costs, "mean", 0.25) == pytest.approx(4.0)
    assert at_risk(costs, "cvar", 0.25) == pytest.approx(10.0)
    assert at_risk(costs, "cvar", 0.5) == pytest.approx(6.5)
    assert at_risk(costs, "cvar", 1.0) == pytest.approx(4.0)
    assert at_risk(costs, "cvar", 0.01) == pytest.approx(10.0)  # at least one scenario


def test_a_cold_batch_does_not_teach_that_rows_cost_nothing() -> None:
    """Few rows that took long, because new executors ran their first tasks in it."""
    model = MicroBatchLatency(SPACE, step_s=1.0)
    ran = Configuration(2, 1_000_000)

    def observe(rows: int, duration_s: float, cold: bool) -> None:
        sample = BatchSample(rows, duration_s, ran, cold)
        model.observe(Measurement(1, 1.0, ran, ran, batches=(sample,)), had_backlog=False)

    for _ in range(3):
        observe(2_000, 1.2, cold=False)
    before = model.service_per_s()
    for _ in range(3):
        observe(500, 12.0, cold=True)
    np.testing.assert_array_equal(model.service_per_s(), before)


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_a_load_that_falls_or_rises_does_not_make_batches_look_slow_or_fast(factor: float) -> None:
    model = MicroBatchLatency(SPACE, step_s=1.0)
    ran, interval_s = Configuration(4, 2_000_000), 12.0
    rates_per_s = 2_000.0 * factor ** np.arange(40)
    for number, (before_per_s, now_per_s) in enumerate(pairwise(rates_per_s), start=1):
        rows = int(before_per_s * interval_s)
        duration_s = 1.0 + rows * 1e6 / 8e9
        model.observe(
            Measurement(
                number, number * interval_s, ran, ran, arrivals_per_s=float(now_per_s),
                latency_s=interval_s / 2 + duration_s,
                batches=(BatchSample(rows, duration_s, ran),), trigger_interval_s=interval_s,
            ),
            had_backlog=False,
        )  # fmt: skip
    assert model.scenario_ratios(20) == pytest.approx(np.ones(20), abs=2e-3)
