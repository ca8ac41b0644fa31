"""Distance transforms of a sampled function: one stage of quadratic switching cost in linear time.

    out[x] = min over q in [x - back, x + ahead] of values[q] + weight * (x - q)^2

is the lower envelope of equal parabolas (Felzenszwalb and Huttenlocher 2012). Rate limits bound the
window; it is then cut into blocks of its own length, so that every window is the end of one block
and the beginning of the next (the running minimum of van Herk 1992 and Gil and Werman 1993), and
the envelope only ever grows.
"""

from typing import NamedTuple

import numpy as np

from forecasting.compiled import compiled_unchecked
from mpc.values import FloatArray, IntArray

SHORT = 64
"""Up to this length trying every pair, as vector instructions, beats building the envelope."""


class Scratch(NamedTuple):
    """The parabolas of an envelope and where each of them begins to be the lowest."""

    parabola: IntArray
    edge: FloatArray


class Window(NamedTuple):
    """q in [x - back, x + ahead], for the results x = first..last."""

    back: int
    ahead: int
    first: int
    last: int


class _Sweep(NamedTuple):
    """Lower the result at x = begin..end to the best q in [first, min(x + reach, final)].

    Coordinates are counted from `origin` in `direction`, so that one sweep serves both.
    """

    origin: int
    direction: int
    first: int
    final: int
    reach: int
    begin: int
    end: int


@compiled_unchecked
def scratch_for(size: int) -> Scratch:
    return Scratch(np.empty(size, dtype=np.int64), np.empty(size))


@compiled_unchecked
def window_transform(
    values: FloatArray, weight: float, window: Window, out: FloatArray, scratch: Scratch
) -> None:
    """Fill `out[first..last]` of the window; infinite values take no part."""
    back, ahead, low, high = window
    size = values.shape[0]
    last = size - 1
    if size <= SHORT:
        out[low : high + 1] = np.inf
        for q in range(size):
            begin = max(low, q - ahead)
            reached = out[begin : min(high, q + back) + 1]
            # Counted from 0: an index that might be negative keeps it from being a vector loop.
            for at in range(reached.size):
                distance = float(begin + at - q)
                reached[at] = min(reached[at], values[q] + weight * (distance * distance))
        return
    out[low : high + 1] = np.inf
    if back >= last:
        _lower(values, weight, _Sweep(0, 1, 0, last, ahead, low, high), out, scratch)
        return
    if ahead >= last:
        mirrored = _Sweep(last, -1, 0, last, back, last - high, last - low)
        _lower(values, weight, mirrored, out, scratch)
        return
    for first in range(0, size, back + ahead + 1):
        final = min(first + back + ahead, last)
        # Windows that end in this block: its part of them.
        begin, end = max(low, first - ahead), min(high, first + back)
        _lower(values, weight, _Sweep(0, 1, first, final, ahead, begin, end), out, scratch)
        # Windows that begin in this block, mirrored.
        begin, end = max(low, first + back), min(high, final + back)
        mirrored = _Sweep(last, -1, last - final, last - first, back, last - end, last - begin)
        _lower(values, weight, mirrored, out, scratch)


@compiled_unchecked
def _lower(
    values: FloatArray, weight: float, sweep: _Sweep, out: FloatArray, scratch: Scratch
) -> None:
    """One sweep. As x grows, later parabolas only gain on earlier ones, so a pointer follows the
    best one in one direction, and each parabola enters and leaves the envelope at most once."""
    parabola, edge = scratch.parabola, scratch.edge
    origin, direction = sweep.origin, sweep.direction
    top = -1
    best = 0
    pending = sweep.first
    for x in range(sweep.begin, sweep.end + 1):
        while pending <= min(x + sweep.reach, sweep.final):
            value = values[origin + direction * pending]
            if value < np.inf:
                crossing = -np.inf
                while top >= 0:
                    other = parabola[top]
                    rise = value - values[origin + direction * other]
                    if weight > 0.0:
                        apart = pending - other
                        crossing = (rise / weight / apart + (pending + other)) / 2.0
                    else:  # constants: the lower one wins everywhere
                        crossing = np.inf if rise >= 0.0 else -np.inf
                    if crossing > edge[top]:
                        break
                    top -= 1
                    crossing = -np.inf
                if crossing < np.inf:
                    top += 1
                    parabola[top] = pending
                    edge[top] = crossing
                best = min(best, max(top, 0))
            pending += 1
        if top >= 0:
            while best < top and edge[best + 1] <= x:
                best += 1
            q = parabola[best]
            cost = values[origin + direction * q] + weight * float((x - q) * (x - q))
            index = origin + direction * x
            out[index] = min(out[index], cost)
