"""Depth-first branch and bound over trajectories, guided and pruned by relaxed cost-to-go tables.

Where the tables are exact, the first descent is the optimum and everything else is pruned at once.
Otherwise siblings are visited in the order of their bounds, and a state is skipped when one met
before is at least as good in every respect. Deterministic; ties go to the nearer configuration.
"""

from typing import NamedTuple

import numpy as np

from forecasting.compiled import compiled
from mpc.horizon.core import ROUNDING, Block, Core, price_block
from mpc.horizon.dominance import Memory, empty_memory, seen_better
from mpc.horizon.relaxation import Relaxation, cell_of
from mpc.values import FloatArray, IntArray

Known = tuple[IntArray, float]
"""A trajectory of indices (h, 2) and its cost, less the offsets."""
NOTHING: Known = (np.zeros((0, 2), dtype=np.int64), np.inf)


class Guide(NamedTuple):
    """The bounds of the rest of a trajectory."""

    tables: FloatArray
    """(h + 1, locks, cells, T, N, F, K): `cost_to_go` for every price, side by side in memory."""
    prices: FloatArray
    """(K,), the first of them 0."""
    energy_to_go: FloatArray
    """(h + 1, locks, N, F): least energy of the rest; not looked at without a budget."""


class Effort(NamedTuple):
    """When to stop. Without a known trajectory the first descent is always completed."""

    nodes: int
    priced: int
    """Children whose bound is computed, over all nodes."""
    tolerance: float
    offset: float
    """What was subtracted from all costs, for the tolerance."""
    remember: bool
    """Whether to look for states that were met before: not needed where the tables are exact."""


class _Descent(NamedTuple):
    """What every depth of the current partial trajectory inherits from the ones before."""

    executor: IntArray
    frequency: IntArray
    tail: IntArray
    """Number of the tail of running minima."""
    lock: IntArray
    items: FloatArray
    energy_j: FloatArray
    paid: FloatArray
    requests: IntArray
    """The recent requests, then those of the trajectory."""
    kept_until: IntArray
    """The last stage in which no executor is given up, because of those added before."""
    open: FloatArray
    """(h, N, F): bounds of the children not visited yet, infinite for all others."""
    stage_cost: FloatArray
    items_after: FloatArray


@compiled
def branch_and_bound(
    core: Core,
    relaxation: Relaxation,
    guide: Guide,
    effort: Effort,
    known: Known,
) -> tuple[IntArray, float, float, int]:
    """(best trajectory, its cost, lower bound, nodes visited).

    `known` is an admissible trajectory, or NOTHING.
    """
    horizon = core.stage_cost.shape[0]
    descent = _start(core, relaxation.stairs.lowest.size - 1)
    children = descent.open
    capacity = effort.nodes + horizon if effort.remember else 0
    memory = empty_memory(children.shape, (core.dwell + 1, core.recent.size), capacity)
    best_path, best = known[0].copy(), known[1]
    if best == np.inf:
        best_path = np.zeros((horizon, 2), dtype=np.int64)
    root, pruned = -np.inf, np.inf
    depth = 0 * horizon  # a literal would have the callees compiled twice
    nodes, priced = 1, 0
    fresh = True
    while depth >= 0:
        if fresh:
            priced += _expand(core, relaxation, guide, descent, depth)
            fresh = False
        smallest = children[depth].min()
        if root == -np.inf:
            root = smallest
        if smallest == np.inf or (best < np.inf and smallest >= best - slack(best, effort)):
            pruned = min(pruned, smallest)
            depth -= 1
            continue
        if best < np.inf and (nodes >= effort.nodes or priced >= effort.priced):
            for level in range(depth + 1):
                pruned = min(pruned, children[level].min())
            break
        n, f = _nearest(
            children[depth], smallest, (descent.executor[depth], descent.frequency[depth])
        )
        children[depth, n, f] = np.inf
        if depth == horizon - 1:
            best = smallest
            for level in range(depth):
                best_path[level, 0] = descent.executor[level + 1]
                best_path[level, 1] = descent.frequency[level + 1]
            best_path[depth, 0] = n
            best_path[depth, 1] = f
            continue
        _descend(core, relaxation, descent, depth, (n, f))
        nodes += 1
        if effort.remember and _seen(core, memory, descent, depth + 1):
            continue
        depth += 1
        fresh = True
    return best_path, best, min(best, max(root, pruned)), nodes


