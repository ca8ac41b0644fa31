"""Which action to take: the best known one, or with some probability any.

Source: Azimi Gehraz 2018, section 4.2.3 (Table 4.2) and the monotonicity constraint of its
Algorithm 5.

Deviations: the constraint also binds random actions, and so do the bounds of the executors; the
thesis describes both for the greedy policy. Equal values are decided in the order keep, scale out,
scale in: it asks for a heuristic (section 4.1.1) and reports that a table of zeros keeps.
"""

from collections.abc import Sequence

import numpy as np

from mpc.policies.q_learning.options import ExplorationKind
from mpc.policies.q_learning.states import Action, State
from mpc.values import FloatArray


class Exploration:
    """Greedy with probability 1 - epsilon; epsilon is 0, constant, or falls with each decision."""

    def __init__(self, kind: ExplorationKind, epsilon: float, epsilon_step: float) -> None:
        self._epsilon = 0.0 if kind == "greedy" else epsilon
        self._epsilon_step = epsilon_step if kind == "decreasing-epsilon" else 0.0

    def choose(
        self, values: FloatArray, allowed: Sequence[Action], generator: np.random.Generator
    ) -> Action:
        """`values` of every action in the present state; `allowed` in the order of `Action`."""
        epsilon = self._epsilon
        self._epsilon = max(epsilon - self._epsilon_step, 0.0)
        if epsilon > 0 and generator.random() < epsilon:
            return allowed[int(generator.integers(len(allowed)))]
        return max(allowed, key=lambda action: float(values[action]))


def allowed_actions(
    before: State | None,
    last_action: Action | None,
    now: State,
    can_grow: bool,
    can_shrink: bool,
) -> list[Action]:
    """Algorithm 5: never the opposite of what did not go far enough; never beyond the bounds."""
    allowed = list(Action)
    if before is not None and last_action is not None:
        if last_action is Action.SCALE_OUT and now.latency_index > before.latency_index:
            allowed.remove(Action.SCALE_IN)
        if last_action is Action.SCALE_IN and now.latency_index < before.latency_index:
            allowed.remove(Action.SCALE_OUT)
    if not can_grow and Action.SCALE_OUT in allowed:
        allowed.remove(Action.SCALE_OUT)
    if not can_shrink and Action.SCALE_IN in allowed:
        allowed.remove(Action.SCALE_IN)
    return allowed
