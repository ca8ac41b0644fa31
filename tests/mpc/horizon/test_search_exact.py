"""`solve` equals exhaustive search: each constraint alone, any combination, coarse tables too."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mpc.horizon.search
import mpc.horizon.sizes
from mpc.horizon.problem import Constraints, HorizonProblem, QosCurve
from mpc.horizon.search import solve
from mpc.values import ConfigurationSpace
from tests.mpc.horizon.instances import NAMES, problems
from tests.mpc.horizon.reference import admissible, optimum

# Small problems, so more of them than the profile asks for.
many = settings(max_examples=3 * settings().max_examples)


def assert_optimal(problem: HorizonProblem) -> None:
    best = optimum(problem)
    slack = 1e-9 * max(1.0, abs(best.cost))
    plan = solve(problem, tolerance=0.0)
    assert plan.cost.total == pytest.approx(best.cost, abs=slack)
    assert plan.proven
    assert best.cost - slack <= plan.lower_bound + slack
    assert plan.lower_bound <= plan.cost.total
    constraints = problem.constraints
    budget_j = constraints.energy_budget_j
    unmet = budget_j is not None and best.energy_j > budget_j + 1e-6
    assert ("energy_budget" in plan.relaxed) == unmet


@pytest.mark.parametrize("name", [None, *NAMES])
@many
@given(data=st.data())
def test_one_constraint_alone(name: str | None, data: st.DataObject) -> None:
    assert_optimal(data.draw(problems(() if name is None else (name,))))


@many
@given(problem=problems())
def test_any_combination(problem: HorizonProblem) -> None:
    assert_optimal(problem)


@pytest.mark.parametrize("horizon", [4, 5, 6])
@given(data=st.data())
def test_dead_times_around_the_horizon(horizon: int, data: st.DataObject) -> None:
    names = ("dead_time", *(name for name in NAMES[1:] if data.draw(st.booleans())))
    longest = (2, horizon + 1)
    assert_optimal(data.draw(problems(names, (horizon, horizon), longest, largest=3)))


@pytest.mark.parametrize("entries", [1, 1_000_000])
@pytest.mark.parametrize("horizon", range(2, 9))
def test_executors_are_asked_for_in_time(
    horizon: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of the load at any stage, any dead time, with exact and with coarse tables."""
    monkeypatch.setattr(mpc.horizon.search, "ROUND_ENTRIES", (entries, entries + 1, 2 * entries))
    space = ConfigurationSpace(1, 2, (1_000_000,))
    for dead_time, stage in product(range(1, horizon + 1), range(horizon)):
        latency_s = np.zeros((horizon, 2, 1))
        latency_s[stage:, 0] = 5.0
        problem = HorizonProblem(
            space=space,
            current=space.at(0, 0),
            latency_s=latency_s,
            qos=QosCurve(1.0, 0.0, 1.0),
            resource_cost=np.array([[0.0], [1.0]]),
            executor_switching=0.1,
            frequency_switching=0.0,
            constraints=Constraints(dead_time_steps=dead_time),
        )
        assert_optimal(problem)


@pytest.mark.parametrize("entries", [1, 100, 500])
@settings(
    max_examples=2 * settings().max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_coarse_tables_only_cost_nodes(
    entries: int, data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large spaces get rounded levels, fewer minima and cells; here small ones do."""
    monkeypatch.setattr(mpc.horizon.search, "ROUND_ENTRIES", (entries, entries + 1, 2 * entries))
    monkeypatch.setattr(mpc.horizon.sizes, "FEWEST_LEVELS", 2)
    names = ("dead_time", *(name for name in NAMES[1:] if data.draw(st.booleans())))
    problem = data.draw(problems(names, (2, 5), (2, 4), largest=4))
    assert_optimal(problem)
    best = optimum(problem).cost
    assert solve(problem, node_budget=1).lower_bound <= best + 1e-9 * max(1.0, abs(best))


@given(problem=problems(), budget=st.integers(1, 30), tolerance=st.sampled_from([0.0, 1e-4, 0.1]))
def test_any_budget_gives_an_admissible_plan_and_an_honest_bound(
    problem: HorizonProblem, budget: int, tolerance: float
) -> None:
    plan = solve(problem, node_budget=budget, tolerance=tolerance)
    best = optimum(problem)
    slack = 1e-9 * max(1.0, abs(best.cost))
    assert plan.lower_bound <= best.cost + slack
    assert plan.lower_bound <= plan.cost.total
    assert plan.cost.total >= best.cost - slack
    if plan.proven:
        assert plan.cost.total <= best.cost + tolerance * max(best.cost, 0.0) + slack
    by_trajectory = {candidate.trajectory: candidate for candidate in admissible(problem)}
    chosen = by_trajectory[plan.trajectory]
    assert plan.cost.total == pytest.approx(chosen.cost, abs=slack)
    budget_j = problem.constraints.energy_budget_j
    if budget_j is not None:
        least_j = min(candidate.energy_j for candidate in by_trajectory.values())
        assert chosen.energy_j <= max(budget_j, least_j) + 1e-6
