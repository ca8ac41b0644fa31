"""How long an executor takes to serve after it was asked for, learned from those that came.

Two parts, estimated apart: from the order to the registration (start of a JVM) and from the
registration to the first finished task (cold Python workers). Pure.
"""

import statistics
from collections import deque
from collections.abc import Iterable

PRIOR_REGISTER_S = 4.0
PRIOR_WARM_S = 3.0
"""Before anything was seen: cold starts of small executors on a machine with some load."""
LONGEST_S = 60.0
"""A start that takes longer waited for a free slot; it says nothing about the next one."""

_MEMORY = 15
# The prior counts as two samples, so that one odd start alone moves nothing.
_PRIOR_COUNT = 2


class DelayEstimate:
    """The median of the last samples and the prior: outliers do not move it far."""

    def __init__(
        self, prior_s: float, samples_s: Iterable[float] = (), longest_s: float = LONGEST_S
    ) -> None:
        self._prior_s = prior_s
        self._longest_s = longest_s
        self._samples_s: deque[float] = deque(maxlen=_MEMORY)
        for sample_s in samples_s:
            self.update(sample_s)

    @property
    def samples_s(self) -> tuple[float, ...]:
        """What a restarted controller needs to continue."""
        return tuple(self._samples_s)

    @property
    def seconds(self) -> float:
        prior = [self._prior_s] * _PRIOR_COUNT if len(self._samples_s) < _MEMORY else []
        return statistics.median([*prior, *self._samples_s])

    def update(self, sample_s: float) -> None:
        if 0.0 <= sample_s <= self._longest_s:
            self._samples_s.append(sample_s)


class StartUpDelay:
    """Order to registration, registration to first finished task, and their sum."""

    def __init__(self, registered_s: Iterable[float] = (), warmed_s: Iterable[float] = ()) -> None:
        self.register = DelayEstimate(PRIOR_REGISTER_S, registered_s)
        self.warm = DelayEstimate(PRIOR_WARM_S, warmed_s)

    @property
    def seconds(self) -> float:
        return self.register.seconds + self.warm.seconds
