"""The exact optimiser of one control step: `solve` a horizon problem within a node budget.

Without constraints that dynamic programming cannot carry, the relaxed cost-to-go is exact and the
answer is one descent through it; the search exists for energy budgets, backlog, long dead times in
large spaces, and their combinations.
"""

from dataclasses import replace
from operator import itemgetter

import numpy as np

from mpc.horizon.bounds import cost_to_go
from mpc.horizon.branch import NOTHING, Effort, Guide, branch_and_bound
from mpc.horizon.core import ROUNDING, Core, core_of
from mpc.horizon.energy_budget import NO_ENERGY, NO_PRICE, least_energy, priced_guide
from mpc.horizon.incumbent import cautious_trajectory, spread_levels
from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.relaxation import backlog_grid, relax
from mpc.horizon.sizes import bound_sizes, cautious_sizes, exact_stairs, nearly_exact_stairs
from mpc.horizon.staircase import stairs_over
from mpc.horizon.trajectory import cost_terms
from mpc.values import ConfigurationSpace, FloatArray, IntArray, Plan

PRICED_PER_NODE = 128
"""In spaces with more configurations than this, a node takes more than one from the budget, so
that it bounds the time for 1,000 executors as it does for 12."""
ENERGY_ROUNDING = 1e-9
"""Relative: more than sums of joules in different orders differ by."""


def solve(problem: HorizonProblem, node_budget: int = 200_000, tolerance: float = 1e-4) -> Plan:
    """The cheapest trajectory, or the best one found within the budget with its proven gap.

    A node is a partial trajectory that the search visits (5 to 10 microseconds each). There is a
    feasible plan for any budget. Among trajectories of equal cost the one that moves least, stage
    by stage, is taken.
    """
    if node_budget < 1:
        raise ValueError(f"node_budget must be >= 1, got {node_budget}")
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be within 0 <= tolerance < 1, got {tolerance}")
    core = core_of(problem)
    offset = float(core.stage_offset.sum()) + core.resource_offset * problem.horizon
    effort = Effort(node_budget, node_budget * PRICED_PER_NODE, float(tolerance), offset, True)
    path, cost, lower, nodes = _search(core, effort)
    trajectory = tuple(problem.space.at(n, f) for n, f in path.tolist())
    terms = cost_terms(problem, trajectory)
    gap = cost - lower
    allowed = tolerance * max(0.0, min(lower, lower + offset)) + 2 * ROUNDING * cost
    return Plan(
        trajectory=trajectory,
        cost=terms,
        lower_bound=terms.total - gap,
        nodes=nodes,
        proven=gap <= allowed,
        relaxed=_relaxed(problem, path),
    )


def warm_up() -> None:
    """Compile everything, or load it from the cache on disk; call it once at start-up."""
    space = ConfigurationSpace(1, 2, (1_000_000, 2_000_000))
    grid = np.array([[1.0, 2.0], [3.0, 4.0]])
    problem = HorizonProblem(
        space=space,
        current=space.at(0, 0),
        latency_s=np.stack([1.0 / grid] * 4),
        qos=QosCurve(weight=1.0, offset_s=0.0, scale_s=1.0),
        resource_cost=grid,
        executor_switching=1.0,
        frequency_switching=1.0,
    )
    solve(problem)
    everything = Constraints(
        dead_time_steps=2,
        max_added_per_step=1,
        min_dwell_steps=2,
        power_w=grid,
        power_cap_w=3.0,
        energy_budget_j=9.0,
        step_s=1.0,
    )
    backlog = Backlog(1.0, np.ones(4), grid, 1.0)
    solve(replace(problem, constraints=everything, backlog=backlog))


def _search(core: Core, effort: Effort) -> tuple[IntArray, float, float, int]:
    limited = core.energy_limit_j < np.inf
    energy_to_go: FloatArray = NO_ENERGY
    if limited:
        energy_to_go, least_j = least_energy(core)
        limit_j = max(core.energy_limit_j, least_j)
        core = core._replace(energy_limit_j=limit_j + ENERGY_ROUNDING * abs(limit_j))
    sizes = bound_sizes(core)
    exact = exact_stairs(core, sizes)
    stairs = stairs_over(spread_levels(core, sizes.levels), sizes.minima, core, True)
    relaxation = relax(core, stairs, backlog_grid(core, sizes.cells), exact)
    known = NOTHING
    if limited:
        guide, known = priced_guide(core, relaxation, energy_to_go)
    else:
        guide = Guide(cost_to_go(core, relaxation, 0.0)[..., None], NO_PRICE, energy_to_go)
    if not nearly_exact_stairs(core, sizes):
        cautious = cautious_trajectory(core, energy_to_go, cautious_sizes(core))
        known = min(known, cautious, key=itemgetter(1))
    effort = effort._replace(remember=limited or core.has_backlog or not exact)
    return branch_and_bound(core, relaxation, guide, effort, known)


def _relaxed(problem: HorizonProblem, path: IntArray) -> tuple[str, ...]:
    """The constraints that the trajectory does not meet, because none could."""
    constraints = problem.constraints
    if constraints.power_w is None:
        return ()
    names = []
    power_w = constraints.power_w[path[:, 0], path[:, 1]]
    if constraints.power_cap_w is not None and power_w.max() > constraints.power_cap_w:
        names.append("power_cap")
    if constraints.energy_budget_j is not None and constraints.step_s is not None:
        budget_j = constraints.energy_budget_j
        energy_j = float(power_w.sum()) * constraints.step_s
        if energy_j > budget_j + 2 * ENERGY_ROUNDING * abs(budget_j):
            names.append("energy_budget")
    return tuple(names)
