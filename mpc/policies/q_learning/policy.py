"""`q-learning`: a temporal difference agent that decides when to scale by latency and load.

Source: Azimi Gehraz 2018, "Auto-Scaling Techniques for Spark Streaming": Sarsa (Eq. 4.4, Algorithm
3) over discretised latency and the direction of the load. Every parameter of its Table 4.4 is here;
the defaults are those of its experiments (Tables 5.2 to 5.9), except where its text gives no value:
the maximum latency is ten times the target, the step of epsilon that of the author's code (0.05).

Deviations: latency is that of the items, from arrival to result, so it includes the wait for the
batch to be cut, about half an interval, that the thesis's total delay leaves out; the granularity
of the load is in items per second; which executor goes is the actuator's choice; the frequency
stays at its maximum. More are listed in `choice` and `rewards`.
"""

from collections import deque

import numpy as np

from mpc.bounds import Bounds
from mpc.policies.batch_interval import BatchInterval
from mpc.policies.context import Context
from mpc.policies.full_speed import at_full_speed
from mpc.policies.q_learning.choice import (
    ExecutorStrategy,
    Exploration,
    allowed_actions,
    waiting_batches,
)
from mpc.policies.q_learning.options import QLearningOptions
from mpc.policies.q_learning.rewards import Transition, reward
from mpc.policies.q_learning.states import Action, State, StateGrid, initial_values
from mpc.values import Decision, FloatArray, Measurement


class HistoryWindow:
    """The measurements that a decision rests on (`windowSize` of Table 4.4)."""

    def __init__(self, window_s: float, arrivals_granularity_per_s: float | None) -> None:
        if window_s <= 0:
            raise ValueError(f"window_s must be positive, got {window_s}")
        self._window_s = window_s
        self._granularity_per_s = arrivals_granularity_per_s
        self._latencies_s: deque[tuple[float, float]] = deque()
        self._arrivals_per_s: deque[tuple[float, float]] = deque()
        self._before_per_s: float | None = None

    def add(self, measurement: Measurement) -> None:
        now_s = measurement.time_s
        if measurement.latency_s is not None:
            self._latencies_s.append((now_s, measurement.latency_s))
        if measurement.arrivals_per_s is not None:
            self._arrivals_per_s.append((now_s, measurement.arrivals_per_s))
        for samples in (self._latencies_s, self._arrivals_per_s):
            while samples and not now_s - self._window_s < samples[0][0] <= now_s:
                samples.popleft()

    @property
    def latency_s(self) -> float | None:
        return _mean(self._latencies_s)

    def compare_load(self) -> bool:
        """Whether the load rose since this was last asked, after rounding to the granularity.

        Unchanged counts as risen, the safe side: the thesis leaves it open, and its author's code
        takes it as fallen, which lets an agent sit out a constant overload.
        """
        now_per_s = _mean(self._arrivals_per_s)
        if now_per_s is None:
            return True
        if self._granularity_per_s:
            now_per_s = now_per_s // self._granularity_per_s
        before_per_s, self._before_per_s = self._before_per_s, now_per_s
        return before_per_s is None or now_per_s >= before_per_s


def _mean(samples: deque[tuple[float, float]]) -> float | None:
    if not samples:
        return None
    return sum(value for _, value in samples) / len(samples)


class QLearningPolicy:
    """`values` may come from another agent of the same grid, in place of an initialiser."""

    def __init__(
        self, options: QLearningOptions, context: Context, values: FloatArray | None = None
    ) -> None:
        target_s = context.target_latency_s
        self._space = context.space
        self._options = options
        seed = options.seed
        self._generator = context.generator if seed is None else np.random.default_rng(seed)
        self._batch_interval = BatchInterval(options.batch_interval_s, context.step_s)
        self._target_s = target_s
        self._grid = StateGrid(
            target_s, options.latency_granularity_s(target_s), options.max_latency_s(target_s)
        )
        if values is None:
            values = initial_values(options.initialisation, self._grid, self._generator)
        elif values.shape != (self._grid.latencies, 2, len(Action)):
            raise ValueError(f"values of shape {values.shape} do not fit {self._grid}")
        self._values = values.copy()
        self._exploration = Exploration(options.exploration, options.epsilon, options.epsilon_step)
        self._strategy = ExecutorStrategy(
            options.executor_strategy,
            options.executor_granularity,
        )
        self._history = HistoryWindow(options.window_s, options.arrivals_granularity_per_s)
        self._decided_s: float | None = None
        self._last: tuple[State, Action] | None = None

    @property
    def values(self) -> FloatArray:
        """A copy of the table: what each action is worth in each state."""
        return self._values.copy()

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._history.add(measurement)
        self._batch_interval.observe(measurement)
        change, reason = self._change(measurement, bounds)
        executors = measurement.requested.executors + change
        return at_full_speed(measurement, bounds, executors, reason)

    def _change(self, measurement: Measurement, bounds: Bounds) -> tuple[int, str]:
        interval_s = self._options.decision_interval_s
        # A clock that went back belongs to another run; what was learned stays.
        if self._decided_s is not None and 0 <= measurement.time_s - self._decided_s < interval_s:
            return 0, "within the decision interval"
        latency_s = self._history.latency_s
        if latency_s is None:
            return 0, "no latency measured"
        self._decided_s = measurement.time_s
        state = self._grid.state(latency_s, self._history.compare_load())
        action = self._step(state, measurement, bounds)
        interval_s = self._batch_interval.seconds
        waiting = waiting_batches(measurement, interval_s) - int(self._target_s / interval_s)
        change = self._strategy.change(action, waiting)
        load = "rising" if state.rising else "falling"
        return change, f"{action.words} at latency {latency_s:.3g} s with the load {load}"

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
                self._options.reward,
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
        learning, discount = self._options.learning_factor, self._options.discount_factor
        place = (*change.before.index, change.action)
        expected = self._values[(*change.after.index, next_action)]
        old = self._values[place]
        self._values[place] = (1 - learning) * old + learning * (worth + discount * expected)
