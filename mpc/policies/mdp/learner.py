"""Model-based reinforcement learning of a scaling policy (Russo Russo 2018, Algorithm 1, Eq. 5 and
6).

Every step counts one transition of the rate, updates the penalty of what was just done where the
response time is not known, and makes one sweep of value iteration over all states and actions.

Deviations: Algorithm 1 leaves open how Q begins (here at zero) and how an action is chosen "based
on current estimates" (here always the cheapest; penalties start at zero, so what was not tried
yet looks cheap and is tried).
"""

import numpy as np

from mpc.policies.mdp.problem import Instances, MdpWeights, stage_cost
from mpc.policies.mdp.value_iteration import (
    cheapest_action,
    look_ahead,
    take_best,
    take_best_by_action,
    warm_up,
)
from mpc.policies.rate_transitions import TransitionEstimate
from mpc.values import FloatArray

_NONE = np.zeros(0)


class ModelBasedLearner:
    def __init__(
        self,
        levels: int,
        instances: Instances,
        weights: MdpWeights,
        *,
        known_violations: FloatArray | None,
        discount: float = 0.99,
        violation_smoothing: float = 0.1,
    ) -> None:
        """`known_violations` is the response-time model as a table (levels, size); None learns it
        for every state and action."""
        warm_up()
        self._instances = instances
        self._weights = weights
        self._discount = discount
        self._smoothing = violation_smoothing
        self._neighbours = instances.neighbours()
        self._rates = TransitionEstimate(levels)
        shape = (levels, instances.size)
        violated = np.zeros(shape) if known_violations is None else known_violations
        self._stage = stage_cost(instances, weights, violated)
        self._penalties: FloatArray | None = None
        if known_violations is None:
            self._penalties = np.zeros((*shape, instances.actions))
        self.values = np.zeros(shape)
        self._ahead = self._stage.copy()

    @property
    def transitions(self) -> FloatArray:
        """The estimate so far."""
        return self._rates.matrix

    @property
    def penalties(self) -> FloatArray | None:
        """The estimate of c_u so far, (levels, size, actions); None where it is known."""
        return self._penalties

    def choose(self, level: int, at: int) -> int:
        """The cheapest action in this state, as a column of the neighbours."""
        penalties = _NONE if self._penalties is None else self._penalties[level, at]
        to = self._neighbours[at]
        weight = self._weights.reconfiguration
        return cheapest_action(self._ahead[level], penalties, to, at, weight)

    def after(self, at: int, action: int) -> int:
        return int(self._neighbours[at, action])

    def learn(self, level: int, at: int, action: int, next_level: int, violated: bool) -> None:
        """From one step: what was done in which state, and what came of it."""
        self._rates.observe(level, next_level)
        if self._penalties is not None:
            penalty = self._weights.violation if violated else 0.0
            known = self._penalties[level, at, action]
            self._penalties[level, at, action] = known + self._smoothing * (penalty - known)
        look_ahead(self.values, self._rates.matrix, self._stage, self._discount, self._ahead)
        weight = self._weights.reconfiguration
        if self._penalties is None:
            take_best(self._ahead, self._instances.choices, weight, self.values)
        else:
            take_best_by_action(self._ahead, self._penalties, self._neighbours, weight, self.values)
