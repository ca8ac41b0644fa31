"""`value-iteration`: learn a model of the plant first, solve it, and go on as `q-learning`.

Source: Azimi Gehraz 2018, section 4.1.2, after Dutreilh et al. 2011: for a training period count
transitions and rewards of what was tried (Eq. 4.7), take their averages for the model (Eq. 4.8),
solve it by value iteration (Eq. 4.6, Algorithm 4) into the table, then learn by temporal
difference. While training the decreasing epsilon policy decides (section 5.8), afterwards the
configured one. The thesis trains for 5, 10 or 20 minutes; the number of sweeps is that of the
author's code (10).

Deviations: what was never tried keeps its initial value, as the equations leave it undefined; the
author's code multiplies by the value of the state left, here by that of the state reached, as
Eq. 4.6 says; the rest as `q-learning`.
"""

from mpc.bounds import Bounds
from mpc.policies.context import Context
from mpc.policies.q_learning.choice import Exploration
from mpc.policies.q_learning.options import ValueIterationOptions
from mpc.policies.q_learning.policy import QLearningPolicy
from mpc.policies.q_learning.rewards import Transition
from mpc.policies.q_learning.states import Action, State
from mpc.values import Decision, FloatArray, Measurement


class TransitionModel:
    """The counters of Eq. 4.7."""

    def __init__(self) -> None:
        self._reached: dict[tuple[State, Action], dict[State, int]] = {}
        self._rewards: dict[tuple[State, Action], float] = {}

    def count(self, before: State, action: Action, after: State, worth: float) -> None:
        reached = self._reached.setdefault((before, action), {})
        reached[after] = reached.get(after, 0) + 1
        self._rewards[before, action] = self._rewards.get((before, action), 0.0) + worth

    def solved(self, values: FloatArray, discount_factor: float, iterations: int) -> FloatArray:
        """The table after so many sweeps of Eq. 4.6 over everything that was tried."""
        solved = values.copy()
        for _ in range(iterations):
            best = solved.max(axis=-1)
            for (state, action), reached in self._reached.items():
                tries = sum(reached.values())
                future = sum(count * best[after.index] for after, count in reached.items())
                worth = self._rewards[state, action] + discount_factor * future
                solved[(*state.index, action)] = worth / tries
        return solved


class ValueIterationPolicy(QLearningPolicy):
    def __init__(self, options: ValueIterationOptions, context: Context) -> None:
        super().__init__(options, context)
        self._training_s = options.training_s
        self._iterations = options.iterations
        self._trained_since_s: float | None = None
        self._model: TransitionModel | None = TransitionModel()
        """None once the training is over."""
        self._afterwards = self._exploration
        self._exploration = Exploration("decreasing-epsilon", options.epsilon, options.epsilon_step)

    @property
    def training(self) -> bool:
        return self._model is not None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        if self._model is not None:
            if self._trained_since_s is None:
                self._trained_since_s = measurement.time_s
            if measurement.time_s - self._trained_since_s >= self._training_s:
                self._values = self._model.solved(
                    self._values, self._options.discount_factor, self._iterations
                )
                self._model = None
                self._exploration = self._afterwards
        return super().decide(measurement, bounds)

    def _learn(self, change: Transition, worth: float, next_action: Action) -> None:
        if self._model is not None:
            self._model.count(change.before, change.action, change.after, worth)
        else:
            super()._learn(change, worth, next_action)
