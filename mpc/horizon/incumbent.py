"""A good first trajectory where the dead time is long and the space large.

Bounds that round the executors of the past up believe that late requests are in time, and a search
that follows them asks too late. Rounded down, the same tables are cautious: a plan made with them
is at least as good as they say. Its executor counts then become the levels of the next round.
"""

import numpy as np

from mpc.horizon.bounds import cost_to_go
from mpc.horizon.branch import NOTHING, Guide, Known
from mpc.horizon.core import Core
from mpc.horizon.energy_budget import NO_PRICE, descent, priced_guide
from mpc.horizon.relaxation import backlog_grid, relax
from mpc.horizon.sizes import Sizes
from mpc.horizon.staircase import stairs_over
from mpc.values import FloatArray, IntArray

ROUNDS = 2


def cautious_trajectory(core: Core, energy_to_go: FloatArray, sizes: Sizes) -> Known:
    """The best trajectory of some rounds."""
    best = NOTHING
    grid = backlog_grid(core, sizes.cells)
    levels = spread_levels(core, sizes.levels)
    for _ in range(ROUNDS):
        relaxation = relax(core, stairs_over(levels, sizes.minima, core, False), grid, True)
        if core.energy_limit_j < np.inf:
            found = priced_guide(core, relaxation, energy_to_go)[1]
        else:
            table = cost_to_go(core, relaxation, 0.0)[..., None]
            found = descent(core, relaxation, Guide(table, NO_PRICE, energy_to_go))
        if found[1] >= best[1]:
            break
        best = found
        levels = _levels_around(found[0][:, 0], sizes.levels, core.stage_cost.shape[1])
    return best


def spread_levels(core: Core, count: int) -> IntArray:
    """Executor indices from the first to the last, evenly spread, the current one among them."""
    executors = core.stage_cost.shape[1]
    levels = np.rint(np.linspace(0, executors - 1, count)).astype(np.int64)
    if 2 < count < executors and 0 < core.executor < executors - 1:
        levels[1 + np.abs(levels[1:-1] - core.executor).argmin()] = core.executor
    return levels


def _levels_around(requests: IntArray, count: int, executors: int) -> IntArray:
    """The ends of the space, the requests, and their neighbours at growing distances."""
    levels = {0, executors - 1}
    distance = 0
    while len(levels) < count and distance < executors:
        for request in requests.tolist():
            for level in (request - distance, request + distance):
                if 0 <= level < executors and len(levels) < count:
                    levels.add(level)
        distance = max(1, 2 * distance)
    return np.array(sorted(levels), dtype=np.int64)
