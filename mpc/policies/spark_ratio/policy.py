"""`spark-ratio`: the ratio of processing time to batch interval, as Spark Streaming scales itself.

Source: Azimi Gehraz 2018, section 5.10 (Table 5.10: scaling interval 60 s, scale up ratio 0.6,
scale down ratio 0.3), the resource manager of Spark's DStreams. Every scaling interval the mean
processing time of the batches since the last decision is divided by the batch interval. At or above
the upper ratio max(round(ratio), 1) executors are added; at or below the lower one is removed.

Deviations: batches of Structured Streaming stand for those of DStreams; which executor goes is the
actuator's choice, where Spark takes a random one; the frequency stays at its maximum. As its
source, it listens to batches that completed: one that does not end is none.
"""

from mpc.bounds import Bounds
from mpc.policies.batch_interval import BatchInterval
from mpc.policies.context import Context
from mpc.policies.full_speed import at_full_speed
from mpc.policies.spark_ratio.options import SparkRatioOptions
from mpc.values import Decision, Measurement


class SparkRatioPolicy:
    def __init__(self, options: SparkRatioOptions, context: Context) -> None:
        self._options = options
        self._batch_interval = BatchInterval(options.batch_interval_s, context.step_s)
        self._durations_s: list[float] = []
        self._decided_s: float | None = None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._batch_interval.observe(measurement)
        self._durations_s += [batch.duration_s for batch in measurement.batches]
        change, reason = self._change(measurement.time_s)
        executors = measurement.requested.executors + change
        return at_full_speed(measurement, bounds, executors, reason)

    def _change(self, time_s: float) -> tuple[int, str]:
        if self._decided_s is None:
            self._decided_s = time_s
        if time_s - self._decided_s < self._options.scaling_interval_s:
            return 0, "within the scaling interval"
        self._decided_s = time_s
        if not self._durations_s:
            return 0, "no batch finished in the scaling interval"
        ratio = sum(self._durations_s) / len(self._durations_s) / self._batch_interval.seconds
        self._durations_s.clear()
        upper, lower = self._options.upper, self._options.lower
        if ratio >= upper:
            return max(round(ratio), 1), f"ratio {ratio:.2f} at or above {upper:g}"
        if ratio <= lower:
            return -1, f"ratio {ratio:.2f} at or below {lower:g}"
        return 0, f"ratio {ratio:.2f} within the band"
