"""Decentralised control (Russo Russo 2018, section 2, Eq. 2): every operator scales itself.

An agent sees the rate, the instances and the utilisation of its own operator. In place of the
response time of the application, which it cannot see, it keeps its utilisation at a target.
"""

from mpc.policies.mdp.controllers import Slot
from mpc.policies.mdp.learner import ModelBasedLearner
from mpc.policies.mdp.problem import Instances, Weights


class OperatorAgent:
    """One operator manager; learns by Algorithm 1 which states exceed its target."""

    def __init__(
        self,
        levels: int,
        instances: Instances,
        weights: Weights,
        target_utilisation: float,
        discount: float = 0.99,
        violation_smoothing: float = 0.1,
    ) -> None:
        if instances.operators != 1:
            raise ValueError(f"an agent has one operator, got {instances.operators}")
        if not 0 < target_utilisation < 1:
            raise ValueError(f"target_utilisation must be within 0..1, got {target_utilisation}")
        self._target_utilisation = target_utilisation
        self.learner = ModelBasedLearner(
            levels,
            instances,
            weights,
            known_violations=None,
            discount=discount,
            violation_smoothing=violation_smoothing,
        )
        self._at = 0
        self._action = 0

    def decide(self, level: int, at: int) -> int:
        self._at = at
        self._action = self.learner.choose(level, at)
        return self.learner.after(at, self._action)

    def learn(self, level: int, next_level: int, utilisation: float) -> None:
        exceeded = utilisation > self._target_utilisation
        self.learner.learn(level, self._at, self._action, next_level, exceeded)


class DecentralisedAgents:
    """All agents of an application. None knows of the others."""

    def __init__(
        self,
        levels: int,
        instances: Instances,
        weights: Weights,
        target_utilisation: float,
        discount: float = 0.99,
        violation_smoothing: float = 0.1,
    ) -> None:
        own = Instances(1, instances.fewest, instances.most)
        self.agents = tuple(
            OperatorAgent(levels, own, weights, target_utilisation, discount, violation_smoothing)
            for _ in range(instances.operators)
        )
        self._choices = instances.choices

    def decide(self, level: int, at: int) -> int:
        after = 0
        divisor = self._choices ** len(self.agents)
        for agent in self.agents:
            divisor //= self._choices
            after = after * self._choices + agent.decide(level, at // divisor % self._choices)
        return after

    def learn(self, slot: Slot) -> None:
        for agent, utilisation in zip(self.agents, slot.utilisations, strict=True):
            agent.learn(slot.level, slot.next_level, utilisation)
