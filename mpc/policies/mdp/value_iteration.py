"""Value iteration for scaling (Russo Russo 2018, section 3, Eq. 3 and 4, Algorithm 1): compiled
sweeps over all states until the values are exact enough.

The rate does not depend on the action and the cost of an action only on where it leads. So the
expectation is taken once for all actions, over the few levels a rate can jump to, and the minimum
over the 3^N actions is a minimum over neighbours that separates by operator: what the paper counts
as O(|S|^2 |A|^2) is O(|S| (jumps + N)). Tables are (levels, combinations of instances), the last
operator running fastest; results of a sweep go to the last argument.
"""

from dataclasses import dataclass

import numpy as np

from forecasting.compiled import compiled
from mpc.policies.mdp.problem import NO_ACTION, Instances
from mpc.values import FloatArray, IntArray


@compiled
def look_ahead(
    values: FloatArray,
    transitions: FloatArray,
    stage: FloatArray,
    discount: float,
    ahead: FloatArray,
) -> None:
    """Stage cost and discounted expectation of being somewhere after the action."""
    levels, size = values.shape
    for level in range(levels):
        expected = ahead[level]
        expected[:] = 0.0
        for following in range(levels):
            probability = transitions[level, following]
            if probability != 0.0:
                for at in range(size):
                    expected[at] += probability * values[following, at]
        for at in range(size):
            expected[at] = stage[level, at] + discount * expected[at]


@compiled
def take_best(
    ahead: FloatArray, choices: int, reconfiguration_weight: float, values: FloatArray
) -> None:
    """min over a of Q(s, a): stay, or pay for the reconfiguration and go to the best neighbour."""
    levels, size = ahead.shape
    least, wider = np.empty(size), np.empty(size)
    for level in range(levels):
        least[:] = ahead[level]
        stride = 1
        while stride < size:
            block = stride * choices
            wider[:] = least
            for begin in range(0, size, block):
                for at in range(begin, begin + block - stride):
                    wider[at] = min(wider[at], least[at + stride])
                for at in range(begin + stride, begin + block):
                    wider[at] = min(wider[at], least[at - stride])
            least, wider = wider, least
            stride = block
        for at in range(size):
            values[level, at] = min(ahead[level, at], least[at] + reconfiguration_weight)


@compiled
def take_best_by_action(
    ahead: FloatArray,
    penalties: FloatArray,
    neighbours: IntArray,
    reconfiguration_weight: float,
    values: FloatArray,
) -> None:
    """The same where every action of every state has a penalty of its own, (levels, size, actions).

    A negative neighbour is an action out of bounds; the first one keeps all instances.
    """
    levels, size = ahead.shape
    actions = neighbours.shape[1]
    for level in range(levels):
        for at in range(size):
            least = ahead[level, at] + penalties[level, at, 0]
            for action in range(1, actions):
                to = neighbours[at, action]
                if to >= 0:
                    cost = ahead[level, to] + penalties[level, at, action] + reconfiguration_weight
                    least = min(least, cost)
            values[level, at] = least


@compiled
def cheapest_action(
    ahead: FloatArray, penalties: FloatArray, to: IntArray, at: int, reconfiguration_weight: float
) -> int:
    """The action of least cost in one state, from the rows of its level; the first of equal ones,
    so that nothing changes without a gain. `penalties` may be empty."""
    best, least = 0, ahead[at]
    if len(penalties) > 0:
        least += penalties[0]
    for action in range(1, len(to)):
        if to[action] >= 0:
            cost = ahead[to[action]] + reconfiguration_weight
            if len(penalties) > 0:
                cost += penalties[action]
            if cost < least:
                best, least = action, cost
    return best


def warm_up() -> None:
    """Compile (or load from the disk cache) before the first step."""
    table, empty = np.zeros((1, 1)), np.zeros(0)
    neighbours = np.zeros((1, 1), dtype=np.int64)
    look_ahead(table, table, table, 0.0, table.copy())
    take_best(table, 1, 0.0, table.copy())
    take_best_by_action(table, np.zeros((1, 1, 1)), neighbours, 0.0, table.copy())
    cheapest_action(table[0], empty, neighbours[0], 0, 0.0)


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
