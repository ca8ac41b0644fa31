"""Control of a whole pipeline (Russo Russo 2018, section 2): centralised, solved or learned as it
runs, and decentralised, where every operator scales itself.

A controller gets the rate level and the instances of all operators at the start of a slot and
says what they become; afterwards it may learn from what happened.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mpc.policies.mdp.learner import ModelBasedLearner
from mpc.policies.mdp.problem import Instances, MdpWeights, stage_cost
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
        weights: MdpWeights,
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
    """Algorithm 1 over the whole application; a learner that knows the violations makes it the
    paper's RL+."""

    def __init__(self, learner: ModelBasedLearner) -> None:
        self.learner = learner
        self._action = 0

    def decide(self, level: int, at: int) -> int:
        self._action = self.learner.choose(level, at)
        return self.learner.after(at, self._action)

    def learn(self, slot: Slot) -> None:
        self.learner.learn(slot.level, slot.before, self._action, slot.next_level, slot.violated)


class DecentralisedAgents:
    """One agent an operator, none of which knows of the others (section 2, Eq. 2).

    An agent sees the rate, the instances and the utilisation of its own operator. In place of the
    response time of the application, which it cannot see, it keeps its utilisation at a target:
    it learns by Algorithm 1 which states exceed that.
    """

    def __init__(
        self,
        levels: int,
        instances: Instances,
        weights: MdpWeights,
        target_utilisation: float,
        discount: float = 0.99,
        violation_smoothing: float = 0.1,
    ) -> None:
        if not 0 < target_utilisation < 1:
            raise ValueError(f"target_utilisation must be within 0..1, got {target_utilisation}")
        self._target_utilisation = target_utilisation
        own = replace(instances, operators=1)
        self.learners = tuple(
            ModelBasedLearner(
                levels,
                own,
                weights,
                known_violations=None,
                discount=discount,
                violation_smoothing=violation_smoothing,
            )
            for _ in range(instances.operators)
        )
        self._shape = (instances.choices,) * instances.operators
        self._moves: list[tuple[int, int]] = []
        """Place and action of every agent in the slot that runs."""

    def decide(self, level: int, at: int) -> int:
        places = [int(place) for place in np.unravel_index(at, self._shape)]
        self._moves = [
            (place, learner.choose(level, place))
            for learner, place in zip(self.learners, places, strict=True)
        ]
        after = [
            learner.after(*move) for learner, move in zip(self.learners, self._moves, strict=True)
        ]
        return int(np.ravel_multi_index(after, self._shape))

    def learn(self, slot: Slot) -> None:
        agents = zip(self.learners, self._moves, slot.utilisations, strict=True)
        for learner, (place, action), utilisation in agents:
            exceeded = utilisation > self._target_utilisation
            learner.learn(slot.level, place, action, slot.next_level, exceeded)
