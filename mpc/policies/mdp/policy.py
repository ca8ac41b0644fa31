"""`mdp`: the optimal scaling of a Markov decision process, for one operator.

Source: Russo Russo 2018, the centralised problem of section 2 with N = 1, solved by value iteration
(section 3). Every step the model is updated by what was measured and solved again, from the last
solution on: the transitions of the rate by Eq. 5, violations from the response time of
`mpc.policies.mdp.response`, costs by Eq. 1.

Deviations: the model is estimated as it runs, where the paper knows it; the quantum of the rate
follows the stream; a level never left yet is taken to stay. Where the target is out of reach at a
rate, all executors count as meeting it: Eq. 1 would take the fewest there, as all violate alike.
A backlog is no part of the state, as in the paper. The frequency stays at its maximum.
"""

from dataclasses import dataclass, field

import numpy as np

from mpc.bounds import Bounds
from mpc.policies.full_speed import at_full_speed
from mpc.policies.mdp.arrival_model import ArrivalModel
from mpc.policies.mdp.problem import Instances, Weights, stage_cost
from mpc.policies.mdp.response import ResponseModel
from mpc.policies.mdp.sweeps import warm_up
from mpc.policies.mdp.value_iteration import solve
from mpc.values import ConfigurationSpace, Decision, FloatArray, Measurement

TOLERANCE = 1e-4
"""Of the values, where the costs of one step add up to about 1."""
MOST_SWEEPS = 2_000
"""Enough for it from nothing at a discount of 0.99; the next step goes on from there."""


@dataclass(frozen=True, slots=True)
class MdpParameters:
    """Section 4 of the paper, but for the target and the step, which come from the plant."""

    target_latency_s: float
    step_s: float
    weights: Weights = field(default_factory=Weights)
    discount: float = 0.99
    rate_levels: int = 40


class MdpPolicy:
    def __init__(self, space: ConfigurationSpace, parameters: MdpParameters) -> None:
        self._space = space
        self._parameters = parameters
        self._instances = Instances(1, space.min_executors, space.max_executors)
        self._arrivals = ArrivalModel(parameters.rate_levels)
        self._response = ResponseModel(space, parameters.step_s)
        warm_up()
        self._values = np.zeros((parameters.rate_levels + 1, self._instances.size))

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._response.observe(measurement)
        level, doubled = self._arrivals.observe(measurement.arrivals_per_s)
        for _ in range(doubled):
            self._values = every_second(self._values)
        at = self._space.executor_index(measurement.requested.executors)
        if level is None:
            return self._at(measurement, bounds, at, "no arrivals measured: hold")
        response_s = self._response.response_s(self._arrivals.rates_per_s)
        if response_s is None:
            return self._at(measurement, bounds, at, "no cost measured yet: hold")
        violated = (response_s > self._parameters.target_latency_s).astype(np.float64)
        weights = self._parameters.weights
        solution = solve(
            self._arrivals.estimate.matrix,
            stage_cost(self._instances, weights, with_a_way_out(violated)),
            self._instances,
            weights.reconfiguration,
            self._parameters.discount,
            TOLERANCE,
            self._values,
            MOST_SWEEPS,
        )
        self._values = solution.values
        after, reason = cheapest_move(solution.ahead[level], at, weights.reconfiguration)
        return self._at(measurement, bounds, after, f"rate level {level}: {reason}")

    def _at(self, measurement: Measurement, bounds: Bounds, place: int, reason: str) -> Decision:
        return at_full_speed(measurement, bounds, self._space.min_executors + place, reason)


def with_a_way_out(violated: FloatArray) -> FloatArray:
    """Where every number of executors most likely violates, the largest counts as the way out."""
    eased = violated.copy()
    eased[np.all(violated > 0.5, axis=1), -1] = 0.0
    return eased


def cheapest_move(ahead: FloatArray, at: int, reconfiguration_weight: float) -> tuple[int, str]:
    """The place of least cost within one executor of `at`, and why; stays without a gain."""
    best, cost = at, float(ahead[at])
    for to in (at - 1, at + 1):
        if 0 <= to < len(ahead) and ahead[to] + reconfiguration_weight < cost:
            best, cost = to, float(ahead[to]) + reconfiguration_weight
    if best == at:
        return at, f"keeping costs least, {cost:.3g}"
    change = "one more executor" if best > at else "one executor fewer"
    return best, f"{change} costs {cost:.3g}, keeping {float(ahead[at]):.3g}"


def every_second(values: FloatArray) -> FloatArray:
    """Values for levels twice as far apart; what lies beyond the old ones takes the last."""
    return values[np.minimum(2 * np.arange(len(values)), len(values) - 1)]
