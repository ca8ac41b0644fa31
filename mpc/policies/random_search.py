"""Recursive random search: explore the whole space, then exploit ever smaller neighbourhoods.

Source: Ye and Kalyanaraman 2003, as Azimi Gehraz 2018, section 6.1, describes it: an exploration
phase over the complete space and an exploitation phase in the parts found by it. The parameters are
those of that algorithm: exploration finds a point of the best tenth with probability 0.99, a
neighbourhood moves to a better point and halves after as many failures as make it likely to be
exhausted.

Deviation: a budget of evaluations ends it, as a control step must end.
"""

import math
from collections.abc import Callable

import numpy as np

from mpc.values import FloatArray

PROMISING = 0.1
EXPLORATION_SAMPLES = math.ceil(math.log(1 - 0.99) / math.log(1 - PROMISING))
FAILURES = math.ceil(math.log(1 - 0.99) / math.log(1 - 0.8))
SHRINKING = 0.5
SMALLEST = 0.001
"""Share of the space at which a neighbourhood is exhausted."""


def search(
    cost: Callable[[FloatArray], float],
    start: FloatArray,
    generator: np.random.Generator,
    evaluations: int,
) -> FloatArray:
    """The cheapest point found in the unit cube, never worse than `start`."""
    dimensions = len(start)
    best, best_cost = start, cost(start)
    left = evaluations - 1
    explored: list[float] = []
    while left > 0:
        points = generator.random((min(EXPLORATION_SAMPLES, left), dimensions))
        costs = [cost(point) for point in points]
        left -= len(points)
        explored += costs
        first = int(np.argmin(costs))
        if costs[first] > np.quantile(explored, PROMISING):
            continue
        point, lowest, left = _exploit(cost, points[first], costs[first], generator, left)
        if lowest < best_cost:
            best, best_cost = point, lowest
    return best


def _exploit(
    cost: Callable[[FloatArray], float],
    centre: FloatArray,
    lowest: float,
    generator: np.random.Generator,
    left: int,
) -> tuple[FloatArray, float, int]:
    """The best point near the centre, its cost, and the evaluations that are left."""
    share, failures = PROMISING, 0
    while share > SMALLEST and left > 0:
        side = share ** (1.0 / len(centre))
        low = np.clip(centre - side / 2, 0.0, 1.0 - side)
        point = low + side * generator.random(len(centre))
        found = cost(point)
        left -= 1
        if found < lowest:
            centre, lowest, failures = point, found, 0
        else:
            failures += 1
        if failures >= FAILURES:
            share, failures = share * SHRINKING, 0
    return centre, lowest, left
