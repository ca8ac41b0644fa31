"""The default forecaster: an online mixture of small models, weighed anew at every step.

Discounted Hedge (Freund and Schapire 1997, with exponential forgetting), separately for every
horizon: a member's weight is exp(-rate * its discounted loss), the loss being its absolute error
in units of the typical error at that horizon. No member has to be good everywhere.
"""

from typing import NamedTuple

import numpy as np

from forecasting.autoregression import Autoregression
from forecasting.checks import check_fraction, check_steps
from forecasting.compiled import compiled
from forecasting.contract import FloatArray, Model
from forecasting.holt import Holt
from forecasting.holt_winters import HoltWinters
from forecasting.intake import Intake
from forecasting.last import LastValue
from forecasting.memory import PROFILES, RateMemory, Recall
from forecasting.ses import SimpleSmoothing

_LOSS_LIMIT = 10.0
"""Hedge wants bounded losses: one burst must not silence a member for a hundred steps."""
_SCALE_DISCOUNT = 0.95
"""How fast the typical error follows: calm and busy times then count alike."""


class _Ledger(NamedTuple):
    """What every member is charged with, and in which unit, by horizon."""

    losses: FloatArray
    error_sums: FloatArray
    error_counts: FloatArray


class Mixture:
    def __init__(
        self,
        season_steps: int | None = None,
        *,
        max_steps: int = 10,
        discount: float = 0.99,
        rate: float = 0.2,
    ) -> None:
        """Weights are learned up to `max_steps` ahead; beyond, those of `max_steps` are used."""
        check_steps(max_steps)
        check_fraction("discount", discount)
        # The number is the loss a member starts with: until something is known the last
        # value is held, since nothing beats it on a random walk.
        members: tuple[tuple[str, Model, float], ...] = (
            ("last value", LastValue(), 0.0),
            ("Holt-Winters", HoltWinters(season_steps), 20.0),
            ("slow smoothing", SimpleSmoothing(0.1), 40.0),
            ("fast smoothing", SimpleSmoothing(0.3), 40.0),
            ("Holt", Holt(0.8, 0.3, 0.85), 40.0),
            ("autoregression", Autoregression(), 40.0),
        )
        self.names = (*(name for name, _, _ in members), *(f"memory of the {p}" for p in PROFILES))
        self._members = tuple(model for _, model, _ in members)
        self._discount = discount
        self._rate = rate
        self._intake = Intake()
        self._steps = max_steps
        self._origin = 0
        """Where in the ring the next forecast goes."""
        self._waiting = 0
        """How many forecasts the ring holds."""
        self._pending = np.zeros((max_steps, len(members), max_steps))
        """Forecasts waiting for their values, by origin (a ring), member and horizon."""
        self._ledger = _Ledger(
            losses=np.tile([loss for _, _, loss in members], (max_steps, 1)),
            error_sums=np.zeros(max_steps),
            error_counts=np.zeros(max_steps),
        )
        self._recall = Recall(max_steps)
        self._path: FloatArray | None = None
        # Compiles, here and not in a control step.
        self._score(0.0)
        _mix(self._pending[0], 0.0, self._ledger.losses, rate)

    @property
    def memory(self) -> RateMemory:
        """What it remembers of other days."""
        return self._recall.memory

    @memory.setter
    def memory(self, memory: RateMemory) -> None:
        self._recall.memory = memory

    def set_clock(self, clock_s: float, step_s: float) -> None:
        """The last step ended at `clock_s`, seconds since 1970 in UTC; steps are `step_s` long."""
        self._recall.set_clock(clock_s, step_s)

    def update(self, value: float | None) -> None:
        foreseen = None if self._path is None else float(self._path[0])
        reading = self._intake.accept(value, foreseen)
        if reading is None:
            self._recall.observe(None)
            if self._path is None:
                return
            for member in self._members:
                member.skip()
        else:
            self._score(reading.value)
            self._recall.judge(float(value) if value is not None else reading.value)
            for member in self._members:
                if reading.new_level is not None:
                    member.restart(reading.new_level)
                member.observe(reading.value)
            self._recall.observe(reading.value)
        self._path = self._recall.issue(self._mix(self._pending[self._origin]), self._usual)
        self._origin = (self._origin + 1) % self._steps
        self._waiting = min(self._waiting + 1, self._steps)

    def forecast(self, steps: int) -> FloatArray | None:
        check_steps(steps)
        if self._path is None:
            return None
        if steps <= self._steps:
            return self._path[:steps].copy()
        return self._recall.mix(self._mix(np.empty((len(self._members), steps))), self._usual)[0]

    def shares(self, step: int = 1) -> FloatArray:
        """What each of `names` has of the forecast `step` steps ahead."""
        place = min(step, self._steps) - 1
        charged = self._ledger.losses[place]
        weights = np.exp(-self._rate * (charged - charged.min()))
        base = self._mix(np.empty((len(self._members), step)))
        recalled = self._recall.mix(base, self._usual)[1][:, -1]
        return np.concatenate((weights / weights.sum() * (1.0 - recalled.sum()), recalled))

    def carrier(self, step: int = 1) -> tuple[str, float]:
        """Who has the largest share of the forecast `step` steps ahead, and how much."""
        shares = self.shares(step)
        largest = int(shares.argmax())
        return self.names[largest], float(shares[largest])

    @property
    def _usual(self) -> FloatArray:
        """How far members are off on average, by horizon."""
        return self._ledger.error_sums / np.maximum(self._ledger.error_counts, 1e-9)

    def _mix(self, paths: FloatArray) -> FloatArray:
        """Fill in the paths of the members, and mix them."""
        steps = paths.shape[1]
        for row, member in zip(paths, self._members, strict=True):
            row[:] = member.path(steps)
        return _mix(paths, self._intake.ceiling or 0.0, self._ledger.losses, self._rate)

    def _score(self, value: float) -> None:
        self._ledger.losses[: self._waiting] *= self._discount
        _score(self._pending, self._origin - 1, self._waiting, value, self._ledger)


@compiled
def _score(pending: FloatArray, newest: int, waiting: int, value: float, ledger: _Ledger) -> None:
    """Charge every member for its forecast of `value`, at every horizon it was forecast at."""
    ring, members, _ = pending.shape
    losses, error_sums, error_counts = ledger
    for horizon in range(waiting):
        # Horizon 0 is one step ahead: the forecast for this step was made at the newest origin.
        made = pending[(newest - horizon) % ring, :, horizon]
        mean_error = 0.0
        for member in range(members):
            mean_error += abs(made[member] - value) / members
        error_sums[horizon] = _SCALE_DISCOUNT * error_sums[horizon] + mean_error
        error_counts[horizon] = _SCALE_DISCOUNT * error_counts[horizon] + 1.0
        typical = error_sums[horizon] / error_counts[horizon]
        for member in range(members):
            if typical > 0.0:
                error = abs(made[member] - value) / typical
                losses[horizon, member] += min(error, _LOSS_LIMIT)


@compiled
def _mix(paths: FloatArray, ceiling: float, losses: FloatArray, rate: float) -> FloatArray:
    """Clip the paths of the members, in place, and weigh each step by exp(-rate * loss)."""
    members, steps = paths.shape
    mixed = np.zeros(steps)
    for step in range(steps):
        charged = losses[min(step, len(losses) - 1)]
        least = charged.min()
        total = 0.0
        for member in range(members):
            paths[member, step] = min(max(paths[member, step], 0.0), ceiling)
            weight = np.exp(-rate * (charged[member] - least))
            total += weight
            mixed[step] += weight * paths[member, step]
        mixed[step] /= total
    return mixed
