"""Centralised control of a whole pipeline (Russo Russo 2018, section 2): solved, or learned as it
runs.

A controller sees the rate level and the instances of all operators at the start of a slot and
says what they become; afterwards it may learn from what happened.
"""

from dataclasses import dataclass
from typing import Protocol

from mpc.policies.mdp.learner import ModelBasedLearner
from mpc.policies.mdp.problem import Instances, Weights, stage_cost
from mpc.policies.mdp.value_iteration import Solution, greedy, solve
from mpc.values import FloatArray


@dataclass(frozen=True, slots=True)
class Slot:
    """One finished slot. Instances are places in the table of `Instances`."""

    level: int
    """Of the rate at its start, measured in the slot before."""
    before: int
    after: int
    next_level: int
    violated: bool
    """The response time of the whole application was over its threshold."""
    utilisations: tuple[float, ...]
    """Of every operator with the instances it had."""


class LevelController(Protocol):
    def decide(self, level: int, at: int) -> int:
        """The instances of the slot that begins."""
        ...

    def learn(self, slot: Slot) -> None: ...


class CentralisedMdp:
    """The optimal policy, from the true transitions and the true response times."""

    def __init__(
        self,
        transitions: FloatArray,
        violations: FloatArray,
        instances: Instances,
        weights: Weights,
        discount: float = 0.99,
    ) -> None:
        self.solution: Solution = solve(
            transitions,
            stage_cost(instances, weights, violations),
            instances,
            weights.reconfiguration,
            discount,
        )
        after = greedy(self.solution.ahead, instances.neighbours(), weights.reconfiguration)
        self._after: list[list[int]] = after.tolist()

    def decide(self, level: int, at: int) -> int:
        return self._after[level][at]

    def learn(self, slot: Slot) -> None:
        """Nothing: the model is exact."""


class CentralisedRl:
    """Algorithm 1 over the whole application; `known_violations` makes it the paper's RL+."""

    def __init__(
        self,
        levels: int,
        instances: Instances,
        weights: Weights,
        known_violations: FloatArray | None,
        discount: float = 0.99,
        violation_smoothing: float = 0.1,
    ) -> None:
        self.learner = ModelBasedLearner(
            levels,
            instances,
            weights,
            known_violations=known_violations,
            discount=discount,
            violation_smoothing=violation_smoothing,
        )
        self._action = 0

    def decide(self, level: int, at: int) -> int:
        self._action = self.learner.choose(level, at)
        return self.learner.after(at, self._action)

    def learn(self, slot: Slot) -> None:
        self.learner.learn(slot.level, slot.before, self._action, slot.next_level, slot.violated)
