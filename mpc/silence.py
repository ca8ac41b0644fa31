"""Silence is a latency: while no batch ends, rows are at least as late as they have waited.

The one place that turns the age of the oldest row into a lower bound of the measured latency, so
that guards and policies see a batch that does not end before it has ended. A bound below the target
says nothing about it, and would look like a good latency; it is left out.
"""

from collections import deque
from dataclasses import replace

from mpc.values import Measurement

GATHERING_BATCHES = 8
"""The longest of so many batches is taken for the time over which waiting rows have gathered."""


class Silence:
    """Told every measurement, one a step."""

    def __init__(self, target_latency_s: float) -> None:
        self._target_latency_s = target_latency_s
        self._durations_s: deque[float] = deque(maxlen=GATHERING_BATCHES)

    def heard(self, measurement: Measurement) -> Measurement:
        """The measurement, with a latency no lower than what waits proves it to be."""
        self._durations_s.extend(batch.duration_s for batch in measurement.batches)
        waited_s = measurement.oldest_wait_s
        if waited_s is None:
            return measurement
        # Latency is a mean over rows. Those of one batch gather during the one before it, so that
        # the oldest of them is half such a time older than the mean.
        gathered_s = max(measurement.trigger_interval_s or 0.0, *self._durations_s, 0.0)
        least_s = waited_s - gathered_s / 2.0
        if least_s <= max(self._target_latency_s, measurement.latency_s or 0.0):
            return measurement
        return replace(measurement, latency_s=least_s, latency_kind="at least")
