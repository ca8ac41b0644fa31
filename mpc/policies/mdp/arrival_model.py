"""The arrival rate of one operator as levels, and how it moves between them, learned as it runs.

The quantum of Russo Russo 2018 (20 tuples a minute, section 4) suits its data set. Here the first
rate sets it, and it doubles whenever a rate does not fit any more; what was counted is merged.
"""

from math import ceil

import numpy as np

from mpc.policies.rate_transitions import TransitionEstimate
from mpc.values import FloatArray

FEWEST_PER_S = 1e-6
"""Fewer arrivals are none, and no measure for a quantum."""


class ArrivalModel:
    """Levels 0..top; a rate is rounded up, so that a state never promises too little load."""

    def __init__(self, top_level: int) -> None:
        if top_level < 2:
            raise ValueError(f"top_level must be at least 2, got {top_level}")
        self._top = top_level
        self._quantum_per_s: float | None = None
        self._level: int | None = None
        self.estimate = TransitionEstimate(top_level + 1)

    @property
    def rates_per_s(self) -> FloatArray:
        """The rate that every level stands for."""
        return np.arange(self._top + 1, dtype=np.float64) * (self._quantum_per_s or 0.0)

    def observe(self, arrivals_per_s: float | None) -> tuple[int | None, int]:
        """The level of a measured rate, and how often the quantum doubled to hold it.

        After a step without a rate the next one starts afresh: no transition was seen.
        """
        if arrivals_per_s is None:
            self._level = None
            return None, 0
        doubled = self._make_room(arrivals_per_s)
        level = self.level_of(arrivals_per_s)
        if self._level is not None:
            self.estimate.observe(self._level, level)
        self._level = level
        return level, doubled

    def level_of(self, arrivals_per_s: float) -> int:
        """The nearest level for rates beyond the largest seen."""
        if self._quantum_per_s is None or arrivals_per_s < FEWEST_PER_S:
            return 0
        return min(ceil(arrivals_per_s / self._quantum_per_s), self._top)

    def _make_room(self, arrivals_per_s: float) -> int:
        if arrivals_per_s < FEWEST_PER_S:
            return 0
        if self._quantum_per_s is None:
            self._quantum_per_s = arrivals_per_s / (self._top // 2)
        doubled = 0
        while arrivals_per_s > self._top * self._quantum_per_s:
            self._quantum_per_s *= 2.0
            self.estimate.merge_pairs()
            if self._level is not None:
                self._level = (self._level + 1) // 2
            doubled += 1
        return doubled
