"""The exact optimiser of one control step: `solve` a horizon problem within a node budget.

Without constraints that dynamic programming cannot carry, the relaxed cost-to-go is exact and the
answer is one descent through it; the search exists for energy budgets, backlog, long dead times in
large spaces, and their combinations.
"""

from dataclasses import replace
from operator import itemgetter

import numpy as np

from mpc.horizon.bounds import cost_to_go
from mpc.horizon.branch import NOTHING, Effort, Guide, Known, branch_and_bound, slack
from mpc.horizon.core import ROUNDING, Core, core_of
from mpc.horizon.energy_budget import NO_ENERGY, NO_PRICE, descent, least_energy, priced_guide
from mpc.horizon.incumbent import cautious_trajectory, spread_levels
from mpc.horizon.narrowing import narrowed, same_executors
from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.relaxation import backlog_grid, relax
from mpc.horizon.sizes import (
    ROUND_ENTRIES,
    ROUND_NODES,
    Sizes,
    bound_sizes,
    cautious_sizes,
    exact_stairs,
    nearly_exact_stairs,
)
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
    # Also on the part that a cut leaves: what is saved there is not spent again.
    nodes = max(node_budget * PRICED_PER_NODE // max(core.resource_cost.size, PRICED_PER_NODE), 1)
    effort = Effort(nodes, node_budget * PRICED_PER_NODE, float(tolerance), offset, True)
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
    problem.qos.latency_s(grid)
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
    # What only some problems come to.
    core = core_of(replace(problem, constraints=Constraints(dead_time_steps=2)))
    stairs = stairs_over(spread_levels(core, 2), 2, core, True)
    relaxation = relax(core, stairs, backlog_grid(core, 1), False)
    narrowed(core, relaxation, cost_to_go(core, relaxation, 0.0), _steady(core))


def _search(core: Core, effort: Effort) -> tuple[IntArray, float, float, int]:
    """Rounds of ever larger tables on an ever smaller part of the space, each beginning with the
    best trajectory so far, until one proves it: the large tables of a long dead time are rarely
    needed, and what a round proves to be no part of a better trajectory need not be looked at
    again."""
    energy_to_go: FloatArray = NO_ENERGY
    limited = core.energy_limit_j < np.inf
    if limited:
        energy_to_go, least_j = least_energy(core)
        limit_j = max(core.energy_limit_j, least_j)
        core = core._replace(energy_limit_j=limit_j + ENERGY_ROUNDING * abs(limit_j))
    known, lower, visited, turn = NOTHING, -np.inf, 0, 0
    if not (limited or core.has_backlog) and core.stage_cost.size > ROUND_ENTRIES[0]:
        known = _steady(core)
    corner = np.zeros(2, dtype=np.int64)
    sizes: Sizes | None = None
    while turn < len(ROUND_ENTRIES):
        entries, last = ROUND_ENTRIES[turn], turn == len(ROUND_ENTRIES) - 1
        finer = bound_sizes(core, entries)
        if finer == sizes and not last:
            turn += 1
            continue
        sizes = finer
        exact = exact_stairs(core, sizes)
        final = last or (exact and sizes.cells == 1)
        if last and not nearly_exact_stairs(core, sizes):
            cautious = cautious_trajectory(core, energy_to_go, cautious_sizes(core, entries))
            known = min(known, cautious, key=itemgetter(1))
        nodes = max(effort.nodes - visited, 1)
        if not final:
            nodes = max(min(ROUND_NODES[turn], effort.nodes // 8), 1)
        stairs = stairs_over(spread_levels(core, sizes.levels), sizes.minima, core, True)
        relaxation = relax(core, stairs, backlog_grid(core, sizes.cells), exact)
        if limited:
            guide, priced = priced_guide(core, relaxation, energy_to_go)
            known = min(known, priced, key=itemgetter(1))
        else:
            guide = Guide(cost_to_go(core, relaxation, 0.0)[..., None], NO_PRICE, energy_to_go)
        spent = effort._replace(
            nodes=nodes,
            priced=nodes * PRICED_PER_NODE,
            remember=limited or core.has_backlog or not exact,
        )
        path, cost, below, count = branch_and_bound(core, relaxation, guide, spent, known)
        known, lower, visited = (path, cost), max(lower, below), visited + count
        if final or cost - lower <= slack(cost, effort):
            break
        part = None
        if not (limited or core.has_backlog or exact):
            part = narrowed(core, relaxation, guide.tables[..., 0], known)
        if part is None:
            turn += 1
            continue
        core, first = part
        known, corner, sizes = (path - first, cost), corner + first, None
    return known[0] + corner, known[1], min(lower, known[1]), visited


def _steady(core: Core) -> Known:
    """The best trajectory that keeps the executors, which often is the best of all."""
    frequencies = same_executors(core)
    stairs = stairs_over(spread_levels(frequencies, 1), 0, frequencies, True)
    relaxation = relax(frequencies, stairs, backlog_grid(frequencies, 1), True)
    guide = Guide(cost_to_go(frequencies, relaxation, 0.0)[..., None], NO_PRICE, NO_ENERGY)
    path, cost = descent(frequencies, relaxation, guide)
    return path + np.array([core.executor, 0]), cost


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
