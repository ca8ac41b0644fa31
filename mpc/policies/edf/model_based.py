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

from mpc.policies.edf.learning import CHANGES, LearningTask, OperatorModel, ScoreScale, State
from mpc.policies.edf.options import EdfModelBasedOptions
from mpc.policies.edf.values import OperatorSample, Proposal, kept
from mpc.values import FloatArray


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


class RateTransitions:
    """How often the arrival rate went from one level to another."""

    def __init__(self, levels: int) -> None:
        self._counts = np.zeros((levels, levels))

    def count(self, before: int, after: int) -> None:
        self._counts[before, after] += 1.0

    def probabilities(self) -> FloatArray:
        left = self._counts.sum(axis=1, keepdims=True)
        lasting = np.eye(len(self._counts))
        shares: FloatArray = np.where(left > 0, self._counts / np.maximum(left, 1.0), lasting)
        return shares


class ModelBasedScaling:
    def __init__(self, options: EdfModelBasedOptions, task: LearningTask) -> None:
        self._discount = options.discount
        self._model = OperatorModel(options, task)
        self._costs = ViolationCosts(self._model, options.learning_rate)
        self._transitions = RateTransitions(self._model.levels)
        self._table = self._model.empty_table()
        self._scale = ScoreScale()
        self._previous: State | None = None

    def propose(self, sample: OperatorSample) -> Proposal:
        if sample.arrivals_per_s is None:
            self._previous = None
            return kept("no arrival rate measured")
        state = self._model.state(sample.replicas, sample.arrivals_per_s)
        if self._previous is not None:
            self._transitions.count(self._previous[1], state[1])
        if sample.response_s is not None:
            self._costs.update(state, self._model.violation_cost(sample.response_s))
        self._previous = state
        self._back_up()
        return self._scale.proposal(self._model, self._table[state], state)

    def _back_up(self) -> None:
        """Algorithm 2. By Eq. 3 the next replica count is certain and only the rate is not."""
        ahead = self._costs.estimates + self._discount * self._table.min(axis=2)
        expected = ahead @ self._transitions.probabilities().T
        counts = self._model.replica_counts
        for action, change in enumerate(CHANGES):
            for count in range(max(0, -change), min(counts, counts - change)):
                known = self._model.known_cost(count, change)
                self._table[count, :, action] = known + expected[count + change]
