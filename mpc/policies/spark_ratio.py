"""`spark-ratio`: the ratio of processing time to batch interval, as Spark Streaming scales itself.

Source: Azimi Gehraz 2018, section 5.10 (Table 5.10: scaling interval 60 s, scale up ratio 0.6,
scale down ratio 0.3), the resource manager of Spark's DStreams. Every scaling interval the mean
processing time of the batches since the last decision is divided by the batch interval. At or above
the upper ratio max(round(ratio), 1) executors are added; at or below the lower one is removed.

Deviations: batches of Structured Streaming stand for those of DStreams; which executor goes is the
actuator's choice, where Spark takes a random one; the frequency stays at its maximum.
"""

from mpc.bounds import Bounds
from mpc.policies.full_speed import at_full_speed
from mpc.values import ConfigurationSpace, Decision, Measurement


class SparkRatioPolicy:
    def __init__(
        self,
        space: ConfigurationSpace,
        batch_interval_s: float,
        scaling_interval_s: float = 60.0,
        upper: float = 0.6,
        lower: float = 0.3,
    ) -> None:
        if batch_interval_s <= 0 or scaling_interval_s <= 0:
            raise ValueError(
                f"batch_interval_s and scaling_interval_s must be positive, got "
                f"{batch_interval_s} and {scaling_interval_s}"
            )
        self._space = space
        self._batch_interval_s = batch_interval_s
        self._scaling_interval_s = scaling_interval_s
        self._upper = upper
        self._lower = lower
        self._durations_s: list[float] = []
        self._decided_s: float | None = None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._durations_s += [batch.duration_s for batch in measurement.batches]
        change, reason = self._change(measurement.time_s)
        executors = measurement.requested.executors + change
        return at_full_speed(measurement, bounds, executors, reason)

    def _change(self, time_s: float) -> tuple[int, str]:
        if self._decided_s is None:
            self._decided_s = time_s
        if time_s - self._decided_s < self._scaling_interval_s:
            return 0, "within the scaling interval"
        self._decided_s = time_s
        if not self._durations_s:
            return 0, "no batch finished in the scaling interval"
        ratio = sum(self._durations_s) / len(self._durations_s) / self._batch_interval_s
        self._durations_s.clear()
        if ratio >= self._upper:
            return max(round(ratio), 1), f"ratio {ratio:.2f} at or above {self._upper:g}"
        if ratio <= self._lower:
            return -1, f"ratio {ratio:.2f} at or below {self._lower:g}"
        return 0, f"ratio {ratio:.2f} within the band"
