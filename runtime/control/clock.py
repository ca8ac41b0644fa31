"""Control steps on an absolute schedule, so that no delay adds up."""

import threading
from collections.abc import Callable


class StepClock:
    """Steps that were slept through are left out."""

    def __init__(
        self, step_s: float, stop: threading.Event, monotonic_s: Callable[[], float]
    ) -> None:
        self._step_s = step_s
        self._stop = stop
        self._monotonic_s = monotonic_s
        self._due_s = monotonic_s()
        self.missed_steps = 0
        """Left out before the current step."""

    def wait_for_step(self) -> bool:
        """False if the loop was stopped meanwhile."""
        self._due_s += self._step_s
        late_s = self._monotonic_s() - self._due_s
        self.missed_steps = max(int(late_s / self._step_s), 0)
        self._due_s += self.missed_steps * self._step_s
        return not self._stop.wait(max(self._due_s - self._monotonic_s(), 0.0))

    def since_due_s(self) -> float:
        """How long ago the current step was due."""
        return self._monotonic_s() - self._due_s
