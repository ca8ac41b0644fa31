"""How much state the tables carry, so that they take some milliseconds at most.

Small spaces get exact tables; large ones fewer levels of past requests and fewer backlog cells.
"""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from mpc.horizon.core import Core
from mpc.horizon.energy_budget import MULTIPLIERS
from mpc.horizon.staircase import minima_needed, tail_count

BACKLOG_CELLS = 24
BUDGET_CELLS = 96
"""Backlog cells with an energy budget, which keeps plans away from the finest part of the grid."""
CAUTIOUS_CELLS = 12
ROUND_ENTRIES = (5_000, 20_000, 200_000)
"""Table entries that are spent freely, round by round: the first tables are usually good enough to
prove the best plan, and the last ones cost milliseconds. One entry takes about 10 ns to fill."""
ROUND_NODES = (50, 500)
"""Nodes that all but the last round may visit before finer tables are worth their time."""
LARGEST_ENTRIES = 2_000_000
"""What a cautious trajectory may take where even the coarsest levels need more."""
FEWEST_LEVELS = 3


class Sizes(NamedTuple):
    minima: int
    """Running minima of past requests, the last request included."""
    levels: int
    """Levels that the others are rounded to."""
    cells: int
    """Backlog cells."""


def bound_sizes(core: Core, entries: int) -> Sizes:
    """For the lower bounds, of about so many entries."""
    cells = BACKLOG_CELLS if core.has_backlog else 1
    minima, levels = _stairs(core, entries // (_entries(core) * cells))
    if core.has_backlog:
        finest = BUDGET_CELLS if core.energy_limit_j < np.inf else BACKLOG_CELLS
        affordable = entries // (_entries(core) * tail_count(levels, minima))
        cells = max(2, min(finest, affordable))
    return Sizes(minima, levels, cells)


def cautious_sizes(core: Core, entries: int) -> Sizes:
    """For the cautious first trajectory, where all minima matter more than many levels."""
    cells = CAUTIOUS_CELLS if core.has_backlog else 1
    one_tail = _entries(core) * cells
    tails = entries // one_tail
    coarsest = tail_count(FEWEST_LEVELS, minima_needed(core.recent.size, core.stage_cost.shape[0]))
    if coarsest * one_tail <= LARGEST_ENTRIES:
        tails = max(tails, coarsest)
    return Sizes(*_stairs(core, tails), cells)


def _entries(core: Core) -> int:
    """Table entries for one tail and one cell: a table for every price of the energy budget."""
    tables = 1 + MULTIPLIERS if core.energy_limit_j < np.inf else 1
    return tables * (core.dwell + 1) * int(core.stage_cost.size)


def exact_stairs(core: Core, sizes: Sizes) -> bool:
    """Whether nothing that past requests hold back is lost."""
    return _complete(core, sizes) and (sizes.minima <= 1 or sizes.levels == _executors(core))


def nearly_exact_stairs(core: Core, sizes: Sizes) -> bool:
    """Whether following the bounds leads to a good trajectory at once."""
    return _complete(core, sizes) and (sizes.minima <= 1 or 2 * sizes.levels >= _executors(core))


def _complete(core: Core, sizes: Sizes) -> bool:
    return sizes.minima == minima_needed(core.recent.size, core.stage_cost.shape[0])


def _executors(core: Core) -> int:
    return int(core.stage_cost.shape[1])


def _stairs(core: Core, tails: int) -> tuple[int, int]:
    """As many minima as needed with as many levels as `tails` allow; else fewer minima."""
    minima = minima_needed(core.recent.size, core.stage_cost.shape[0])
    executors, tails = _executors(core), max(tails, 1)
    while minima > 1 and tail_count(min(FEWEST_LEVELS, executors), minima) > tails:
        minima -= 1
    # Ascending in the levels: the first number that has too many tails is one too many.
    too_many = bisect_right(
        range(executors + 1), tails, key=lambda levels: tail_count(levels, minima) if levels else 0
    )
    return minima, max(too_many - 1, 1)
