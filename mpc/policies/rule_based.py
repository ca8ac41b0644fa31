"""`rule-based`: one executor more when latency is too high, one fewer when it is low.

Source: the reactive rules of De Matteis and Mencagli 2016, section 5.5, with the thresholds of the
authors' code: above 1.1 theta add one, below 0.7 theta remove one. The frequency stays at its
maximum. Deviation: none known; the paper gives no other detail.
"""

from mpc.bounds import Bounds
from mpc.policies.full_speed import at_full_speed
from mpc.values import ConfigurationSpace, Decision, Measurement


class RuleBasedPolicy:
    def __init__(
        self,
        space: ConfigurationSpace,
        threshold_s: float,
        upper: float = 1.1,
        lower: float = 0.7,
    ) -> None:
        self._space = space
        self._add_above_s = upper * threshold_s
        self._remove_below_s = lower * threshold_s

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        executors = measurement.requested.executors
        reason = "latency within the band"
        if measurement.latency_s is None:
            reason = "no latency measured"
        elif measurement.latency_s > self._add_above_s:
            executors += 1
            reason = f"latency above {self._add_above_s:g} s"
        elif measurement.latency_s < self._remove_below_s:
            executors -= 1
            reason = f"latency below {self._remove_below_s:g} s"
        return at_full_speed(measurement, bounds, executors, reason)
