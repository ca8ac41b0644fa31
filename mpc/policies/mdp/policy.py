"""`mdp`: the optimal scaling of a Markov decision process, for one operator.

Source: Russo Russo 2018, the centralised problem of section 2 with N = 1, solved by value iteration
(section 3). Every step the model is updated by what was measured and solved again, from the last
solution on: the transitions of the rate by Eq. 5, violations from the response time of
`mpc.policies.mdp.response`, costs by Eq. 1.

Deviations: the model is estimated as it runs, where the paper knows it; the quantum of the rate
follows the stream; a level never left yet is taken to stay. Where the target is out of reach at a
rate, all executors count as meeting it: Eq. 1 would take the fewest there, as all violate alike.
A backlog is no part of the state, as in the paper, and instances that were asked for are taken to
run, so that lost executors are not made up for. While rows wait and no batch tells a rate, the last
one goes on. The frequency stays at its maximum.
"""

from abc import ABC, abstractmethod

import numpy as np

from mpc.bounds import Bounds
from mpc.policies.context import Context
from mpc.policies.full_speed import at_full_speed
from mpc.policies.last_rate import LastRate
from mpc.policies.mdp.arrival_model import ArrivalModel
from mpc.policies.mdp.options import MdpOptions
from mpc.policies.mdp.problem import Instances, MdpWeights, stage_cost
from mpc.policies.mdp.response import ResponseModel
from mpc.policies.mdp.value_iteration import solve, warm_up
from mpc.values import Decision, FloatArray, Measurement

TOLERANCE = 1e-4
"""Of the values, where the costs of one step add up to about 1."""
MOST_SWEEPS = 2_000
"""Enough for it from nothing at a discount of 0.99; the next step goes on from there."""


class OneOperatorMdp(ABC):
    """The process of one operator, which both policies solve: `_learn` from what was measured, then
    `_ahead`, the cost of being anywhere after this step, decides."""

    def __init__(self, options: MdpOptions, context: Context) -> None:
        warm_up()
        space = context.space
        self._space = space
        self._discount = options.discount
        self._target_latency_s = context.target_latency_s
        self._weights = MdpWeights(
            options.resource_weight, options.reconfiguration_weight, options.violation_weight
        )
        self._instances = Instances(1, space.min_executors, space.max_executors)
        self._arrivals = ArrivalModel(options.rate_levels)
        self._rate = LastRate()
        self._values = np.zeros((options.rate_levels + 1, self._instances.size))

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        measurement = self._rate.continued(measurement)
        level, doubled = self._arrivals.observe(measurement.arrivals_per_s)
        for _ in range(doubled):
            self._merge_levels()
        self._learn(measurement, level)
        executors = measurement.requested.executors
        if level is None:
            return at_full_speed(measurement, bounds, executors, "no arrivals measured: hold")
        ahead = self._ahead()
        if ahead is None:
            return at_full_speed(measurement, bounds, executors, "no cost measured yet: hold")
        at = self._space.executor_index(executors)
        after, reason = cheapest_move(ahead[level], at, self._weights.reconfiguration)
        wanted = self._space.min_executors + after
        return at_full_speed(measurement, bounds, wanted, f"rate level {level}: {reason}")

    def _merge_levels(self) -> None:
        """Levels twice as far apart; what lies beyond the old ones takes the last value."""
        levels = len(self._values)
        self._values = self._values[np.minimum(2 * np.arange(levels), levels - 1)]

    @abstractmethod
    def _learn(self, measurement: Measurement, _level: int | None) -> None:
        """From what was measured and the rate level of it; None: the rate was not measured."""

    @abstractmethod
    def _ahead(self) -> FloatArray | None:
        """(levels, executors); None where the costs are not known yet."""

    def _stage_cost(self, violated: FloatArray) -> FloatArray:
        """Where all numbers of executors most likely violate, the largest counts as the way out."""
        eased = violated.copy()
        eased[np.all(violated > 0.5, axis=1), -1] = 0.0
        return stage_cost(self._instances, self._weights, eased)


class MdpPolicy(OneOperatorMdp):
    def __init__(self, options: MdpOptions, context: Context) -> None:
        super().__init__(options, context)
        self._response = ResponseModel(context.space, context.step_s)

    def _learn(self, measurement: Measurement, _level: int | None) -> None:
        self._response.observe(measurement)

    def _ahead(self) -> FloatArray | None:
        response_s = self._response.response_s(self._arrivals.rates_per_s)
        if response_s is None:
            return None
        violated = (response_s > self._target_latency_s).astype(np.float64)
        solution = solve(
            self._arrivals.estimate.matrix,
            self._stage_cost(violated),
            self._instances,
            self._weights.reconfiguration,
            self._discount,
            TOLERANCE,
            self._values,
            MOST_SWEEPS,
        )
        self._values = solution.values
        return solution.ahead


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
