"""Lower bounds for the search: exact cost-to-go of the relaxed problem, by dynamic programming.

The state is (previous executors and frequency, tail of running minima of past requests, stages
still locked by the dwell, backlog cell). For dead times with exact tails, rate limits, dwell and
power cap that is the whole truth, and the bound is the answer. An energy budget is priced with a
multiplier per joule (Lagrange), one table each.
"""

import numpy as np

from forecasting.compiled import compiled_unchecked
from mpc.horizon.core import Core
from mpc.horizon.envelope import Scratch, Window, scratch_for, window_transform
from mpc.horizon.relaxation import Relaxation
from mpc.horizon.staircase import Stairs
from mpc.values import FloatArray


@compiled_unchecked
def cost_to_go(core: Core, relaxation: Relaxation, price: float) -> FloatArray:
    """(h + 1, locks, cells, T, N, F): least relaxed cost from a stage on.

    Entry 0 is not filled: the first stage needs no table, its predecessor is known. Nor are
    states that cannot be: a last request below the minimum of it and others.
    """
    horizon, cells, executors, frequencies = relaxation.cost.shape
    lowest = relaxation.stairs.lowest
    shape = (horizon + 1, core.dwell + 1, cells, lowest.size, executors, frequencies)
    table = np.empty(shape)
    table[horizon] = 0.0
    priced = core.resource_cost + price * core.energy_j
    moved = np.empty((cells, lowest.size, executors, frequencies))
    scratch = scratch_for(max(executors, frequencies))
    everything = Window(frequencies, frequencies, 0, frequencies - 1)
    for stage in range(horizon - 1, 0, -1):
        after = table[stage + 1, core.dwell]
        _move_executors(core, relaxation, stage, (priced, after), (moved, scratch))
        if core.power_limit_w.size > 0:
            _move_above_cap(core, relaxation, stage, (priced, after), moved)
        weight = core.frequency_switching
        for cell in range(cells):
            for tail in range(lowest.size):
                free = table[stage, 0, cell, tail]
                for n in range(lowest[tail], executors):
                    window_transform(moved[cell, tail, n], weight, everything, free[n], scratch)
        if core.dwell > 0:
            _hold(core, relaxation, stage, priced, table)
    return table


@compiled_unchecked
def _move_executors(
    core: Core,
    relaxation: Relaxation,
    stage: int,
    costs: tuple[FloatArray, FloatArray],
    work: tuple[FloatArray, Scratch],
) -> None:
    """Best new executor count from every state, for every new frequency.

    Added executors do not serve yet (dead time), and the minima that follow a scale-out are those
    that would follow from standing still. So its stage cost and next tail are those of the previous
    count, and only the rest depends on how many are added: one transform down, one up.
    """
    priced, after = costs
    moved, scratch = work
    cells, tails, executors, frequencies = moved.shape
    level, caps = relaxation.stairs.level, relaxation.stairs.cap[stage]
    lowest, tail_after = relaxation.stairs.lowest, relaxation.stairs.after[stage]
    cost, cell_after = relaxation.cost[stage], relaxation.cell_after[stage]
    late = core.recent.size > 0
    column = np.empty(executors)
    best = np.empty(executors)
    grown = np.empty((cells if late else 0, tails, executors, frequencies))
    if late:
        _add_executors(core, relaxation.stairs, stage, costs, (grown, scratch))
    for cell in range(cells):
        for tail in range(tails):
            window = Window(
                core.removed, 0 if late else core.added[stage], lowest[tail], executors - 1
            )
            for f in range(frequencies):
                for n in range(executors):
                    active = min(n, caps[tail])
                    left, then = cell_after[cell, active, f], tail_after[tail, level[n]]
                    column[n] = cost[cell, active, f] + priced[n, f] + after[left, then, n, f]
                _forbid_above_cap(core, f, column)
                window_transform(column, core.executor_switching, window, best, scratch)
                for n in range(lowest[tail], executors):
                    moved[cell, tail, n, f] = best[n]
                    if late:
                        active = min(n, caps[tail])
                        left, then = cell_after[cell, active, f], tail_after[tail, level[n]]
                        added = cost[cell, active, f] + grown[left, then, n, f]
                        moved[cell, tail, n, f] = min(best[n], added)


