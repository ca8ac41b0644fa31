"""How irregular a stream is, from sums over unequal intervals.

Pure. Progress reports only sums: the rows of a trigger, the cycles of a batch. The difference of
the means of two neighbours of a and b items (or seconds) has the variance of one item times
(1/a + 1/b), and a trend hardly touches it, which a plain variance would count as irregularity.
"""

import math
from collections import deque

MEMORY = 60
FEWEST = 8


class NeighbourVariance:
    """Of one item or one second, from means over many."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._means: deque[float] = deque(maxlen=MEMORY)
        self._variances: deque[float] = deque(maxlen=MEMORY)

    def add(self, mean: float | None, size: float) -> None:
        """`mean` over `size` items or seconds; None breaks the chain of neighbours."""
        if mean is None or size <= 0:
            self._last = None
            return
        if self._last is not None:
            last_mean, last_size = self._last
            self._variances.append((mean - last_mean) ** 2 / (1.0 / size + 1.0 / last_size))
        self._last = (mean, size)
        self._means.append(mean)

    @property
    def dispersion(self) -> float | None:
        """Variance over mean: for rates the index of dispersion for counts."""
        moments = self._moments
        return None if moments is None else moments[1] / moments[0]

    @property
    def cv(self) -> float | None:
        """Standard deviation over mean, of one item."""
        moments = self._moments
        return None if moments is None else math.sqrt(moments[1]) / moments[0]

    @property
    def _moments(self) -> tuple[float, float] | None:
        if len(self._variances) < FEWEST:
            return None
        mean = sum(self._means) / len(self._means)
        return (mean, sum(self._variances) / len(self._variances)) if mean > 0 else None
