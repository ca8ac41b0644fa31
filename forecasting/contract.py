"""The contract of every forecaster, and the smaller one of the models inside it.

A `Forecaster` takes whatever was measured, gaps and glitches included, and always answers with
usable numbers. A `Model` is the bare recursion behind one: it sees only finite, non-negative,
plausible values, because `forecasting.intake` stands in front of it.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Forecaster(Protocol):
    """One series, one value a step in, the next steps out."""

    def update(self, value: float | None) -> None:
        """Take the value of the step that just ended.

        `None`, a negative or a non-finite value is a gap: time passes, nothing is learned.
        """
        ...

    def forecast(self, steps: int) -> FloatArray | None:
        """The next `steps` values: finite and between 0 and three times the recent maximum, or
        three times what a memory of other days foresees.

        `None` only before the first observation.
        """
        ...


class Model(Protocol):
    """One recursion over clean values. `path` is called only after the first `observe`."""

    def observe(self, value: float) -> None: ...

    def skip(self) -> None:
        """Run the transition only: the step had no value."""
        ...

    def restart(self, level: float) -> None:
        """Stand at `level` now: the series has moved, and what was known of the old one is void.

        Fitted parameters stay. `observe` follows.
        """
        ...

    def path(self, steps: int) -> FloatArray:
        """The next `steps` values, not yet clipped."""
        ...