@compiled_unchecked
def _add_executors(
    core: Core,
    stairs: Stairs,
    stage: int,
    costs: tuple[FloatArray, FloatArray],
    work: tuple[FloatArray, Scratch],
) -> None:
    """Cost of adding executors and of what follows, by the cell and tail that follow."""
    priced, after = costs
    grown, scratch = work
    cells, tails, executors, frequencies = grown.shape
    column = np.full(executors, np.inf)
    best = np.empty(executors)
    for cell in range(cells):
        for tail in range(tails):
            # A tail that begins with the previous request says what that request was.
            first = stairs.lowest[tail]
            last = stairs.highest[tail] if stairs.pushes[stage] else executors - 1
            window = Window(0, core.added[stage], first, last)
            for f in range(frequencies):
                for n in range(first, executors):
                    column[n] = priced[n, f] + after[cell, tail, n, f]
                _forbid_above_cap(core, f, column)
                window_transform(column, core.executor_switching, window, best, scratch)
                for n in range(first, last + 1):
                    grown[cell, tail, n, f] = best[n]


@compiled_unchecked
def _forbid_above_cap(core: Core, frequency: int, column: FloatArray) -> None:
    if core.power_limit_w.size > 0:
        for n in range(column.size):
            if core.power_w[n, frequency] > core.power_cap_w:
                column[n] = np.inf


@compiled_unchecked
def _move_above_cap(
    core: Core,
    relaxation: Relaxation,
    stage: int,
    costs: tuple[FloatArray, FloatArray],
    moved: FloatArray,
) -> None:
    """Redo the moves from executor counts that cannot reach the cap: least power counts there."""
    priced, after = costs
    cells, tails, executors, frequencies = moved.shape
    level, caps = relaxation.stairs.level, relaxation.stairs.cap[stage]
    tail_after = relaxation.stairs.after[stage]
    cost, cell_after = relaxation.cost[stage], relaxation.cell_after[stage]
    late = core.recent.size > 0
    for before in range(executors):
        limit_w = core.power_limit_w[before]
        if limit_w <= core.power_cap_w:
            continue
        moved[:, :, before] = np.inf
        lowest = max(0, before - core.removed)
        for n in range(lowest, min(executors - 1, before + core.added[stage]) + 1):
            switching = core.executor_switching * float((n - before) * (n - before))
            served = min(n, before) if late else n
            for f in range(frequencies):
                if core.power_w[n, f] > limit_w:
                    continue
                for cell in range(cells):
                    for tail in range(tails):
                        active = min(served, caps[tail])
                        left, then = cell_after[cell, active, f], tail_after[tail, level[served]]
                        total = cost[cell, active, f] + priced[n, f] + switching
                        total += after[left, then, n, f]
                        moved[cell, tail, before, f] = min(moved[cell, tail, before, f], total)


@compiled_unchecked
def _hold(
    core: Core, relaxation: Relaxation, stage: int, priced: FloatArray, table: FloatArray
) -> None:
    """Holding a configuration: the only move while locked, and a free one keeps its freedom."""
    _, locks, cells, tails, executors, frequencies = table.shape
    lowest = relaxation.stairs.lowest
    level, caps = relaxation.stairs.level, relaxation.stairs.cap[stage]
    tail_after = relaxation.stairs.after[stage]
    cost, cell_after = relaxation.cost[stage], relaxation.cell_after[stage]
    capped = core.power_limit_w.size > 0
    for cell in range(cells):
        for tail in range(tails):
            for n in range(lowest[tail], executors):
                active = min(n, caps[tail])
                then = tail_after[tail, level[n]]
                for f in range(frequencies):
                    held = cost[cell, active, f] + priced[n, f]
                    left = cell_after[cell, active, f]
                    for lock in range(1, locks):
                        rest = table[stage + 1, lock - 1, left, then, n, f]
                        table[stage, lock, cell, tail, n, f] = held + rest
                    if not capped or core.power_w[n, f] <= core.power_limit_w[n]:
                        free = table[stage, 0, cell, tail, n, f]
                        rest = table[stage + 1, 0, left, then, n, f]
                        table[stage, 0, cell, tail, n, f] = min(free, held + rest)
