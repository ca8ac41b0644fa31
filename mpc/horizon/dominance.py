"""States that the search has met, and whether one of them was at least as good as a new one.

Two states with the same stage, lock and previous configuration differ in cost so far, energy
spent, backlog, and executors that past requests hold back. One that is no worse in any of them has
no worse continuation, so the other need not be continued.
"""

from typing import NamedTuple

import numpy as np

from forecasting.compiled import compiled
from mpc.horizon.core import ROUNDING
from mpc.values import FloatArray, IntArray

REMEMBERED = 1_000_000
"""States kept, at most."""
COMPARED = 128
"""The newest states that a new one is compared with."""


class Memory(NamedTuple):
    newest: IntArray
    """(h, locks, N, F): the last state remembered there, -1 for none."""
    older: IntArray
    """(capacity,): the one before it in the same place."""
    known: FloatArray
    """(capacity, 3): cost so far, energy and backlog."""
    known_felt: IntArray
    """(capacity, d): active executors that past requests allow in the stages that follow."""
    used: IntArray
    """(1,): states remembered so far."""
    spent: FloatArray
    """(3,): the new state, as `known`."""
    felt: IntArray
    """(d,): the new state, as `known_felt`."""


@compiled
def empty_memory(shape: tuple[int, int, int], sizes: tuple[int, int], capacity: int) -> Memory:
    """For (h, N, F) and (locks, d); capacity 0 for a memory that is not used."""
    horizon, executors, frequencies = shape
    locks, delay = sizes
    capacity = min(capacity, REMEMBERED)
    places = (horizon, locks, executors, frequencies) if capacity > 0 else (0, 0, 0, 0)
    return Memory(
        np.full(places, -1, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty((capacity, 3)),
        np.empty((capacity, delay), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty(3),
        np.empty(delay, dtype=np.int64),
    )


@compiled
def seen_better(memory: Memory, key: tuple[int, int, int, int], monotone: bool) -> bool:
    """Compare the state in `spent` and `felt` at `key`; remember it unless it is dominated.

    `monotone`: a state held back less is no worse; otherwise it must be held back equally.
    """
    known, known_felt, spent, felt = memory.known, memory.known_felt, memory.spent, memory.felt
    head = memory.newest[key]
    entry = head
    for _ in range(COMPARED):
        if entry < 0:
            break
        better = True
        for quantity in range(3):
            if known[entry, quantity] > spent[quantity] + ROUNDING * abs(spent[quantity]):
                better = False
        for ahead in range(felt.size):
            difference = known_felt[entry, ahead] - felt[ahead]
            if difference < 0 or (difference > 0 and not monotone):
                better = False
        if better:
            return True
        entry = memory.older[entry]
    used = memory.used[0]
    if used < memory.older.size:
        memory.older[used] = head
        known[used] = spent
        known_felt[used] = felt
        memory.newest[key] = used
        memory.used[0] = used + 1
    return False
