"""How far forecasts were off lately, and hence how wide the fan around the next one is.

The journal holds the forecast a decision rests on as one value a step. Its range is taken from the
errors of the forecasts before it, separately for every number of steps ahead: no model is asked.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from runtime.control.journal import StepRecord

LOW_QUANTILE, HIGH_QUANTILE = 0.1, 0.9
FEWEST_ERRORS = 20
_MOST_ERRORS = 200
_MOST_STEPS = 60
_MOST_LATE_STEPS = 600
"""How long after a step what arrived in it may be told."""


@dataclass(frozen=True, slots=True)
class ExpectedArrivals:
    """A forecast of arrivals; the range is None until enough forecasts have come true or not."""

    per_s: float
    low_per_s: float | None
    high_per_s: float | None


class ForecastErrors:
    """Compares what was expected with what came, step by step."""

    def __init__(self) -> None:
        self._pending: dict[int, list[tuple[int, float]]] = {}
        """Step: how many steps ahead, and what was expected of it; ascending."""
        self._errors: dict[int, deque[float]] = {}
        self._next: tuple[int, ExpectedArrivals] | None = None
        self._last_step: int | None = None
        self._missed_per_s = self._came_per_s = 0.0
        """Sums over the steps that were forecast one step before."""

    @property
    def mean_error(self) -> float | None:
        """Mean absolute error one step ahead, as a share of the mean rate."""
        return self._missed_per_s / self._came_per_s if self._came_per_s else None

    def observe(self, record: StepRecord, step_s: float) -> ExpectedArrivals | None:
        """Learn from a step; returns what was expected of it one step before."""
        step, arrived = record.measurement.step, record.measurement.arrivals_per_s
        if self._last_step is not None and step <= self._last_step:
            self._pending.clear()  # numbered anew
        self._last_step = step
        if arrived is not None:
            belongs = step - record.measurement.arrivals_age_steps(step_s)
            # Told twice, it is not compared twice.
            for ahead, expected_per_s in self._pending.pop(belongs, ()):
                errors = self._errors.setdefault(ahead, deque(maxlen=_MOST_ERRORS))
                errors.append(arrived - expected_per_s)
                if ahead == 1:
                    self._missed_per_s += abs(expected_per_s - arrived)
                    self._came_per_s += arrived
        while self._pending and (oldest := next(iter(self._pending))) <= step - _MOST_LATE_STEPS:
            del self._pending[oldest]
        due = self._next[1] if self._next is not None and self._next[0] == step else None
        self._next = None
        forecast = _forecast(record)
        for ahead, expected_per_s in enumerate(forecast, start=1):
            self._pending.setdefault(step + ahead, []).append((ahead, expected_per_s))
        if forecast:
            self._next = (step + 1, self._expected(1, forecast[0]))
        return due

    def fan(self, record: StepRecord) -> tuple[ExpectedArrivals, ...]:
        """The forecast of a record, from the next step on."""
        forecast = _forecast(record)
        return tuple(self._expected(ahead, per_s) for ahead, per_s in enumerate(forecast, start=1))

    def _expected(self, ahead: int, per_s: float) -> ExpectedArrivals:
        errors = self._errors.get(ahead, ())
        if len(errors) < FEWEST_ERRORS:
            return ExpectedArrivals(per_s, None, None)
        low, high = np.quantile(np.asarray(errors), (LOW_QUANTILE, HIGH_QUANTILE))
        return ExpectedArrivals(per_s, max(per_s + float(low), 0.0), max(per_s + float(high), 0.0))


def _forecast(record: StepRecord) -> list[float]:
    expected = record.decision.expected_arrivals_per_s
    if expected is None or not np.isfinite(expected).all():
        return []
    return [float(per_s) for per_s in expected[:_MOST_STEPS]]