@compiled
def slack(best: float, effort: Effort) -> float:
    """How far below the incumbent a bound is pruned: so far that best <= lower * (1 + tolerance).

    Relative to the cost without its offsets, or with them where that is stricter.
    """
    base = max(0.0, min(best, best + effort.offset))
    return base * effort.tolerance / (1.0 + effort.tolerance) + ROUNDING * best


@compiled
def _start(core: Core, highest: int) -> _Descent:
    horizon, executors, frequencies = core.stage_cost.shape
    descent = _Descent(
        np.empty(horizon + 1, dtype=np.int64),
        np.empty(horizon + 1, dtype=np.int64),
        np.empty(horizon + 1, dtype=np.int64),
        np.empty(horizon + 1, dtype=np.int64),
        np.empty(horizon + 1),
        np.empty(horizon + 1),
        np.empty(horizon + 1),
        np.empty(core.recent.size + horizon, dtype=np.int64),
        np.empty(horizon + 1, dtype=np.int64),
        np.empty((horizon, executors, frequencies)),
        np.empty((executors, frequencies)),
        np.empty((executors, frequencies)),
    )
    descent.executor[0] = core.executor
    descent.frequency[0] = core.frequency
    descent.tail[0] = highest  # nothing in the horizon holds back yet
    descent.lock[0] = core.locked
    descent.items[0] = core.initial_items
    descent.energy_j[0] = 0.0
    descent.paid[0] = 0.0
    descent.requests[: core.recent.size] = core.recent
    descent.kept_until[0] = -1
    return descent


@compiled
def _expand(core: Core, relaxation: Relaxation, guide: Guide, descent: _Descent, depth: int) -> int:
    """Lower bounds of all children of a node; infinite where not admissible. Returns how many."""
    children = descent.open[depth]
    executors, frequencies = children.shape
    tables, prices = guide.tables, guide.prices
    cells = tables.shape[2]
    before_n, before_f = descent.executor[depth], descent.frequency[depth]
    lock, paid = descent.lock[depth], descent.paid[depth]
    most = _felt(descent.requests, depth, core.recent.size, executors - 1)
    first_n, last_n, first_f, last_f = before_n, before_n, before_f, before_f
    if lock == 0:
        if depth > descent.kept_until[depth]:
            first_n = max(0, before_n - core.removed)
        last_n = min(executors - 1, before_n + core.added[depth])
        first_f, last_f = 0, frequencies - 1
    block = Block(
        depth, descent.items[depth], min(first_n, most), min(last_n, most), first_f, last_f
    )
    price_block(core, block, descent.stage_cost, descent.items_after)
    grid = relaxation.grid[depth + 1]
    limited = core.energy_limit_j < np.inf
    capped = core.power_limit_w.size > 0 and lock == 0
    level = relaxation.stairs.level
    tail_after = relaxation.stairs.after[depth, descent.tail[depth]]
    # Requests before the horizon are in the stage costs; the running minima begin with it.
    minimum = before_n if depth > 0 else executors - 1
    children[:] = np.inf
    priced = 0
    for n in range(first_n, last_n + 1):
        active = min(n, most)
        tail = tail_after[level[min(n, minimum)]]
        moved_n = core.executor_switching * float((n - before_n) * (n - before_n))
        for f in range(first_f, last_f + 1):
            if capped and core.power_w[n, f] > core.power_limit_w[before_n]:
                continue
            lock_after = core.dwell
            if n == before_n and f == before_f:
                lock_after = max(lock - 1, 0)
            left_j = 0.0
            if limited:
                left_j = core.energy_limit_j - descent.energy_j[depth] - core.energy_j[n, f]
                if guide.energy_to_go[depth + 1, lock_after, n, f] > left_j:
                    continue
            cell = 0
            if cells > 1:
                cell = cell_of(descent.items_after[active, f], grid)
            moved_f = core.frequency_switching * float((f - before_f) * (f - before_f))
            cost = descent.stage_cost[active, f] + core.resource_cost[n, f] + (moved_n + moved_f)
            bound = tables[depth + 1, lock_after, cell, tail, n, f, 0]
            for k in range(1, prices.size):
                rest = tables[depth + 1, lock_after, cell, tail, n, f, k]
                bound = max(bound, rest - prices[k] * left_j)
            children[n, f] = paid + (cost + bound)
            priced += 1
    return priced


