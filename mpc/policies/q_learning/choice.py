"""Which action to take, and how many executors it adds or removes.

Source: Azimi Gehraz 2018. With some probability any action is taken, else the best known one
(section 4.2.3, Table 4.2), under the monotonicity constraint of its Algorithm 5. An action moves
executors by a static, linear or queue-aware strategy (section 4.2.5, Table 4.3).

Deviations: the constraint also binds random actions, and so do the bounds of the executors; the
thesis describes both for the greedy policy. Equal values are decided in the order keep, scale out,
scale in: it asks for a heuristic (section 4.1.1) and reports that a table of zeros keeps. It leaves
the number that queue-aware adds open; this is that of the author's published code: the waiting
batches beyond those the target allows, and at least the granularity. The waiting batches are
derived from what is measured (`waiting_batches`).
"""

from collections.abc import Sequence

import numpy as np

from mpc.policies.q_learning.options import ExplorationKind, StrategyKind
from mpc.policies.q_learning.states import Action, State
from mpc.values import FloatArray, Measurement


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
    forbidden = set()
    if before is not None:
        if last_action is Action.SCALE_OUT and now.latency_index > before.latency_index:
            forbidden.add(Action.SCALE_IN)
        if last_action is Action.SCALE_IN and now.latency_index < before.latency_index:
            forbidden.add(Action.SCALE_OUT)
    if not can_grow:
        forbidden.add(Action.SCALE_OUT)
    if not can_shrink:
        forbidden.add(Action.SCALE_IN)
    return [action for action in Action if action not in forbidden]


class ExecutorStrategy:
    def __init__(self, kind: StrategyKind, granularity: int) -> None:
        if granularity < 1:
            raise ValueError(f"granularity must be at least 1, got {granularity}")
        self._kind = kind
        self._granularity = granularity
        self._direction: Action | None = None
        self._repeated = 0

    def change(self, action: Action, excess_batches: int) -> int:
        """Executors to add; negative to remove. `excess_batches` wait beyond those that the target
        allows."""
        if action is Action.KEEP:
            return 0
        # A decision to keep does not end a series; only the opposite one does.
        self._repeated = self._repeated + 1 if action is self._direction else 1
        self._direction = action
        amount = self._granularity
        if self._kind == "linear":
            amount *= _linear(self._repeated)
        elif self._kind == "queue-aware" and action is Action.SCALE_OUT:
            amount = max(excess_batches, amount)
        return amount if action is Action.SCALE_OUT else -amount


def _linear(repeated: int) -> int:
    """1, 2, 4, 6, 8, ... as the thesis counts."""
    return 1 if repeated == 1 else 2 * (repeated - 1)


def waiting_batches(measurement: Measurement, batch_interval_s: float) -> int:
    """Batches of one interval that wait: counted in items, or else by the time they waited.

    By Little's law rows that wait w seconds are w / interval batches; without a queue a row waits
    half an interval for its own batch, which rounds down to none.
    """
    arrivals_per_s = measurement.arrivals_per_s
    if measurement.backlog_items is not None and arrivals_per_s:
        batches = measurement.backlog_items / (arrivals_per_s * batch_interval_s)
    elif measurement.wait_s is not None:
        batches = measurement.wait_s / batch_interval_s
    else:
        return 0
    return int(min(batches, 1e9))
