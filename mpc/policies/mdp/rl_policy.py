"""`mdp-rl`: model-based reinforcement learning of the scaling of one operator.

Source: Russo Russo 2018, Algorithm 1 with N = 1: every step one transition of the rate is counted
(Eq. 5), the penalty of the last step is averaged in (Eq. 6), and one sweep of value iteration is
made. No model of the response time is needed. (With one, `mdp` does not wait for the sweeps.)

Deviations: as a latency depends on the rate and on the executors that served it and on nothing
else, Eq. 6 keeps one penalty for these two and not one for each way that leads there, and weighs
the first samples of each equally; with a weight of 0.1 from the start, an operator would stay
overloaded for tens of steps before it believed it. The rest as in `mdp`, lost executors included.
"""

import numpy as np

from mpc.policies.context import Context
from mpc.policies.mdp.options import MdpRlOptions
from mpc.policies.mdp.policy import OneOperatorMdp
from mpc.policies.mdp.value_iteration import look_ahead, take_best
from mpc.policies.rate_transitions import merged_pairs
from mpc.values import FloatArray, Measurement


class LearnedViolations:
    """How often the target was missed, by rate level and executors; nothing tried yet missed it."""

    def __init__(self, levels: int, sizes: int, smoothing: float) -> None:
        self._smoothing = smoothing
        self._samples = np.zeros((levels, sizes))
        self.share: FloatArray = np.zeros((levels, sizes))

    def observe(self, level: int, place: int, violated: bool) -> None:
        self._samples[level, place] += 1.0
        weight = max(self._smoothing, 1.0 / float(self._samples[level, place]))
        self.share[level, place] += weight * (float(violated) - self.share[level, place])

    def merge_pairs(self) -> None:
        """Twice the distance between levels: two estimates become one, by their samples."""
        missed = merged_pairs(self.share * self._samples)
        self._samples = merged_pairs(self._samples)
        self.share = missed / np.maximum(self._samples, 1.0)


class MdpRlPolicy(OneOperatorMdp):
    def __init__(self, options: MdpRlOptions, context: Context) -> None:
        super().__init__(options, context)
        self._violations = LearnedViolations(*self._values.shape, options.violation_smoothing)

    def _merge_levels(self) -> None:
        super()._merge_levels()
        self._violations.merge_pairs()

    def _ahead(self) -> FloatArray:
        stage = self._stage_cost(self._violations.share)
        ahead = np.empty_like(stage)
        look_ahead(self._values, self._arrivals.estimate.matrix, stage, self._discount, ahead)
        take_best(ahead, self._instances.choices, self._weights.reconfiguration, self._values)
        return ahead

    def _learn(self, measurement: Measurement, level: int | None) -> None:
        """The latency of the last step, served by the executors that ran at the rate it had."""
        if level is None or measurement.latency_s is None:
            return
        served_by = self._space.executor_index(measurement.observed.executors)
        missed = measurement.latency_s > self._target_latency_s
        self._violations.observe(level, served_by, missed)
