"""When batches tell what arrived: how far apart, and whether they should have by now."""

from mpc.values import Measurement

OVERDUE_PERIODS = 2.0
"""When so many periods have passed without arrivals, something is wrong."""


class BatchRhythm:
    """Told every measurement, one a step."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._silent_s = 0.0
        """How long no arrivals have been told."""
        self.period_s = 0.0
        """How far apart batches begin, by the last of them."""
        self.warm_period_s = 0.0
        """The same by the last batch of executors that had not only just started."""

    @property
    def overdue(self) -> bool:
        """Whether arrivals should have been told by now: batches tell them one period apart."""
        return self._silent_s > OVERDUE_PERIODS * self.period_s

    def observe(self, measurement: Measurement) -> None:
        samples = measurement.batches
        interval_s = measurement.trigger_interval_s or 0.0
        if samples:
            self.period_s = max(interval_s, *(sample.duration_s for sample in samples))
        warm_s = [sample.duration_s for sample in samples if not sample.cold]
        if warm_s:
            self.warm_period_s = max(interval_s, *warm_s)
        self._silent_s += self._step_s
        if measurement.arrivals_per_s is not None:
            self._silent_s = 0.0
