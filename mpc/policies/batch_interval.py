"""The trigger interval that a policy reckons with: the configured one, or the one measured."""

from mpc.values import Measurement


class BatchInterval:
    def __init__(self, configured_s: float | None, otherwise_s: float) -> None:
        """`otherwise_s` is taken until an interval was measured, and where batches run back to
        back."""
        self._configured_s = configured_s
        self.seconds = otherwise_s if configured_s is None else configured_s

    def observe(self, measurement: Measurement) -> None:
        if self._configured_s is None and measurement.trigger_interval_s is not None:
            self.seconds = measurement.trigger_interval_s
