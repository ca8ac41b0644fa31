"""What past requests still hold back: the state that a dead time of several steps adds.

With dead time d the active executors of a stage are the minimum of the last d + 1 requests, so of
the past only running minima s_1 >= s_2 >= .. matter, each over the requests since some stage; s_1
is the last request. Requests before the horizon are constants and need no state. A minimum is kept
only while a stage to come begins its window there, so min(d, h - d + 1) of them are the whole
truth. Fewer, or minima rounded to a few levels, are an approximation for large spaces.
"""

from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecasting.compiled import compiled
from mpc.horizon.core import Core
from mpc.values import IntArray

BoolArray = NDArray[np.bool_]


class Stairs(NamedTuple):
    """All descending tails s_2 >= s_3 >= .., by their number, and how they follow each other."""

    level: IntArray
    """(N,): number of the level that an executor index is rounded to."""
    cap: IntArray
    """(h, T): executor index that a tail allows to be active in a stage, besides s_1."""
    lowest: IntArray
    """(T,): the smallest last request that is rounded to s_2; no tail follows a smaller one."""
    highest: IntArray
    """(T,): the largest last request that is rounded to s_2."""
    pushes: BoolArray
    """(h,): whether the tail after the request of a stage begins with the request before it."""
    after: IntArray
    """(h, T, levels): the tail after the request of a stage, by the level of min(s_1, request)."""


def minima_needed(dead_time: int, horizon: int) -> int:
    """How many minima are the whole truth; 0 without dead time."""
    return min(dead_time, max(horizon - dead_time + 1, 2), max(horizon - 1, 1))


def tail_count(levels: int, minima: int) -> int:
    """C(levels + k - 1, k) descending tails of k = minima - 1 levels."""
    return comb(levels + minima - 2, minima - 1) if minima > 1 else 1


def stairs_over(levels: IntArray, minima: int, core: Core, upwards: bool) -> Stairs:
    """The tails over ascending `levels` of executor indices, first and last among them.

    Minima between two levels are rounded up (a bound) or down (a cautious plan).
    """
    horizon, executors, _ = core.stage_cost.shape
    tails, successor, kind, position = _tails(levels.size, minima, core.recent.size, horizon)
    indices = np.arange(executors)
    if upwards:
        level = np.searchsorted(levels, indices).astype(np.int64)
    else:
        level = np.searchsorted(levels, indices, side="right").astype(np.int64) - 1
    if minima <= 1:
        lowest, highest = np.zeros(1, dtype=np.int64), np.full(1, executors - 1)
        cap = np.full((horizon, 1), executors - 1)
    else:
        lowest = np.searchsorted(level, tails[:, 0]).astype(np.int64)
        highest = np.searchsorted(level, tails[:, 0], side="right").astype(np.int64) - 1
        cap = levels[tails.T[position]]
    return Stairs(level, cap, lowest, highest, kind == 0, successor[kind])


@lru_cache(maxsize=32)
def _tails(
    levels: int, minima: int, dead_time: int, horizon: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """(levels of every tail, successors by kind, kind and position for every stage)."""
    kind = np.zeros(horizon, dtype=np.int64)
    position = np.full(horizon, minima - 2, dtype=np.int64)
    if minima <= 1:
        alone = np.zeros((1, 1), dtype=np.int64)
        return alone, np.zeros((2, 1, levels), dtype=np.int64), kind, position
    if minima_needed(dead_time, horizon) == minima < dead_time:
        # Windows begin at the stages 0..h-1-d only, so a minimum since any later stage is not
        # kept. Those that are kept stay in their places, and the windows move along them.
        stages = np.arange(horizon)
        kind[stages - 1 > max(horizon - 1 - dead_time, 0)] = 1
        position -= np.maximum(stages - dead_time, 0)
    width = minima - 1
    binomial = np.array(
        [[comb(n, k) for k in range(width + 1)] for n in range(levels + width)], dtype=np.int64
    )
    tails, successor = _enumerate(levels, width, binomial)
    return tails, successor, kind, position


@compiled
def _enumerate(levels: int, width: int, binomial: IntArray) -> tuple[IntArray, IntArray]:
    """Numbered by the combinatorial number system of s_j + width - j.

    The tail after a request is min(level, ..) of [0] s_1, s_2, .. without the last of them, or
    [1] s_2, s_3, .., where s_1 is at least the level and so becomes the level itself.
    """
    total = binomial[levels + width - 1, width]
    tails = np.empty((total, width), dtype=np.int64)
    successor = np.zeros((2, total, levels), dtype=np.int64)
    for tail in range(total):
        rest = tail
        for j in range(width):
            left = width - j
            s = levels - 1
            while binomial[s + left - 1, left] > rest:
                s -= 1
            tails[tail, j] = s
            rest -= binomial[s + left - 1, left]
        for level in range(levels):
            for j in range(width):
                left = width - j
                pushed = level if j == 0 else min(level, tails[tail, j - 1])
                kept = min(level, tails[tail, j])
                successor[0, tail, level] += binomial[pushed + left - 1, left]
                successor[1, tail, level] += binomial[kept + left - 1, left]
    return tails, successor
