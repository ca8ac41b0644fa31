"""A horizon problem as the plain arrays and indices that compiled code works on.

Executor counts and frequencies become indices, absent limits become limits that never bind, and
the minima of every stage are subtracted: an offset of 1e15 in a cost table would otherwise eat the
digits that tell two configurations apart.
"""

from typing import NamedTuple

import numpy as np

from forecasting.compiled import compiled
from mpc.horizon.problem import Backlog, HorizonProblem
from mpc.horizon.qos import latency_cost
from mpc.values import FloatArray, IntArray


class Core(NamedTuple):
    """The problem for compiled code. A stage t sees the executors that are *active* in it."""

    latency_s: FloatArray
    stage_cost: FloatArray
    """(h, N, F): latency cost without backlog, less `stage_offset`."""
    stage_offset: FloatArray
    """(h,): the least latency cost that the stage can have."""
    resource_cost: FloatArray
    """(N, F), less its minimum `resource_offset`."""
    resource_offset: float
    executor_switching: float
    frequency_switching: float
    executor: int
    """Index of the current executor count."""
    frequency: int
    recent: IntArray
    """(d,): indices of the last d requests, oldest first."""
    active_cap: IntArray
    """(h,): the most executors that can be active in a stage, from the recent requests alone."""
    monotone: bool
    """More active executors never cost more, at any frequency and backlog."""
    added: IntArray
    """(h,): most executors that may be added in a stage; 0 where they would come too late."""
    holds: bool
    """Whether no best plan gives up executors before those that it added serve."""
    removed: int
    locked: int
    """Stages in which the current configuration must still be held."""
    dwell: int
    """Further stages that a new configuration must be held after the one that introduced it."""
    power_w: FloatArray
    power_cap_w: float
    power_limit_w: FloatArray
    """(N,): the cap, or the least power within reach of a previous executor count above it."""
    energy_j: FloatArray
    """(N, F): of one stage; zero without a budget."""
    energy_limit_j: float
    has_backlog: bool
    initial_items: float
    arrived_items: FloatArray
    """(h,): items that arrive in a stage."""
    service_per_s: FloatArray
    step_s: float
    qos_weight: float
    qos_offset_s: float
    qos_scale_s: float
    qos_normalised: bool


ROUNDING = 1e-12
"""Relative differences below this are ties: sums over a horizon do not resolve them."""

_NONE = np.zeros(0)
_NO_GRID = np.zeros((1, 1))
_NO_BACKLOG = Backlog(0.0, _NONE, _NO_GRID, 1.0)


def core_of(problem: HorizonProblem) -> Core:
    """Indices, limits and reduced costs of `problem`; the energy budget is not yet relaxed."""
    space, constraints, qos = problem.space, problem.constraints, problem.qos
    latency_s = _plain(problem.latency_s)
    horizon, executors, frequencies = latency_s.shape
    executor, frequency = space.index(problem.current)
    recent = np.array(_recent_indices(problem, executor), dtype=np.int64)
    active_cap = active_caps(recent, horizon, executors)
    added = _limit(constraints.max_added_per_step, executors)
    removed = _limit(constraints.max_removed_per_step, executors)
    power_w, cap_w, limit_w = _NO_GRID, np.inf, _NONE
    energy_j, energy_limit_j = np.zeros((executors, frequencies)), np.inf
    if constraints.power_w is not None:
        power_w = _plain(constraints.power_w)
        if constraints.power_cap_w is not None:
            cap_w = float(constraints.power_cap_w)
            limit_w = _power_limits(power_w.min(axis=1), cap_w, added, removed)
        if constraints.energy_budget_j is not None and constraints.step_s is not None:
            energy_j = power_w * constraints.step_s
            energy_limit_j = float(constraints.energy_budget_j)
    dwell, locked = _dwell(problem, horizon)
    holds = _holds(problem)
    resource_offset = float(problem.resource_cost.min())
    backlog = problem.backlog or _NO_BACKLOG
    core = Core(
        latency_s=latency_s,
        stage_cost=_plain(qos.cost(latency_s)),
        stage_offset=np.empty(horizon),
        resource_cost=_plain(problem.resource_cost - resource_offset),
        resource_offset=resource_offset,
        executor_switching=float(problem.executor_switching),
        frequency_switching=float(problem.frequency_switching),
        executor=executor,
        frequency=frequency,
        recent=recent,
        active_cap=active_cap,
        monotone=recent.size > 1 and _monotone(problem),
        added=_added(problem, added, holds),
        holds=holds,
        removed=removed,
        locked=locked,
        dwell=dwell,
        power_w=power_w,
        power_cap_w=cap_w,
        power_limit_w=limit_w,
        energy_j=energy_j,
        energy_limit_j=energy_limit_j,
        has_backlog=problem.backlog is not None,
        initial_items=float(backlog.initial_items),
        arrived_items=_plain(backlog.arrivals_per_s * backlog.step_s),
        service_per_s=_plain(backlog.service_per_s),
        step_s=float(backlog.step_s),
        qos_weight=float(qos.weight),
        qos_offset_s=float(qos.offset_s),
        qos_scale_s=float(qos.scale_s),
        qos_normalised=qos.mode == "normalised",
    )
    _subtract_stage_minima(core)
    return core


def _plain(values: FloatArray) -> FloatArray:
    """Contiguous and writable: any other layout would be compiled anew, inside a control step."""
    plain = np.ascontiguousarray(values)
    return plain if plain.flags.writeable else plain.copy()


