"""One sweep of value iteration over all states, compiled (Russo Russo 2018, Eq. 3 and 4, Algorithm
1).

The rate does not depend on the action and the cost of an action only on where it leads. So the
expectation is taken once for all actions, over the few levels a rate can jump to, and the minimum
over the 3^N actions is a minimum over neighbours that separates by operator: what the paper counts
as O(|S|^2 |A|^2) is O(|S| (jumps + N)). Tables are (levels, combinations of instances), the last
operator running fastest; results go to the last argument.
"""

import numpy as np

from forecasting.compiled import compiled
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
