"""Executors on their way: what a plan may count on, from what was requested and what runs.

A plan begins at what is *observed*. Executors that were requested and do not run, because they have
only just been asked for or because they were lost, arrive one dead time after they went missing;
those that have not come by then are counted on no more. Nothing here remembers what a policy once
wanted: a target that was held back was never requested.
"""

from collections import deque
from dataclasses import dataclass

from mpc.values import Configuration


@dataclass(slots=True)
class _Missing:
    """Executors that went missing, or were asked for, in the same step."""

    executors: int
    steps: int = 1
    """Since when, counting the step in which it was first seen."""


class Pipeline:
    """Told once a step what is requested and what runs."""

    def __init__(self) -> None:
        self._requested: Configuration | None = None
        self._observed = 0
        self._missing: deque[_Missing] = deque()
        """Oldest first."""
        self._steps_since_change: int | None = None

    @property
    def steps_since_change(self) -> int | None:
        """Steps that what is requested has been the same, 1 right after a change; None: it never
        changed while anybody looked."""
        return self._steps_since_change

    @property
    def missing(self) -> int:
        """Executors that are requested and do not run."""
        return sum(each.executors for each in self._missing)

    def observe(self, requested: Configuration, observed: Configuration) -> None:
        before = self._requested if self._requested is not None else requested
        if requested != before:
            self._steps_since_change = 1
        elif self._steps_since_change is not None:
            self._steps_since_change += 1
        for each in self._missing:
            each.steps += 1
        added = requested.executors - before.executors
        new = max(added, 0)
        # A request that is taken back is taken back from those that have waited least.
        self._drop(-added, newest_first=True)
        missing = max(requested.executors - observed.executors, 0)
        unaccounted = missing - self.missing - new
        if unaccounted >= 0:
            new += unaccounted  # lost
        else:
            came = -unaccounted
            self._drop(min(came, self.missing), newest_first=False)
            new = missing - self.missing
        if new:
            self._missing.append(_Missing(new))
        self._requested, self._observed = requested, observed.executors

    def dead_time_steps(self, learned: int) -> int:
        """What to plan with: while executors are missing they have not come at once."""
        return max(learned, 1) if self._missing else learned

    def recent_requests(self, dead_time_steps: int) -> tuple[int, ...]:
        """For `Constraints`: entry t is what can be active t steps from now without a new request,
        as far as the executors on their way come in time."""
        if self._requested is None:
            raise RuntimeError("recent_requests() before the first observe()")
        active = min(self._observed, self._requested.executors)
        arriving = [0] * dead_time_steps
        for each in self._missing:
            if each.steps < dead_time_steps:
                arriving[dead_time_steps - each.steps] += each.executors
        recent = []
        for executors in arriving:
            active += executors
            recent.append(active)
        return tuple(recent)

    def _drop(self, executors: int, *, newest_first: bool) -> None:
        at = -1 if newest_first else 0
        while executors > 0 and self._missing:
            dropped = min(executors, self._missing[at].executors)
            self._missing[at].executors -= dropped
            executors -= dropped
            if not self._missing[at].executors:
                del self._missing[at]
