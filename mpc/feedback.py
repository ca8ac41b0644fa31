"""How wrong a latency model has been lately, and how uncertain that is.

Expr. 8 of De Matteis and Mencagli 2016 corrects the model by the last ratio of measured to
predicted wait. One ratio is noisy, and unclamped it runs away after an overload. Here the clamped
ratios are smoothed, and how far the next ratio fell from the smoothed one is remembered, so that a
plan can be made safe against the bad cases. (A ratio that also depends on the utilisation was
tried: it learned a slope of zero on the random walk and gained nothing on bursty ticks.)
"""

from collections import deque
from functools import cache
from math import exp, log

import numpy as np

from mpc.values import FloatArray

SMALLEST_RATIO, LARGEST_RATIO = 0.02, 50.0
SMOOTHING = 0.15
MEMORY_STEPS = 60


class RatioFeedback:
    """Level and spread of measured over modelled times, in logarithms."""

    def __init__(self) -> None:
        self._level = 0.0
        self._learned = False
        self._surprises: deque[float] = deque(maxlen=MEMORY_STEPS)

    def update(self, measured_s: float, modelled_s: float, trusted: bool = True) -> None:
        """`trusted` is False for a model that is still a first guess: the ratio corrects it, but
        its errors are not those of the model that comes after it."""
        if modelled_s <= 0:
            return
        ratio = min(max(measured_s / modelled_s, SMALLEST_RATIO), LARGEST_RATIO)
        if not trusted:
            self._level = log(ratio)
            return
        surprise = log(ratio) - self._level
        if self._learned:
            self._level += SMOOTHING * surprise
            self._surprises.append(surprise)
        else:  # the first ratio tells where the level is, not how it varies
            self._level = log(ratio)
            self._learned = True

    @property
    def ratio(self) -> float:
        """The level alone."""
        return exp(self._level)

    def scenario_ratios(self, count: int) -> FloatArray:
        """`count` ratios spread evenly over the distribution of the next one.

        Their order has nothing to do with their size, so that scenario number i of the arrivals,
        which may be sorted, is not coupled with the i-th worst model error.
        """
        if not self._surprises:
            return np.full(count, exp(self._level))
        ascending = np.sort(np.asarray(self._surprises))
        places = _quantiles(count) * (ascending.size - 1)
        surprises = np.interp(places, np.arange(ascending.size), ascending)
        return np.asarray(np.exp(self._level + surprises))


@cache
def _quantiles(count: int) -> FloatArray:
    """Evenly spread over 0..1, in a fixed order that leaves neighbours far apart (golden ratio)."""
    order = np.argsort((np.arange(count) * 0.6180339887498949) % 1.0, kind="stable")
    return np.asarray((order + 0.5) / count)
