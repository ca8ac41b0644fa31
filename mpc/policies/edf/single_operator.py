"""A local policy of EDF as the policy of one operator: its proposal is carried out as it is.

Source: Cardellini et al. 2018, section 5; with one operator there is nothing to coordinate, so
there is no application manager. The response time bound of the operator is the target latency.

Deviations: planning happens at every control step (the paper's interval is 30 s); utilisation is
the completed work over the capacity, the same for every replica, as replicas are not measured one
by one; the loop rests while replicas are started or ended, at most `settle_s` (the paper: a short
period); while rows wait and no batch tells a rate, the last one goes on; the frequency stays at its
maximum.
"""

from mpc.bounds import Bounds
from mpc.policies.context import Context
from mpc.policies.edf.learning import LearningTask
from mpc.policies.edf.model_based import ModelBasedScaling
from mpc.policies.edf.options import EdfModelBasedOptions, EdfQLearningOptions, EdfThresholdOptions
from mpc.policies.edf.q_learning import QLearningScaling
from mpc.policies.edf.threshold import ThresholdScaling
from mpc.policies.edf.values import LocalPolicy, OperatorSample
from mpc.policies.full_speed import at_full_speed
from mpc.policies.last_rate import LastRate
from mpc.values import Decision, Measurement


class SingleOperatorPolicy:
    def __init__(self, local: LocalPolicy, settle_s: float) -> None:
        self._local = local
        self._settle_s = settle_s
        self._changed_s: float | None = None
        self._rate = LastRate()

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        measurement = self._rate.continued(measurement)
        replicas = measurement.requested.executors
        if self._settling(measurement):
            change, reason = 0, "waiting for the last change to take effect"
        else:
            proposal = self._local.propose(_sample(measurement))
            change, reason = proposal.change, proposal.reason
        decision = at_full_speed(measurement, bounds, replicas + change, reason)
        if decision.target.executors != replicas:
            self._changed_s = measurement.time_s
        return decision

    def _settling(self, measurement: Measurement) -> bool:
        if self._changed_s is None:
            return False
        under_way = measurement.requested.executors != measurement.observed.executors
        return under_way and measurement.time_s - self._changed_s < self._settle_s


def threshold_policy(options: EdfThresholdOptions, context: Context) -> SingleOperatorPolicy:
    space = context.space
    local = ThresholdScaling(options, space.min_executors, space.max_executors)
    return SingleOperatorPolicy(local, options.settle_s)


def q_learning_policy(options: EdfQLearningOptions, context: Context) -> SingleOperatorPolicy:
    local = QLearningScaling(options, _task(context), context.generator)
    return SingleOperatorPolicy(local, options.settle_s)


def model_based_policy(options: EdfModelBasedOptions, context: Context) -> SingleOperatorPolicy:
    return SingleOperatorPolicy(ModelBasedScaling(options, _task(context)), options.settle_s)


def _task(context: Context) -> LearningTask:
    space = context.space
    return LearningTask(context.target_latency_s, space.min_executors, space.max_executors)


def _sample(measurement: Measurement) -> OperatorSample:
    replicas = measurement.requested.executors
    utilisation = _utilisation(measurement)
    return OperatorSample(
        replicas=replicas,
        utilisations=None if utilisation is None else (utilisation,) * replicas,
        arrivals_per_s=measurement.arrivals_per_s,
        response_s=measurement.latency_s,
    )


def _utilisation(measurement: Measurement) -> float | None:
    served_per_s = measurement.completions_per_s
    if served_per_s is None:
        served_per_s = measurement.arrivals_per_s
    if served_per_s is None or measurement.cost_cycles is None:
        return None
    observed = measurement.observed
    capacity_hz = observed.executors * observed.frequency_khz * 1e3
    return min(served_per_s * measurement.cost_cycles / capacity_hz, 1.0)
