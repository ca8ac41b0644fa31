"""Notices scale-outs that brought nothing: a skewed key, a slow source, a sink at its limit.

Two groups of batches are compared, both from times when the target was broken: those on the old
count and those on the new one. If rows per second rose by less than a tenth of what the executors
promised, the old count becomes a ceiling for a while, longer each time it proves right.
"""

from collections import deque
from dataclasses import dataclass, field
from statistics import median

from mpc.objective import breaks_objective
from mpc.values import BatchSample, Configuration, Measurement

LEAST_GAIN = 0.1
"""Share of the promised gain that counts as a gain, as in Flink's autoscaler."""
COLD_BATCHES = 2
"""The first batches on a new executor start its Python workers."""
JUDGED_BATCHES = 5
REMEMBERED_BATCHES = 10
COMPARABLE_ROWS = 0.8
"""Small batches are slow per row whatever runs them, so they are not held against a scale-out."""
TRIAL_STEPS = 120
"""A trial without an outcome by then ends without one."""
FIRST_CEILING_STEPS, LONGEST_CEILING_STEPS = 60, 960


@dataclass(slots=True)
class _Trial:
    executors_before: int
    executors: int
    rows_before: float
    speed_before: float
    steps_left: int = TRIAL_STEPS
    cold_left: int = COLD_BATCHES
    speeds: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """The executor count not to exceed, and whether it was found in this step."""

    ceiling: int | None
    found: bool = False


class ScaleOutTrial:
    """Fed once a step, before the decision; told of the decision after it."""

    def __init__(self, target_latency_s: float, quantile: float | None = None) -> None:
        self._target_latency_s = target_latency_s
        self._quantile = quantile
        self._overloaded: deque[BatchSample] = deque(maxlen=REMEMBERED_BATCHES)
        self._trial: _Trial | None = None
        self._ceiling: int | None = None
        self._ceiling_steps_left = 0
        self._ceiling_steps = FIRST_CEILING_STEPS

    def observe(self, measurement: Measurement) -> TrialVerdict:
        if self._ceiling is not None:
            self._ceiling_steps_left -= 1
            if self._ceiling_steps_left <= 0:
                self._ceiling = None
        if breaks_objective(measurement, self._target_latency_s, self._quantile):
            batches = [batch for batch in measurement.batches if _usable(batch)]
            self._overloaded.extend(batches)
            if self._trial is not None and self._brought_nothing(self._trial, batches):
                self._ceiling = self._trial.executors_before
                self._ceiling_steps_left = self._ceiling_steps
                self._ceiling_steps = min(2 * self._ceiling_steps, LONGEST_CEILING_STEPS)
                self._trial = None
                return TrialVerdict(self._ceiling, found=True)
        if self._trial is not None:
            self._trial.steps_left -= 1
            judged = len(self._trial.speeds) >= JUDGED_BATCHES
            if judged:
                self._ceiling_steps = FIRST_CEILING_STEPS
            if judged or self._trial.steps_left <= 0:
                self._trial = None
        return TrialVerdict(self._ceiling)

    def requested(self, before: Configuration, after: Configuration) -> None:
        """What was asked for in this step."""
        trial = self._trial
        if trial is not None and after.executors < trial.executors:
            self._trial = None
        elif trial is not None and after.executors > trial.executors:
            self._trial = _Trial(
                trial.executors_before, after.executors, trial.rows_before, trial.speed_before
            )
        elif after.executors > before.executors:
            on_old = [b for b in self._overloaded if b.ran_on.executors == before.executors]
            if len(on_old) >= JUDGED_BATCHES:
                self._trial = _Trial(
                    before.executors,
                    after.executors,
                    median(batch.rows for batch in on_old),
                    median(_speed(batch) for batch in on_old),
                )

    def _brought_nothing(self, trial: _Trial, batches: list[BatchSample]) -> bool:
        for batch in batches:
            if batch.ran_on.executors < trial.executors:
                continue
            if trial.cold_left > 0:
                trial.cold_left -= 1
            elif batch.rows >= COMPARABLE_ROWS * trial.rows_before:
                trial.speeds.append(_speed(batch))
        if len(trial.speeds) < JUDGED_BATCHES:
            return False
        promised = trial.executors / trial.executors_before - 1.0
        gained = median(trial.speeds) / trial.speed_before - 1.0
        return gained < LEAST_GAIN * promised


def _usable(batch: BatchSample) -> bool:
    return batch.rows > 0 and batch.duration_s > 0


def _speed(batch: BatchSample) -> float:
    """Rows per cycle of one executor's clock, so that a change of frequency is no gain."""
    return batch.rows / batch.duration_s / batch.ran_on.frequency_khz
