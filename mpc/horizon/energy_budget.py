"""The energy budget of a horizon: the least energy there is, and bounds that price the rest.

For any price per joule, cost + price * (energy - budget) is a lower bound on the cost of every
trajectory within the budget, so each price gives a valid table. Several are kept, because the best
price for the rest of a horizon depends on how much of the budget is left.
"""

from operator import itemgetter

import numpy as np

from mpc.horizon.bounds import cost_to_go
from mpc.horizon.branch import NOTHING, Effort, Guide, Known, branch_and_bound
from mpc.horizon.core import Core
from mpc.horizon.relaxation import Relaxation, relax
from mpc.horizon.staircase import stairs_over
from mpc.values import FloatArray, IntArray

MULTIPLIERS = 5
"""Prices besides 0 whose tables are kept."""
PRICES_TRIED = 10
CLOSE = 1e-4
"""Relative distance of a trajectory to its bound at which no better price is looked for."""

NO_ENERGY = np.zeros((1, 1, 1, 1))
NO_PRICE = np.zeros(1)
_ONE_DESCENT = Effort(nodes=1, priced=1, tolerance=0.0, offset=0.0, remember=False)


def least_energy(core: Core) -> tuple[FloatArray, float]:
    """Least energy from every state to the end, (h + 1, locks, N, F), and of the whole horizon."""
    horizon, executors, frequencies = core.stage_cost.shape
    unpriced = core._replace(
        stage_cost=np.zeros_like(core.stage_cost),
        resource_cost=core.energy_j,
        executor_switching=0.0,
        frequency_switching=0.0,
        recent=core.recent[:0],
        has_backlog=False,
        energy_limit_j=np.inf,
    )
    stairs = stairs_over(np.arange(executors, dtype=np.int64), 0, unpriced, True)
    relaxation = relax(unpriced, stairs, np.zeros((horizon + 1, 1)), True)
    table = cost_to_go(unpriced, relaxation, 0.0)
    path, _ = descent(unpriced, relaxation, Guide(table[..., None], NO_PRICE, NO_ENERGY))
    shape = (horizon + 1, core.dwell + 1, executors, frequencies)
    return table.reshape(shape), energy_of(core, path)


def priced_guide(
    core: Core, relaxation: Relaxation, energy_to_go: FloatArray
) -> tuple[Guide, Known]:
    """Tables for several prices, the first of them 0, and the best trajectory met on the way.

    A price is the slope of cost against energy between a trajectory above the budget and one below
    it (cutting planes for the dual); the trajectory that it finds replaces one of them. Costs that
    grow exponentially make such steps short, so the bracket of prices is also cut in logarithms.
    """
    free = core._replace(energy_limit_j=np.inf)
    base = cost_to_go(core, relaxation, 0.0)
    best, bound = _follow(free, relaxation, Guide(base[..., None], NO_PRICE, NO_ENERGY))
    above, above_j = best[1], energy_of(core, best[0])
    tables: dict[float, FloatArray] = {}
    if above_j > core.energy_limit_j:
        best, _ = _follow(core, relaxation, Guide(base[..., None], NO_PRICE, energy_to_go))
        below, below_j = best[1], energy_of(core, best[0])
        low, high = 0.0, np.inf
        while len(tables) < PRICES_TRIED and below > above and best[1] - bound > CLOSE * best[1]:
            price = (below - above) / (above_j - below_j)
            price = min(price, (low * high) ** 0.5 if low > 0 else high / 8)
            if price in tables:
                break
            tables[price] = cost_to_go(core, relaxation, price)
            priced = free._replace(resource_cost=core.resource_cost + price * core.energy_j)
            guide = Guide(tables[price][..., None], NO_PRICE, NO_ENERGY)
            (path, cost), lower = _follow(priced, relaxation, guide)
            bound = max(bound, lower - price * core.energy_limit_j)
            energy_j = energy_of(core, path)
            cost -= price * energy_j
            if energy_j > core.energy_limit_j:
                low, above, above_j = price, cost, energy_j
            else:
                high, below, below_j = price, cost, energy_j
                best = min(best, (path, cost), key=itemgetter(1))
    kept = list(tables)[-MULTIPLIERS:]
    stacked = np.stack([base, *(tables[price] for price in kept)], axis=-1)
    guide = Guide(stacked, np.array([0.0, *kept]), energy_to_go)
    return guide, min(best, descent(core, relaxation, guide), key=itemgetter(1))


def descent(core: Core, relaxation: Relaxation, guide: Guide) -> Known:
    """The trajectory that follows the bounds alone."""
    return _follow(core, relaxation, guide)[0]


def _follow(core: Core, relaxation: Relaxation, guide: Guide) -> tuple[Known, float]:
    """The same with the lower bound of the whole."""
    path, cost, lower, _ = branch_and_bound(core, relaxation, guide, _ONE_DESCENT, NOTHING)
    return (path, cost), lower


def energy_of(core: Core, path: IntArray) -> float:
    return float(core.energy_j[path[:, 0], path[:, 1]].sum())
