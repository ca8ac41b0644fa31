"""Online parameter optimisation: the detector, the search, the replay and the policy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.bounds import Bounds
from mpc.policies.adaptive_window import LONGEST, AdaptiveWindow
from mpc.policies.parameter_search import (
    BEFORE_THE_FIRST_SEARCH,
    BreachCounter,
    ParameterSearchParameters,
    ParameterSearchPolicy,
    Thresholds,
    demanded_executors,
    replayed_cost,
)
from mpc.policies.random_search import search
from mpc.values import BatchSample, Configuration, ConfigurationSpace, FloatArray, Measurement

SPACE = ConfigurationSpace(4, 24, (2_000_000,))
PARAMETERS = ParameterSearchParameters(30.0, 10.0, violation_executors=24.0)
ANYWHERE = Configuration(8, 2_000_000)


def test_the_window_notices_a_shift_and_forgets_what_was_before() -> None:
    random = np.random.default_rng(3)
    window = AdaptiveWindow(0.5)
    calm = [window.add(value) for value in random.normal(0.3, 0.05, 200)]
    assert not any(calm)
    assert len(window) == 200
    shifted = [window.add(value) for value in random.normal(0.6, 0.05, 50)]
    assert any(shifted)
    assert shifted.index(True) < 15
    assert len(window) < 60


def test_a_cautious_window_needs_more_samples_for_the_same_shift() -> None:
    noticed = []
    for confidence in (0.5, 0.002):
        window = AdaptiveWindow(confidence)
        series = np.random.default_rng(3).normal([0.3] * 100 + [0.6] * 60, 0.05)
        noticed.append([window.add(value) for value in series].index(True))
    assert 100 <= noticed[0] < noticed[1]


@given(value=st.floats(0, 1), count=st.integers(1, 100))
def test_a_constant_never_changes(value: float, count: int) -> None:
    window = AdaptiveWindow(0.5)
    assert not any(window.add(value) for _ in range(count))
    assert len(window) == count


def test_the_window_is_bounded() -> None:
    window = AdaptiveWindow(0.002)
    for _ in range(LONGEST + 10):
        window.add(0.5)
    assert len(window) == LONGEST


@pytest.mark.parametrize("seed", range(3))
def test_the_search_gets_close_to_the_least_of_a_rugged_function(seed: int) -> None:
    least = np.array([0.2, 0.7, 0.4, 0.9])

    def cost(point: FloatArray) -> float:
        away = point - least
        return float(np.sum(away**2 + 0.01 * (1 - np.cos(20 * away))))

    start = np.full(4, 0.5)
    found = search(cost, start, np.random.default_rng(seed), 600)
    assert cost(found) < 0.1 * cost(start)
    uniform = np.random.default_rng(seed).random((600, 4))
    assert cost(found) < min(cost(point) for point in uniform)


@given(
    start=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    seed=st.integers(0, 100),
    evaluations=st.integers(1, 150),
)
def test_the_search_keeps_its_budget_and_is_never_worse_than_its_start(
    start: list[float], seed: int, evaluations: int
) -> None:
    seen: list[FloatArray] = []

    def cost(point: FloatArray) -> float:
        seen.append(point)
        return float(np.sum((point - 0.3) ** 2))

    found = search(cost, np.asarray(start), np.random.default_rng(seed), evaluations)
    assert len(seen) == evaluations
    assert all(((point >= 0) & (point <= 1)).all() for point in seen)
    assert cost(found) <= cost(np.asarray(start))


@given(point=st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_thresholds_are_in_their_ranges_and_on_their_step(point: list[float]) -> None:
    found = PARAMETERS.thresholds(np.asarray(point))
    assert 0 < found.lower < found.upper < 1
    for breaches in (found.upper_breaches, found.lower_breaches):
        assert 2 <= breaches <= 128
        assert (breaches - 2) % 4 == 0
    again = PARAMETERS.thresholds(PARAMETERS.point(found))
    assert again.upper == pytest.approx(found.upper)
    assert again.lower == pytest.approx(found.lower)


def test_breaches_must_follow_each_other() -> None:
    counter = BreachCounter()
    thresholds = Thresholds(0.8, 0.4, upper_breaches=2, lower_breaches=3)

    def changes(*utilisations: float) -> list[int]:
        return [counter.change(thresholds, value, late=False) for value in utilisations]

    assert changes(0.9, 0.7, 0.9, 0.9, 0.9, 0.9) == [0, 0, 0, 1, 0, 1]
    assert changes(0.3, 0.3, 0.5, 0.3, 0.3, 0.3) == [0, 0, 0, 0, 0, -1]
    assert [counter.change(thresholds, 0.1, late=True) for _ in range(2)] == [0, 1]


def test_the_demand_comes_from_cycles_or_from_batches() -> None:
    def measured(**fields: Any) -> Measurement:
        return Measurement(1, 1.0, ANYWHERE, ANYWHERE, **fields)

    assert demanded_executors(measured(arrivals_per_s=100.0, cost_cycles=1e8), 2_000_000) == 5.0
    assert demanded_executors(measured(arrivals_per_s=100.0), 2_000_000) is None
    assert demanded_executors(measured(cost_cycles=1e8), 2_000_000) is None
    batch = BatchSample(rows=1000, duration_s=5.0, ran_on=ANYWHERE)
    by_batches = Measurement(1, 1.0, ANYWHERE, ANYWHERE, arrivals_per_s=100.0, batches=(batch,))
    assert demanded_executors(by_batches, 2_000_000) == pytest.approx(4.0)


def test_the_cost_knows_latency_and_executors() -> None:
    def cost(demand: Callable[[FloatArray], FloatArray], thresholds: Thresholds) -> float:
        demands = demand(np.arange(120.0))
        return replayed_cost(demands, 4, thresholds, PARAMETERS, SPACE)

    quick = Thresholds(0.8, 0.4, upper_breaches=2, lower_breaches=6)
    slow = Thresholds(0.8, 0.4, upper_breaches=62, lower_breaches=6)

    def heavy(steps: FloatArray) -> FloatArray:
        return np.full_like(steps, 10.0)

    def idle(steps: FloatArray) -> FloatArray:
        return np.full_like(steps, 2.0)

    assert cost(heavy, quick) < cost(heavy, slow)  # waiting costs more than executors do
    assert cost(idle, quick) == pytest.approx(4.0)
    greedy = Thresholds(0.5, 0.05, upper_breaches=2, lower_breaches=6)
    assert cost(idle, quick) <= cost(idle, greedy)


def driven(demand_executors: list[float], seed: int) -> tuple[ParameterSearchPolicy, list[int]]:
    policy = ParameterSearchPolicy(SPACE, PARAMETERS, np.random.default_rng(seed))
    executors, taken = 4, []
    for step, demand in enumerate(demand_executors):
        running = Configuration(executors, 2_000_000)
        decision = policy.decide(
            Measurement(
                step,
                10.0 * step,
                running,
                running,
                arrivals_per_s=demand * 20.0,
                cost_cycles=1e8,
                latency_s=12.0 if demand < executors else 60.0,
            ),
            Bounds(SPACE),
        )
        executors = decision.target.executors
        taken.append(executors)
    return policy, taken


def test_a_change_of_load_changes_the_thresholds_and_the_same_seed_repeats_it() -> None:
    steady, _ = driven([3.0] * 100, seed=1)
    assert steady.thresholds == BEFORE_THE_FIRST_SEARCH
    changing = [3.0] * 60 + [12.0] * 60 + [5.0] * 120
    policy, taken = driven(changing, seed=1)
    assert policy.thresholds != BEFORE_THE_FIRST_SEARCH
    assert max(taken[:60]) == 4
    assert taken[119] >= 12
    assert driven(changing, seed=1)[1] == taken
