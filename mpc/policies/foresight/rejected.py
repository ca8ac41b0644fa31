"""The first moves that a plan did not take, with their cost, for the explanation of a decision."""

import numpy as np

from mpc.horizon.first_moves import FirstMove, FirstMoves
from mpc.horizon.problem import HorizonProblem
from mpc.horizon.trajectory import cost_terms
from mpc.values import Alternative, Configuration, FloatArray, Plan

COUNT = 3


def rejected_moves(
    problem: HorizonProblem, plan: Plan, target: Configuration, held: str | None
) -> tuple[Alternative, ...]:
    """At most `COUNT` alternatives to the target, cheapest first.

    To stay where it is, is always among them. `held` says why the target is not the first move of
    the plan, which then is one of the alternatives; None where it is. A move that only a limit
    forbids is told where it would have been cheaper.
    """
    moves = FirstMoves(problem)
    current = problem.space.at(*moves.current)
    chosen, found = plan.cost.total, []
    if held is not None:
        chosen = float(moves.staying[moves.current])
        found.append(Alternative(plan.trajectory[0], plan.cost, held))
    elif target != current and moves.allowed[moves.current]:
        stay = moves.beginning_with(plan, current)
        found.append(Alternative(current, stay.cost, f"to stay now {_words(stay, chosen)}"))
    free, forbidden = moves.staying.copy(), moves.staying.copy()
    free[~moves.allowed] = np.inf
    forbidden[moves.allowed] = np.inf
    for configuration in (target, plan.trajectory[0], current):
        at = problem.space.index(configuration)
        free[at] = forbidden[at] = np.inf
    cheapest = _cheapest(problem, forbidden)
    if cheapest is not None and forbidden.min() < chosen:
        cost = cost_terms(problem, (cheapest,) * problem.horizon)
        found.append(Alternative(cheapest, cost, _limit(problem, cheapest)))
    while len(found) < COUNT and (candidate := _cheapest(problem, free)) is not None:
        move = moves.beginning_with(plan, candidate)
        found.append(Alternative(candidate, move.cost, _words(move, chosen)))
        free[problem.space.index(candidate)] = np.inf
    return tuple(sorted(found, key=lambda alternative: alternative.cost.total))


def _cheapest(problem: HorizonProblem, costs: FloatArray) -> Configuration | None:
    n, f = divmod(int(costs.argmin()), costs.shape[1])
    return None if np.isinf(costs[n, f]) else problem.space.at(n, f)


def _words(move: FirstMove, chosen: float) -> str:
    more = move.cost.total - chosen
    if more <= 0:
        return f"costs {-more:.3g} less over the horizon, which no change is made for"
    return f"costs {'' if move.least else 'at most '}{more:.3g} more over the horizon"


def _limit(problem: HorizonProblem, move: Configuration) -> str:
    """The limits that forbid a move."""
    limits = problem.constraints
    since, added = limits.steps_since_change, move.executors - problem.current.executors
    found = []
    if since is not None and since < limits.min_dwell_steps:
        found.append(f"min_dwell_steps = {limits.min_dwell_steps}")
    if limits.max_added_per_step is not None and added > limits.max_added_per_step:
        found.append(f"max_added_per_step = {limits.max_added_per_step}")
    if limits.max_removed_per_step is not None and -added > limits.max_removed_per_step:
        found.append(f"max_removed_per_step = {limits.max_removed_per_step}")
    cap_w, power_w = limits.power_cap_w, limits.power_w
    if cap_w is not None and power_w is not None and power_w[problem.space.index(move)] > cap_w:
        found.append(f"power_cap_w = {cap_w:g}")
    return f"to go there and stay would cost less, but is against {' and '.join(found)}"
