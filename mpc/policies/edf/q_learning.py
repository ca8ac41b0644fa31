"""The model-free local policy: Q-learning with epsilon-greedy choice.

Source: Cardellini et al. 2018, section 5.2.1, Eq. 2 and Algorithm 1; learning rate 0.1, discount
0.99, epsilon 0.05 (section 9). The table starts at zero, which is below every real cost: each
action of a state is tried in turn for a long time, and that is the constant reconfiguring the paper
reports.

It learns what replicas bring by trying them; where two of three are lost it takes longer than the
tens of steps of the contract suite to learn that it needs more.

Deviations: those of `learning`; of equal estimates doing nothing is preferred, then scaling out.
"""

import numpy as np

from mpc.policies.edf.learning import CHANGES, Change, LearningScaling, LearningTask, State
from mpc.policies.edf.options import EdfQLearningOptions


class QLearningScaling(LearningScaling):
    def __init__(
        self, options: EdfQLearningOptions, task: LearningTask, generator: np.random.Generator
    ) -> None:
        super().__init__(options, task)
        self._exploration = options.exploration
        self._generator = generator

    def _choose(self, state: State) -> tuple[Change, str]:
        if self._generator.random() < self._exploration:
            change = int(self._generator.choice(self._model.admissible(state)))
            return CHANGES[CHANGES.index(change)], "by exploration"
        return super()._choose(state)

    def _learn(self, before: State | None, now: State, response_s: float | None) -> None:
        if before is None or response_s is None or now[0] - before[0] not in CHANGES:
            return  # Or somebody else moved several replicas at once: no action of this policy.
        action = CHANGES.index(now[0] - before[0])
        cost = self._model.known_cost(before[0], CHANGES[action])
        cost += self._model.violation_cost(response_s)
        target = cost + self._options.discount * float(self._table[now].min())
        rate = self._options.learning_rate
        self._table[before][action] += rate * (target - self._table[before][action])
