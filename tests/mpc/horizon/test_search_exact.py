"""`solve` equals exhaustive search: each constraint alone, any combination, coarse tables too."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mpc.horizon.sizes
from mpc.horizon.problem import HorizonProblem
from mpc.horizon.search import solve
from tests.mpc.horizon.instances import NAMES, problems
from tests.mpc.horizon.reference import admissible, optimum

# Small problems, so more of them than the profile asks for.
many = settings(max_examples=4 * settings().max_examples)


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


@given(data=st.data())
def test_dead_times_around_the_horizon(data: st.DataObject) -> None:
    others = tuple(name for name in NAMES[1:] if data.draw(st.booleans()))
    names = ("dead_time", *others)
    assert_optimal(data.draw(problems(names, max_horizon=6, largest=3, max_dead_time=7)))


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
    monkeypatch.setattr(mpc.horizon.sizes, "BOUND_ENTRIES", entries)
    monkeypatch.setattr(mpc.horizon.sizes, "CAUTIOUS_ENTRIES", entries)
    monkeypatch.setattr(mpc.horizon.sizes, "FEWEST_LEVELS", 2)
    others = tuple(name for name in NAMES[1:] if data.draw(st.booleans()))
    names = ("dead_time", *others)
    problem = data.draw(problems(names, max_horizon=5, largest=4, max_dead_time=4))
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
