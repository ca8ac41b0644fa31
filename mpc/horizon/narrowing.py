"""Cutting from the space what no best plan can choose.

The least relaxed cost of making a request at a stage, plus the cost-to-go after it, bounds every
trajectory through that request. Executor counts and frequencies at which this exceeds a known
trajectory at every stage cannot be part of a better one, and what remains of a large space is
usually small enough for fine tables.
"""

from typing import NamedTuple

import numpy as np

from forecasting.compiled import compiled
from mpc.horizon.branch import Known
from mpc.horizon.core import ROUNDING, Core, active_caps
from mpc.horizon.envelope import Window, scratch_for, window_transform
from mpc.horizon.relaxation import Relaxation
from mpc.values import FloatArray, IntArray

SMALLEST_CUT = 0.75
"""Share of the space that must be left at most for a cut to be worth it."""


class Cut(NamedTuple):
    """The part of the indices that is left, ends included."""

    first_executor: int
    last_executor: int
    first_frequency: int
    last_frequency: int


def narrowed(
    core: Core, relaxation: Relaxation, tables: FloatArray, known: Known
) -> tuple[Core, IntArray] | None:
    """The core on the smallest rectangle that holds all trajectories as good as `known`, and the
    indices of its first corner; None where little would be cut.

    `tables` is the `cost_to_go` of the relaxation, which has no backlog and is not exact.
    """
    path, cost = known
    # Contiguous: another layout would be compiled anew, inside a control step.
    to_go = _of_any_tail(np.ascontiguousarray(tables[:, 0, 0]), relaxation.stairs.lowest)
    stage_cost = np.ascontiguousarray(relaxation.cost[:, 0])
    limit = cost + ROUNDING * abs(cost)
    cut = Cut(*_kept(core, stage_cost, to_go, limit))
    executors, frequencies = core.resource_cost.shape
    rows = cut.last_executor - cut.first_executor + 1
    columns = cut.last_frequency - cut.first_frequency + 1
    first = np.array([cut.first_executor, cut.first_frequency], dtype=np.int64)
    # Only rounding could leave the known trajectory outside.
    inside = (path >= first) & (path < first + np.array([rows, columns]))
    if rows * columns > SMALLEST_CUT * executors * frequencies or not inside.all():
        return None
    return part(core, cut), first


def same_executors(core: Core) -> Core:
    """The core on the frequencies alone: its best trajectory keeps the executors."""
    return part(core, Cut(core.executor, core.executor, 0, core.resource_cost.shape[1] - 1))


def part(core: Core, cut: Cut) -> Core:
    """Requests of before that were for fewer than the part has are felt as what they were: their
    stages have the cost of that count, whatever is requested."""
    rows = slice(cut.first_executor, cut.last_executor + 1)
    columns = slice(cut.first_frequency, cut.last_frequency + 1)
    stage_cost = core.stage_cost[:, rows, columns].copy()
    executors = stage_cost.shape[1]
    for stage in range(min(core.recent.size, stage_cost.shape[0])):
        active = core.recent[stage:].min()
        if active < cut.first_executor:
            stage_cost[stage] = core.stage_cost[stage, active, columns]
    recent = np.clip(core.recent - cut.first_executor, 0, executors - 1)
    limited = core.power_limit_w.size > 0
    has_power = core.power_w.shape == core.resource_cost.shape
    return core._replace(
        stage_cost=stage_cost,
        resource_cost=np.ascontiguousarray(core.resource_cost[rows, columns]),
        executor=core.executor - cut.first_executor,
        frequency=core.frequency - cut.first_frequency,
        recent=recent,
        active_cap=active_caps(recent, stage_cost.shape[0], executors),
        power_w=np.ascontiguousarray(core.power_w[rows, columns]) if has_power else core.power_w,
        power_limit_w=core.power_limit_w[rows].copy() if limited else core.power_limit_w,
        energy_j=np.ascontiguousarray(core.energy_j[rows, columns]),
    )


@compiled
def _of_any_tail(table: FloatArray, lowest: IntArray) -> FloatArray:
    """(h + 1, N, F): the least of all tails that may follow a request; (h + 1, T, N, F) given."""
    stages, tails, executors, frequencies = table.shape
    least = np.full((stages, executors, frequencies), np.inf)
    for stage in range(1, stages):
        for tail in range(tails):
            for n in range(lowest[tail], executors):
                for f in range(frequencies):
                    least[stage, n, f] = min(least[stage, n, f], table[stage, tail, n, f])
    return least


@compiled
def _kept(
    core: Core, cost: FloatArray, cost_to_go: FloatArray, limit: float
) -> tuple[int, int, int, int]:
    """Ends of what lies on a trajectory of at most `limit`; the current configuration is kept."""
    horizon, executors, frequencies = cost.shape
    first_n = last_n = core.executor
    first_f = last_f = core.frequency
    late = core.recent.size > 0
    paid = np.full((executors, frequencies), np.inf)
    paid[core.executor, core.frequency] = 0.0
    turned = np.empty((executors, frequencies))
    column = np.empty(executors)
    best = np.empty(executors)
    scratch = scratch_for(max(executors, frequencies))
    every_f = Window(frequencies, frequencies, 0, frequencies - 1)
    for stage in range(horizon):
        cap = core.active_cap[stage]
        # Requests of before the horizon are in its cap; added ones serve later than this stage.
        grows_late = late and stage > 0
        for n in range(executors):
            window_transform(paid[n], core.frequency_switching, every_f, turned[n], scratch)
        for f in range(frequencies):
            ahead = Window(0 if grows_late else core.added[stage], core.removed, 0, executors - 1)
            for n in range(executors):
                column[n] = turned[n, f]
            window_transform(column, core.executor_switching, ahead, best, scratch)
            for n in range(executors):
                paid[n, f] = best[n] + cost[stage, min(n, cap), f]
            if grows_late:
                for n in range(executors):
                    column[n] = turned[n, f] + cost[stage, min(n, cap), f]
                back = Window(core.added[stage], 0, 0, executors - 1)
                window_transform(column, core.executor_switching, back, best, scratch)
                for n in range(executors):
                    paid[n, f] = min(paid[n, f], best[n])
            for n in range(executors):
                paid[n, f] += core.resource_cost[n, f]
                if paid[n, f] + cost_to_go[stage + 1, n, f] <= limit:
                    first_n, last_n = min(first_n, n), max(last_n, n)
                    first_f, last_f = min(first_f, f), max(last_f, f)
    return first_n, last_n, first_f, last_f
