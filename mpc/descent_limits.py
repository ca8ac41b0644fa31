"""How fast capacity may be given up; `mpc.descent` keeps to it. Apart from it, because reading a
configuration must import nothing that decides."""

from dataclasses import dataclass

FEWEST_PER_S, LARGEST_RATIO = 1e-6, 1e15
"""Fewer arrivals are none, so that no two rates are further apart than the largest ratio."""


@dataclass(frozen=True, slots=True)
class DescentLimits:
    largest_share: float = 0.5
    """Of the capacity (executors x frequency), given up in one step at most."""
    window_s: float | None = None
    """For how long fewer executors must have been enough; None: as long as an executor takes to
    start, and three steps at least."""
    frequency_readings: int = 1
    """Fresh measurements in a row for which a lower frequency must have been enough."""
    doubtful_ratio: float = 5.0
    """A rate so many times above or below the median of the last three is not believed at once."""


UNLIMITED = DescentLimits(1.0, 0.0, 1, LARGEST_RATIO)
"""Everything may be given up at once: for strategies that are reproduced as published, which have
their own ways to settle."""
