"""The mean of the last few values, held.

With three values it is what the published code of the MPC paper runs: its Holt filter is there
but switched off in favour of this.
"""

from collections import deque

import numpy as np

from forecasting.contract import FloatArray


class RecentMean:
    def __init__(self, count: int = 3) -> None:
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        self._values: deque[float] = deque(maxlen=count)

    def observe(self, value: float) -> None:
        self._values.append(value)

    def skip(self) -> None:
        pass

    def restart(self, level: float) -> None:
        self._values.clear()
        self._values.append(level)

    def path(self, steps: int) -> FloatArray:
        return np.full(steps, sum(self._values) / len(self._values))
