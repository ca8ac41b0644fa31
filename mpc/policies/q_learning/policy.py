"""`q-learning`: a temporal difference agent that decides when to scale by latency and load.

Source: Azimi Gehraz 2018, "Auto-Scaling Techniques for Spark Streaming": Sarsa (Eq. 4.4, Algorithm
3) over discretised latency and the direction of the load. Every parameter of its Table 4.4 is here;
the defaults are those of its experiments (Tables 5.2 to 5.9), except where its text gives no value:
the maximum latency is ten times the target, the step of epsilon that of the author's code (0.05).

Deviations: latency is that of the items, from arrival to result, so it includes the wait for the
batch to be cut, about half an interval, that the thesis's total delay leaves out; the granularity
of the load is in items per second; which executor goes is the actuator's choice; the frequency
stays at its maximum. More are listed in `exploration`, `rewards`, `strategies` and `history`.
"""

from dataclasses import dataclass

import numpy as np

from mpc.bounds import Bounds
from mpc.policies.full_speed import at_full_speed
from mpc.policies.q_learning.exploration import Exploration, ExplorationKind, allowed_actions
from mpc.policies.q_learning.history import HistoryWindow
from mpc.policies.q_learning.initialisers import Initialisation, initial_values
from mpc.policies.q_learning.rewards import RewardKind, Transition, reward
from mpc.policies.q_learning.states import Action, State, StateGrid
from mpc.policies.q_learning.strategies import ExecutorStrategy, StrategyKind, waiting_batches
from mpc.values import ConfigurationSpace, Decision, FloatArray, Measurement


@dataclass(frozen=True, slots=True)
class QLearningParameters:
    """Table 4.4; the bounds of the executors are those of the space, the seed is a generator."""

    target_latency_s: float = 30.0
    latency_granularity_s: float = 10.0
    max_latency_s: float = 300.0
    arrivals_granularity_per_s: float | None = None
    """None: every change of the load counts."""
    window_s: float = 120.0
    decision_interval_s: float = 60.0
    batch_interval_s: float = 10.0
    learning_factor: float = 0.7
    discount_factor: float = 0.9
    initialisation: Initialisation = "optimised"
    exploration: ExplorationKind = "greedy"
    epsilon: float = 0.2
    epsilon_step: float = 0.05
    reward: RewardKind = "prefer-scale-in"
    executor_strategy: StrategyKind = "queue-aware"
    executor_granularity: int = 1

    def __post_init__(self) -> None:
        if not (0 < self.learning_factor <= 1 and 0 <= self.discount_factor < 1):
            raise ValueError(
                f"learning_factor must be above 0 and at most 1, discount_factor at least 0 and "
                f"below 1, got {self.learning_factor} and {self.discount_factor}"
            )
        if self.decision_interval_s <= 0 or self.batch_interval_s <= 0:
            raise ValueError(
                f"decision_interval_s and batch_interval_s must be positive, got "
                f"{self.decision_interval_s} and {self.batch_interval_s}"
            )

    @property
    def grid(self) -> StateGrid:
        return StateGrid(self.target_latency_s, self.latency_granularity_s, self.max_latency_s)


class QLearningPolicy:
    """`values` may come from another agent of the same grid, in place of an initialiser."""

    def __init__(
        self,
        space: ConfigurationSpace,
        parameters: QLearningParameters,
        generator: np.random.Generator,
        values: FloatArray | None = None,
    ) -> None:
        self._space = space
        self._parameters = parameters
        self._generator = generator
        self._grid = parameters.grid
        if values is None:
            values = initial_values(parameters.initialisation, self._grid, generator)
        elif values.shape != (self._grid.latencies, 2, len(Action)):
            raise ValueError(f"values of shape {values.shape} do not fit {self._grid}")
        self._values = values.copy()
        self._exploration = Exploration(
            parameters.exploration, parameters.epsilon, parameters.epsilon_step
        )
        self._strategy = ExecutorStrategy(
            parameters.executor_strategy,
            parameters.executor_granularity,
            int(parameters.target_latency_s / parameters.batch_interval_s),
        )
        self._history = HistoryWindow(parameters.window_s, parameters.arrivals_granularity_per_s)
        self._decided_s: float | None = None
        self._last: tuple[State, Action] | None = None

    @property
    def values(self) -> FloatArray:
        """A copy of the table: what each action is worth in each state."""
        return self._values.copy()

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._history.add(measurement)
        change, reason = self._change(measurement, bounds)
        executors = measurement.requested.executors + change
        return at_full_speed(measurement, bounds, executors, reason)

    def _change(self, measurement: Measurement, bounds: Bounds) -> tuple[int, str]:
        interval_s = self._parameters.decision_interval_s
        # A clock that went back belongs to another run; what was learned stays.
        if self._decided_s is not None and 0 <= measurement.time_s - self._decided_s < interval_s:
            return 0, "within the decision interval"
        latency_s = self._history.latency_s
        if latency_s is None:
            return 0, "no latency measured"
        self._decided_s = measurement.time_s
        state = self._grid.state(latency_s, self._history.compare_load())
        action = self._step(state, measurement, bounds)
        waiting = waiting_batches(measurement, self._parameters.batch_interval_s)
        change = self._strategy.change(action, waiting)
        load = "rising" if state.rising else "falling"
        return change, f"{_WORDS[action]} at latency {latency_s:.3g} s with the load {load}"

    def _step(self, state: State, measurement: Measurement, bounds: Bounds) -> Action:
        """One step of Algorithm 3: choose the next action, then learn from the one before."""
        executors = measurement.requested.executors
        before, last_action = self._last or (None, None)
        allowed = allowed_actions(
            before,
            last_action,
            state,
            can_grow=executors < bounds.space.max_executors,
            can_shrink=executors > bounds.space.min_executors,
        )
        action = self._exploration.choose(self._values[state.index], allowed, self._generator)
        if before is not None and last_action is not None:
            change = Transition(before, last_action, state, executors)
            worth = reward(
                self._parameters.reward,
                self._grid,
                change,
                self._space.min_executors,
                self._space.max_executors,
            )
            self._learn(change, worth, action)
        self._last = state, action
        return action

    def _learn(self, change: Transition, worth: float, next_action: Action) -> None:
        """Eq. 4.4."""
        learning, discount = self._parameters.learning_factor, self._parameters.discount_factor
        place = (*change.before.index, change.action)
        expected = self._values[(*change.after.index, next_action)]
        old = self._values[place]
        self._values[place] = (1 - learning) * old + learning * (worth + discount * expected)


_WORDS = {
    Action.KEEP: "keep",
    Action.SCALE_OUT: "scale out",
    Action.SCALE_IN: "scale in",
}