def _recent_indices(problem: HorizonProblem, executor: int) -> list[int]:
    constraints = problem.constraints
    if constraints.recent_requests:
        return [problem.space.executor_index(count) for count in constraints.recent_requests]
    return [executor] * constraints.dead_time_steps


def active_caps(recent: IntArray, horizon: int, executors: int) -> IntArray:
    """(h,): index of the most executors that can serve in a stage, of `executors` there are.

    Stage t < d still feels the recent requests t, t+1, .., d-1.
    """
    caps = np.full(horizon, executors - 1, dtype=np.int64)
    if recent.size:
        felt = np.minimum.accumulate(recent[::-1])[::-1][:horizon]
        caps[: felt.size] = np.minimum(felt, executors - 1)
    return caps


def _limit(per_step: int | None, executors: int) -> int:
    return executors if per_step is None else min(per_step, executors)


def _holds(problem: HorizonProblem) -> bool:
    """Whether every executor that is requested costs something, and brings nothing until it serves.

    Then a best plan that adds executors in stage t keeps them up to stage t + d. Let v be the
    largest sequence below the requests u that does (the opening of u by windows of d + 1 stages,
    with what was requested before as a plateau in front): the minimum of every window, which is
    what is active, is the same, and wherever v moves, u moves at least as far.
    """
    constraints = problem.constraints
    if constraints.dead_time_steps == 0:
        return False
    tables = [problem.resource_cost]
    if constraints.power_cap_w is not None or constraints.energy_budget_j is not None:
        tables += [] if constraints.power_w is None else [constraints.power_w]
    recent = constraints.recent_requests
    pending = bool(recent) and recent[-1] > problem.current.executors
    return not pending and all(bool((np.diff(table, axis=0) > 0.0).all()) for table in tables)


def _added(problem: HorizonProblem, limit: int, holds: bool) -> IntArray:
    """None where they would serve after the horizon only."""
    added = np.full(problem.horizon, limit, dtype=np.int64)
    if holds:
        added[max(problem.horizon - problem.constraints.dead_time_steps, 0) :] = 0
    return added


def _dwell(problem: HorizonProblem, horizon: int) -> tuple[int, int]:
    """(dwell, locked): locks longer than the horizon are all the same."""
    constraints = problem.constraints
    dwell = min(max(constraints.min_dwell_steps - 1, 0), horizon - 1)
    if constraints.steps_since_change is None:
        return dwell, 0
    remaining = constraints.min_dwell_steps - constraints.steps_since_change
    return dwell, min(max(remaining, 0), horizon)


def _power_limits(row_minima_w: FloatArray, cap_w: float, added: int, removed: int) -> FloatArray:
    """The cap for every previous executor count, or the least power within reach above it."""
    limits = np.full(row_minima_w.size, cap_w)
    if row_minima_w.max() > cap_w:
        for executor in range(row_minima_w.size):
            reach = row_minima_w[max(0, executor - removed) : executor + added + 1]
            limits[executor] = max(cap_w, float(reach.min()))
    return limits


def _monotone(problem: HorizonProblem) -> bool:
    falling = bool((np.diff(problem.latency_s, axis=1) <= 0).all())
    if problem.backlog is None:
        return falling
    return falling and bool((np.diff(problem.backlog.service_per_s, axis=0) >= 0).all())


class Block(NamedTuple):
    """A stage, the items waiting as it begins, and a range of active executors and frequencies."""

    stage: int
    items: float
    first_executor: int
    last_executor: int
    first_frequency: int
    last_frequency: int


@compiled
def price_block(core: Core, block: Block, cost: FloatArray, items_after: FloatArray) -> None:
    """Latency cost, less its offset, and the items that wait after the stage, (N, F) each.

    q' = max(0, q + (arrivals - service) * step); the latency includes q / service.
    """
    stage, items = block.stage, block.items
    latency_s, stage_cost, service_per_s = core.latency_s, core.stage_cost, core.service_per_s
    offset = core.stage_offset[stage]
    weight, normalised = core.qos_weight, core.qos_normalised
    offset_s, scale_s = core.qos_offset_s, core.qos_scale_s
    total = items + core.arrived_items[stage] if core.has_backlog else 0.0
    for n in range(block.first_executor, block.last_executor + 1):
        for f in range(block.first_frequency, block.last_frequency + 1):
            if core.has_backlog:
                served_per_s = service_per_s[n, f]
                waited_s = latency_s[stage, n, f] + items / served_per_s
                full = latency_cost(waited_s, weight, offset_s, scale_s, normalised)
                cost[n, f] = full - offset
                items_after[n, f] = max(0.0, total - served_per_s * core.step_s)
            else:
                cost[n, f] = stage_cost[stage, n, f]
                items_after[n, f] = 0.0


@compiled
def _subtract_stage_minima(core: Core) -> None:
    """Fill `stage_offset`, in place: over what can be active, at the least backlog possible."""
    horizon, executors, frequencies = core.stage_cost.shape
    cost = np.empty((executors, frequencies))
    items_after = np.empty((executors, frequencies))
    items = core.initial_items
    for stage in range(horizon):
        core.stage_offset[stage] = 0.0
        usable = core.active_cap[stage] + 1
        block = Block(stage, items, 0, usable - 1, 0, frequencies - 1)
        price_block(core, block, cost, items_after)
        core.stage_offset[stage] = cost[:usable].min()
        core.stage_cost[stage] -= core.stage_offset[stage]
        items = items_after[:usable].min()
