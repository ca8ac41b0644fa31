"""The relaxed stages that lower bounds are made of: backlog on a grid, dead time shortened.

The backlog is rounded down to a grid per stage that begins at the smallest reachable backlog; cost
never falls with backlog, so this is a bound. A dead time that is looked back on for fewer steps
than it lasts leaves fewer executors active than believed; the minimum over all smaller counts keeps
the bound valid for tables that are not monotone in the executors.
"""

from typing import NamedTuple

import numpy as np

from forecasting.compiled import compiled
from mpc.horizon.core import Block, Core, price_block
from mpc.horizon.staircase import Stairs
from mpc.values import FloatArray, IntArray


class Relaxation(NamedTuple):
    """Stage cost and successor of (stage, backlog cell, active executors, frequency)."""

    stairs: Stairs
    grid: FloatArray
    """(h + 1, cells): the lower end of every backlog cell at the start of a stage."""
    cost: FloatArray
    """(h, cells, N, F)"""
    cell_after: IntArray
    """(h, cells, N, F)"""


@compiled
def cell_of(items: float, grid: FloatArray) -> int:
    """The cell of an ascending grid that `items` lie in."""
    low, high = 0, grid.size - 1
    while low < high:
        middle = (low + high + 1) // 2
        if grid[middle] <= items:
            low = middle
        else:
            high = middle - 1
    return low


@compiled
def backlog_grid(core: Core, cells: int) -> FloatArray:
    """(h + 1, cells): from the least to the largest reachable backlog, finer towards the least."""
    horizon, _, _ = core.stage_cost.shape
    grid = np.zeros((horizon + 1, cells))
    least = most = core.initial_items
    for stage in range(horizon + 1):
        for cell in range(cells):
            grid[stage, cell] = least + (most - least) * (cell / cells) ** 2
        if core.has_backlog and stage < horizon:
            usable = core.service_per_s[: core.active_cap[stage] + 1]
            arrived = core.arrived_items[stage]
            least = max(0.0, least + arrived - usable.max() * core.step_s)
            most = max(0.0, most + arrived - usable.min() * core.step_s)
    return grid


@compiled
def relax(core: Core, stairs: Stairs, grid: FloatArray, exact_stairs: bool) -> Relaxation:
    """`grid` has one cell without backlog; `exact_stairs` say how many executors are active."""
    horizon, executors, frequencies = core.stage_cost.shape
    cells = grid.shape[1]
    cost = np.empty((horizon, cells, executors, frequencies))
    cell_after = np.zeros((horizon, cells, executors, frequencies), dtype=np.int64)
    left = np.empty((executors, frequencies))
    for stage in range(horizon):
        cap = core.active_cap[stage]
        for cell in range(cells):
            block = Block(stage, grid[stage, cell], 0, cap, 0, frequencies - 1)
            relaxed, after = cost[stage, cell], cell_after[stage, cell]
            price_block(core, block, relaxed, left)
            if cells > 1:
                for n in range(cap + 1):
                    for f in range(frequencies):
                        after[n, f] = cell_of(left[n, f], grid[stage + 1])
            if not exact_stairs:
                for n in range(1, cap + 1):
                    relaxed[n] = np.minimum(relaxed[n], relaxed[n - 1])
                    after[n] = np.minimum(after[n], after[n - 1])
            for n in range(cap + 1, executors):
                relaxed[n] = relaxed[cap]
                after[n] = after[cap]
    return Relaxation(stairs, grid, cost, cell_after)
