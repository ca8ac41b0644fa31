"""What is told of the moves that were not made is true."""

import numpy as np
import pytest
from hypothesis import given

from mpc.horizon.first_moves import FirstMoves
from mpc.horizon.problem import HorizonProblem
from mpc.horizon.search import solve
from mpc.horizon.trajectory import cost_terms
from mpc.policies.foresight.rejected import COUNT, rejected_moves
from tests.mpc.horizon.instances import problems
from tests.mpc.horizon.reference import admissible


@given(problem=problems())
def test_staying_costs_what_the_constant_trajectory_costs(problem: HorizonProblem) -> None:
    moves = FirstMoves(problem)
    for n, f in np.ndindex(*moves.staying.shape):
        trajectory = (problem.space.at(n, f),) * problem.horizon
        assert moves.staying[n, f] == pytest.approx(cost_terms(problem, trajectory).total)


@given(problem=problems(horizons=(1, 3), largest=5))
def test_moves_and_their_costs_are_those_of_all_trajectories(problem: HorizonProblem) -> None:
    moves, plan = FirstMoves(problem), solve(problem)
    least: dict[tuple[int, int], float] = {}
    for candidate in admissible(problem):
        first = problem.space.index(candidate.trajectory[0])
        least[first] = min(candidate.cost, least.get(first, np.inf))
    assert {(int(n), int(f)) for n, f in np.argwhere(moves.allowed)} == set(least)
    budgeted = problem.constraints.energy_budget_j is not None
    for first, cost in least.items():
        told = moves.beginning_with(plan, problem.space.at(*first))
        slack = 1e-3 * max(1.0, abs(cost))
        assert told.cost.total >= cost - slack
        if told.least and not budgeted:
            assert told.cost.total == pytest.approx(cost, abs=slack)
        if problem.horizon <= 2 and not budgeted and plan.trajectory[0] != told.configuration:
            assert told.least


@given(problem=problems(horizons=(1, 3), largest=6))
def test_alternatives_are_others_and_sorted(problem: HorizonProblem) -> None:
    plan = solve(problem)
    target = plan.trajectory[0]
    told = rejected_moves(problem, plan, target, None)
    places = [alternative.configuration for alternative in told]
    assert target not in places
    assert len(set(places)) == len(places)
    assert len(told) <= COUNT
    totals = [alternative.cost.total for alternative in told]
    assert totals == sorted(totals)
    moves = FirstMoves(problem)
    stay = problem.space.at(*moves.current)
    if target != stay and moves.allowed[moves.current]:
        assert stay in places
    for alternative in told:
        forbidden = not moves.allowed[problem.space.index(alternative.configuration)]
        assert forbidden == ("is against" in alternative.reason)
    if target != stay:
        held = rejected_moves(problem, plan, stay, "held")
        assert [a.reason for a in held if a.configuration == target] == ["held"]
        assert stay not in [alternative.configuration for alternative in held]
