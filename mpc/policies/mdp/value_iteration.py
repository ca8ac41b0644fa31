"""Value iteration for scaling (Russo Russo 2018, section 3): sweeps until the values are exact
enough.
"""

from dataclasses import dataclass

import numpy as np

from mpc.policies.mdp.problem import NO_ACTION, Instances
from mpc.policies.mdp.sweeps import look_ahead, take_best
from mpc.values import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Solution:
    values: FloatArray
    """V of every (level, combination of instances)."""
    ahead: FloatArray
    """Stage cost and discounted future of being there after the action."""
    sweeps: int
    error: float
    """No value is further from the exact one."""


def solve(
    transitions: FloatArray,
    stage: FloatArray,
    instances: Instances,
    reconfiguration_weight: float,
    discount: float = 0.99,
    tolerance: float = 1e-6,
    start: FloatArray | None = None,
    most_sweeps: int | None = None,
) -> Solution:
    """Sweep until no value is further than `tolerance` from the exact one, or out of sweeps."""
    if not 0 <= discount < 1:
        raise ValueError(f"discount must be at least 0 and below 1, got {discount}")
    values = np.zeros_like(stage) if start is None else start.copy()
    ahead, improved = np.empty_like(stage), np.empty_like(stage)
    sweeps, error = 0, np.inf
    while error > tolerance and (most_sweeps is None or sweeps < most_sweeps):
        look_ahead(values, transitions, stage, discount, ahead)
        take_best(ahead, instances.choices, reconfiguration_weight, improved)
        values -= improved
        # The sweeps contract by the discount, which bounds what all later ones can change.
        error = float(max(values.max(), -values.min())) * discount / (1.0 - discount)
        values, improved = improved, values
        sweeps += 1
    look_ahead(values, transitions, stage, discount, ahead)
    return Solution(values, ahead, sweeps, error)


def greedy(ahead: FloatArray, neighbours: IntArray, reconfiguration_weight: float) -> IntArray:
    """Where the action of least cost leads from every state; shape (levels, size).

    Of equal ones the first, so that nothing changes without a gain.
    """
    best = ahead.copy()
    chosen = np.broadcast_to(neighbours[:, 0], ahead.shape).copy()
    for action in range(1, neighbours.shape[1]):
        to = neighbours[:, action]
        cost = np.where(to == NO_ACTION, np.inf, ahead[:, to] + reconfiguration_weight)
        better = cost < best
        best[better] = cost[better]
        chosen = np.where(better, to, chosen)
    return chosen
