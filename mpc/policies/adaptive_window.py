"""ADWIN: a window over a series that forgets its past as soon as its mean has changed.

Source: Bifet and Gavalda 2007, cited by Azimi Gehraz 2018, section 6.1, as the detector of online
parameter optimisation. A cut between old and new samples is made where their means differ by more
than chance explains.

Deviations: the plain version, which checks every cut point of the stored samples; memory is
bounded by forgetting the oldest, not by merging samples into buckets.
"""

import math
from collections import deque

import numpy as np

LONGEST = 1024
SHORTEST = 3
"""Samples on either side of a cut; fewer say nothing about their spread."""


class AdaptiveWindow:
    def __init__(self, confidence: float) -> None:
        """`confidence`: probability of a false alarm that is accepted, their delta."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
        self._confidence = confidence
        self._samples: deque[float] = deque(maxlen=LONGEST)

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, value: float) -> bool:
        """True if the mean changed; `value` between 0 and 1. Forgets what is before the change."""
        self._samples.append(min(max(value, 0.0), 1.0))
        changed = False
        while (cut := self._cut()) is not None:
            for _ in range(cut):
                self._samples.popleft()
            changed = True
        return changed

    def _cut(self) -> int | None:
        """How many of the oldest samples to forget; None if all belong together."""
        size = len(self._samples)
        if size < 2 * SHORTEST:
            return None
        samples = np.asarray(self._samples)
        old = np.arange(SHORTEST, size - SHORTEST + 1)
        sums = np.cumsum(samples)[old - 1]
        difference = np.abs(sums / old - (samples.sum() - sums) / (size - old))
        # Their section 3: m is the harmonic mean of the two sizes, delta is shared by all cuts.
        harmonic = 1.0 / (1.0 / old + 1.0 / (size - old))
        doubt = math.log(2.0 * math.log(size) / self._confidence)
        bound = np.sqrt(2.0 / harmonic * samples.var() * doubt) + 2.0 / (3.0 * harmonic) * doubt
        cuts = np.flatnonzero(difference > bound)
        return int(old[cuts[-1]]) if len(cuts) else None
