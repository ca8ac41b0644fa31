"""The model-free local policy: Q-learning with epsilon-greedy choice.

Source: Cardellini et al. 2018, section 5.2.1, Eq. 2 and Algorithm 1; learning rate 0.1, discount
0.99, epsilon 0.05 (section 9). The table starts at zero, which is below every real cost: each
action of a state is tried in turn for a long time, and that is the constant reconfiguring the paper
reports.

Deviations: those of `learning`; of equal estimates doing nothing is preferred, then scaling out.
"""

import numpy as np

from mpc.policies.edf.learning import CHANGES, LearningTask, OperatorModel, ScoreScale, State
from mpc.policies.edf.options import EdfQLearningOptions
from mpc.policies.edf.values import OperatorSample, Proposal, kept


class QLearningScaling:
    def __init__(
        self, options: EdfQLearningOptions, task: LearningTask, generator: np.random.Generator
    ) -> None:
        self._options = options
        self._generator = generator
        self._model = OperatorModel(options, task)
        self._table = self._model.empty_table()
        self._scale = ScoreScale()
        self._previous: State | None = None

    def propose(self, sample: OperatorSample) -> Proposal:
        if sample.arrivals_per_s is None:
            self._previous = None
            return kept("no arrival rate measured")
        state = self._model.state(sample.replicas, sample.arrivals_per_s)
        if self._previous is not None and sample.response_s is not None:
            self._learn(self._previous, state, sample.response_s)
        self._previous = state
        estimates = self._table[state]
        if self._generator.random() < self._options.exploration:
            change = self._generator.choice(self._model.admissible(state))
            chosen = CHANGES[CHANGES.index(int(change))]
            return self._scale.scored(self._model, estimates, state, chosen, "by exploration")
        return self._scale.proposal(self._model, estimates, state)

    def _learn(self, before: State, after: State, response_s: float) -> None:
        carried_out = after[0] - before[0]
        if carried_out not in CHANGES:
            return  # Somebody else moved several replicas at once: no action of this policy.
        action = CHANGES.index(carried_out)
        cost = self._model.known_cost(before[0], CHANGES[action])
        cost += self._model.violation_cost(response_s)
        target = cost + self._options.discount * float(self._table[after].min())
        rate = self._options.learning_rate
        self._table[before][action] += rate * (target - self._table[before][action])
