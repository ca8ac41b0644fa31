"""The reinforcement learning policies of Azimi Gehraz 2018."""

from mpc.policies.q_learning.policy import QLearningParameters, QLearningPolicy
from mpc.policies.q_learning.value_iteration import ValueIterationPolicy

__all__ = ["QLearningParameters", "QLearningPolicy", "ValueIterationPolicy"]
