"""How long an executor takes to serve after it was asked for: learned from those that came, and
from those that have not come yet.

Two parts, estimated apart: from the order to the registration (a node, a container, the start of a
JVM) and from the registration to the first finished task (cold Python workers). Pure.
"""

import statistics
from collections import deque
from collections.abc import Iterable

PRIOR_REGISTER_S = 4.0
PRIOR_WARM_S = 3.0
"""Before anything was seen: cold starts of small executors on a machine with some load."""

_MEMORY = 15


class DelayEstimate:
    """The median of the last samples, which outliers do not move far; the prior is one of them
    until there are enough."""

    def __init__(self, prior_s: float, samples_s: Iterable[float] = ()) -> None:
        self._prior_s = prior_s
        self._samples_s: deque[float] = deque(maxlen=_MEMORY)
        for sample_s in samples_s:
            self.update(sample_s)

    @property
    def samples_s(self) -> tuple[float, ...]:
        """What a restarted controller needs to continue."""
        return tuple(self._samples_s)

    @property
    def seconds(self) -> float:
        prior = [self._prior_s] if len(self._samples_s) < _MEMORY else []
        return statistics.median([*prior, *self._samples_s])

    def update(self, sample_s: float) -> None:
        if sample_s >= 0.0:
            self._samples_s.append(sample_s)


class StartUpDelay:
    """Order to registration, registration to first finished task, and their sum."""

    def __init__(self, registered_s: Iterable[float] = (), warmed_s: Iterable[float] = ()) -> None:
        self.register = DelayEstimate(PRIOR_REGISTER_S, registered_s)
        self.warm = DelayEstimate(PRIOR_WARM_S, warmed_s)
        self._waiting_s = 0.0

    def observe_waiting(self, oldest_s: float) -> None:
        """How long the oldest start has been under way that has not come yet; 0 where none is."""
        self._waiting_s = oldest_s

    @property
    def seconds(self) -> float:
        """A start that takes longer than those before it is at least that long, and so may be the
        next one: whatever keeps it keeps others too."""
        return max(self.register.seconds, self._waiting_s) + self.warm.seconds
