"""The rate of a stream whose batches tell it, while a batch does not end."""

from dataclasses import replace

from mpc.values import Measurement


class LastRate:
    """Told every measurement, one a step."""

    def __init__(self) -> None:
        self._arrivals_per_s: float | None = None

    def continued(self, measurement: Measurement) -> Measurement:
        """With the last rate that was told, where rows are late and their batch has not ended."""
        if measurement.arrivals_per_s is not None:
            self._arrivals_per_s = measurement.arrivals_per_s
        elif measurement.latency_kind == "at least":
            return replace(measurement, arrivals_per_s=self._arrivals_per_s)
        return measurement