@compiled
def _felt(requests: IntArray, depth: int, delay: int, most: int) -> int:
    """The most executors that past requests allow in the stage."""
    for step in range(delay):
        most = min(most, requests[depth + step])
    return most


@compiled
def _nearest(children: FloatArray, smallest: float, before: tuple[int, int]) -> tuple[int, int]:
    """Among the ties for the smallest bound, the configuration nearest to the one before."""
    limit = smallest + ROUNDING * abs(smallest)
    nearest, found_n, found_f = -1, -1, -1
    for n in range(children.shape[0]):
        for f in range(children.shape[1]):
            if children[n, f] <= limit:
                distance = abs(n - before[0]) + abs(f - before[1])
                if nearest < 0 or distance < nearest:
                    nearest, found_n, found_f = distance, n, f
    return found_n, found_f


@compiled
def _descend(
    core: Core, relaxation: Relaxation, descent: _Descent, depth: int, request: tuple[int, int]
) -> None:
    """What the stage after a request inherits."""
    n, f = request
    delay = core.recent.size
    before_n, before_f = descent.executor[depth], descent.frequency[depth]
    active = min(n, _felt(descent.requests, depth, delay, n))
    price_block(
        core,
        Block(depth, descent.items[depth], active, active, f, f),
        descent.stage_cost,
        descent.items_after,
    )
    moved = core.executor_switching * float((n - before_n) * (n - before_n))
    moved += core.frequency_switching * float((f - before_f) * (f - before_f))
    cost = descent.stage_cost[active, f] + core.resource_cost[n, f] + moved
    level = relaxation.stairs.level
    minimum = min(n, before_n) if depth > 0 else n
    descent.kept_until[depth + 1] = descent.kept_until[depth]
    if core.holds and n > before_n:
        descent.kept_until[depth + 1] = depth + delay
    descent.executor[depth + 1] = n
    descent.frequency[depth + 1] = f
    descent.tail[depth + 1] = relaxation.stairs.after[depth, descent.tail[depth], level[minimum]]
    descent.lock[depth + 1] = core.dwell
    if n == before_n and f == before_f:
        descent.lock[depth + 1] = max(descent.lock[depth] - 1, 0)
    descent.items[depth + 1] = descent.items_after[active, f]
    descent.energy_j[depth + 1] = descent.energy_j[depth] + core.energy_j[n, f]
    descent.paid[depth + 1] = descent.paid[depth] + cost
    descent.requests[delay + depth] = n


@compiled
def _seen(core: Core, memory: Memory, descent: _Descent, depth: int) -> bool:
    """Was a state at least as good as this one met before? If not, remember this one."""
    horizon = core.stage_cost.shape[0]
    delay = core.recent.size
    memory.felt[:] = 0  # requests that are felt only beyond the horizon do not matter
    for ahead in range(min(delay, horizon - depth)):
        memory.felt[ahead] = _felt(
            descent.requests, depth + ahead, delay - ahead, descent.executor[depth]
        )
    memory.spent[0] = descent.paid[depth]
    memory.spent[1] = descent.energy_j[depth]
    memory.spent[2] = descent.items[depth]
    key = (depth, descent.lock[depth], descent.executor[depth], descent.frequency[depth])
    return seen_better(memory, key, core.monotone)
