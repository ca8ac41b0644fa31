"""The value of every action before anything is learned: zero, random or optimised.

Source: Azimi Gehraz 2018, section 4.2.2. The optimised one divides the states into four regions
(Fig. 4.3, Table 4.1) by latency below or above the target and load rising or falling.
"""

import numpy as np

from mpc.policies.q_learning.options import Initialisation
from mpc.policies.q_learning.states import Action, StateGrid
from mpc.values import FloatArray


def initial_values(
    kind: Initialisation, grid: StateGrid, generator: np.random.Generator
) -> FloatArray:
    """Indexed by latency, rising load and action."""
    shape = (grid.latencies, 2, len(Action))
    if kind == "zero":
        return np.zeros(shape)
    if kind == "random":
        return generator.uniform(-1.0, 1.0, shape)
    return _optimised(grid)


def _optimised(grid: StateGrid) -> FloatArray:
    """Eq. 4.9 to 4.13, with the lower edge of a latency step as its latency."""
    values = np.zeros((grid.latencies, 2, len(Action)))
    edges_s = np.arange(grid.latencies) * grid.granularity_s
    ratio = edges_s / grid.target_latency_s
    below = np.arange(grid.latencies) < grid.target_index
    above = ~below
    falling, rising = 0, 1
    # Region 1, Eq. 4.10: below the target, load rising; scale out early.
    values[below, rising, Action.SCALE_OUT] = ratio[below]
    values[below, rising, Action.KEEP] = 1.0 - ratio[below]
    # Region 2, Eq. 4.11: above the target, load rising.
    values[above, rising, Action.SCALE_OUT] = ratio[above]
    values[above, rising, Action.KEEP] = ratio[above] - 1.0
    values[above, rising, Action.SCALE_IN] = -1.0
    # Region 3, Eq. 4.12: above the target, load falling; let the latency settle.
    values[above, falling, Action.KEEP] = 1.0
    values[above, falling, Action.SCALE_IN] = -1.0
    # Region 4, Eq. 4.13: below the target, load falling; scale in when far below.
    values[below, falling, Action.KEEP] = ratio[below]
    values[below, falling, Action.SCALE_IN] = 1.0 - ratio[below]
    return values
