"""States, actions and costs that both learning policies of EDF share.

Source: Cardellini et al. 2018, section 5.2. A state is (replicas k, arrival rate in quanta), an
action adds one replica, removes one or does nothing, and Eq. 1 weighs reconfiguration, violation of
the operator's response time bound and replicas in use. Defaults: section 9.

Deviations: the weights are divided by their sum, so that any three express their relation; rates
beyond the highest level count as that level (the paper leaves its L open); the action that is
learned from is the one that was carried out, that is the change in replicas, which differs from
the proposed one when the application manager did not grant it (the paper does not say).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mpc.policies.edf.options import EdfModelBasedOptions
from mpc.policies.edf.values import OperatorSample, Proposal, kept
from mpc.values import FloatArray

Change = Literal[-1, 0, 1]
CHANGES: tuple[Change, ...] = (0, 1, -1)
"""In the order in which equal estimates are preferred; also the last axis of a Q table."""
_WORDS = {1: "one replica more", -1: "one replica fewer", 0: "no change"}


@dataclass(frozen=True, slots=True)
class LearningTask:
    """The operator that is learned about."""

    bound_s: float
    """R_max,op: response time of the operator not to exceed."""
    min_replicas: int
    max_replicas: int

    def __post_init__(self) -> None:
        if self.bound_s <= 0 or not 1 <= self.min_replicas <= self.max_replicas:
            raise ValueError(f"needs a positive bound_s and 1 <= min <= max replicas, got {self}")


State = tuple[int, int]
"""Index of the replica count and level of the arrival rate."""


class OperatorModel:
    """What is known about the operator in advance: states, admissible actions, known costs."""

    def __init__(self, options: EdfModelBasedOptions, task: LearningTask) -> None:
        self._options = options
        self._task = task
        weights = np.array(
            [options.performance_weight, options.resource_weight, options.reconfiguration_weight]
        )
        self._performance_weight, self._resource_weight, self._reconfiguration_weight = map(
            float, weights / weights.sum()
        )
        self.replica_counts = task.max_replicas - task.min_replicas + 1
        self.levels = options.rate_levels + 1

    def state(self, replicas: int, arrivals_per_s: float) -> State:
        options, task = self._options, self._task
        level = min(arrivals_per_s / options.rate_quantum_per_s, options.rate_levels)
        within = min(max(replicas, task.min_replicas), task.max_replicas)
        return within - task.min_replicas, round(level)

    def admissible(self, state: State) -> list[Change]:
        return [change for change in CHANGES if 0 <= state[0] + change < self.replica_counts]

    def known_cost(self, count_index: int, change: Change) -> float:
        """c_k(s, a) of Eq. 4: reconfiguration and resources."""
        replicas = count_index + change + self._task.min_replicas
        return (
            self._reconfiguration_weight * (change != 0)
            + self._resource_weight * replicas / self._task.max_replicas
        )

    def violation_cost(self, response_s: float) -> float:
        """The term of Eq. 1 that is not known in advance."""
        return self._performance_weight * (response_s > self._task.bound_s)

    def empty_table(self) -> FloatArray:
        """Q of every state and action: zero, and infinite where the action is not admissible."""
        table = np.zeros((self.replica_counts, self.levels, len(CHANGES)))
        table[-1, :, CHANGES.index(1)] = np.inf
        table[0, :, CHANGES.index(-1)] = np.inf
        return table


class LearningScaling(ABC):
    """A table of Q(s, .), learned from every sample and followed greedily.

    The score of a proposal (section 5.2) is its expected gain over doing nothing, divided by the
    largest gain seen so far (at least 1).
    """

    def __init__(self, options: EdfModelBasedOptions, task: LearningTask) -> None:
        self._options = options
        self._model = OperatorModel(options, task)
        self._table = self._model.empty_table()
        self._previous: State | None = None
        self._largest_gain = 1.0

    def propose(self, sample: OperatorSample) -> Proposal:
        if sample.arrivals_per_s is None:
            self._previous = None
            return kept("no arrival rate measured")
        state = self._model.state(sample.replicas, sample.arrivals_per_s)
        self._learn(self._previous, state, sample.response_s)
        self._previous = state
        change, why = self._choose(state)
        estimates = self._table[state]
        gains = {
            other: float(estimates[0] - estimates[CHANGES.index(other)])
            for other in self._model.admissible(state)
        }
        self._largest_gain = max(self._largest_gain, *gains.values())
        if change == 0:
            return kept(f"no change {why}")
        return Proposal(change, gains[change] / self._largest_gain, f"{_WORDS[change]} {why}")

    @abstractmethod
    def _learn(self, before: State | None, now: State, response_s: float | None) -> None:
        """Update the table; `before` is None where the last state is not known."""

    def _choose(self, state: State) -> tuple[Change, str]:
        return CHANGES[int(np.argmin(self._table[state]))], "by its estimates"
