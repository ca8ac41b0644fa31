"""The model-based local policy: full backups with estimated transitions and violation costs.

Source: Cardellini et al. 2018, section 5.2.2, Eq. 3 to 5 and Algorithm 2. The transition
probabilities of the arrival rate are counted, the violation cost of a state is an exponential
average that is kept monotone (never lower with fewer replicas or more arrivals), and every step
backs up all states once. The choice is greedy; learning rate 0.1, discount 0.99 (section 9).

Deviations: those of `learning`; a backup uses the Q of the step before throughout, where Algorithm
2 overwrites it state by state; a rate level that was never left is taken to last (the paper's
estimate is 0/0 there); of equal estimates doing nothing is preferred, then scaling out.
"""

import numpy as np

from mpc.policies.edf.learning import CHANGES, LearningScaling, LearningTask, OperatorModel, State
from mpc.policies.edf.options import EdfModelBasedOptions
from mpc.policies.rate_transitions import TransitionEstimate


class ViolationCosts:
    """c_u of every state, monotone after every update."""

    def __init__(self, model: OperatorModel, learning_rate: float) -> None:
        self._learning_rate = learning_rate
        self.estimates = np.zeros((model.replica_counts, model.levels))

    def update(self, state: State, cost: float) -> None:
        """Eq. 5, then the constraints that follow it."""
        count, level = state
        estimates = self.estimates
        estimates[state] += self._learning_rate * (cost - estimates[state])
        estimate = float(estimates[state])
        worse = estimates[: count + 1, level:]
        np.maximum(worse, estimate, out=worse)
        better = estimates[count:, : level + 1]
        np.minimum(better, estimate, out=better)


class ModelBasedScaling(LearningScaling):
    def __init__(self, options: EdfModelBasedOptions, task: LearningTask) -> None:
        super().__init__(options, task)
        self._costs = ViolationCosts(self._model, options.learning_rate)
        self._transitions = TransitionEstimate(self._model.levels)

    def _learn(self, before: State | None, now: State, response_s: float | None) -> None:
        if before is not None:
            self._transitions.observe(before[1], now[1])
        if response_s is not None:
            self._costs.update(now, self._model.violation_cost(response_s))
        self._back_up()

    def _back_up(self) -> None:
        """Algorithm 2. By Eq. 3 the next replica count is certain and only the rate is not."""
        ahead = self._costs.estimates + self._options.discount * self._table.min(axis=2)
        expected = ahead @ self._transitions.matrix.T
        counts = self._model.replica_counts
        for action, change in enumerate(CHANGES):
            for count in range(max(0, -change), min(counts, counts - change)):
                known = self._model.known_cost(count, change)
                self._table[count, :, action] = known + expected[count + change]
