"""From the journal and the predictions of a run to the same rows the simulator makes. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks.comparison import configuration_distance
from benchmarks.results import Row, Run, Series
from mpc.values import FloatArray
from runtime.config import Config
from runtime.control.journal import StepRecord


@dataclass(frozen=True, slots=True)
class Predictions:
    """Wall times of all predictions of a run: when the last quote was due, when it was there."""

    due_s: FloatArray
    completed_s: FloatArray


def outcome(
    policy: str,
    seed: int,
    records: Sequence[StepRecord],
    predictions: Predictions,
    begin_s: float,
    config: Config,
) -> Run:
    """The measured steps, each with the mean latency of the predictions due in it.

    A step whose predictions never came has no latency and violates the target. Power is the mean
    of what was read during the step; steps without a reading take the mean of the others.
    """
    step_s, target_s = config.horizon.step_s, config.slo.latency_ms / 1e3
    count = len(records)
    if count == 0:
        raise ValueError("no control step was measured")
    latency_s = _latency_by_step(predictions, begin_s, step_s, count)
    violations = sum(value is None or value > target_s for value in latency_s)
    known_w = [r.measurement.power_w for r in records if r.measurement.power_w is not None]
    mean_w = float(np.mean(known_w)) if known_w else math.nan
    power_w = [
        mean_w if record.measurement.power_w is None else record.measurement.power_w
        for record in records
    ]
    observed = [record.applied.observed for record in records]
    requested = [record.applied.requested for record in records]
    changes = [(old, new) for old, new in pairwise(requested) if old != new]
    latencies_s = _latencies(predictions, begin_s, begin_s + count * step_s)
    took_ms = [record.took_s * 1e3 for record in records if record.took_s is not None] or [math.nan]
    row = Row(
        policy=policy,
        seed=seed,
        steps=count,
        violations=violations,
        violation_fraction=violations / count,
        reconfigurations=len(changes),
        executor_changes=sum(old.executors != new.executors for old, new in changes),
        frequency_changes=sum(old.frequency_khz != new.frequency_khz for old, new in changes),
        mean_executors=float(np.mean([configuration.executors for configuration in observed])),
        mean_power_w=mean_w,
        energy_j=mean_w * count * step_s,
        amplitude=(
            float(np.mean([configuration_distance(*change) for change in changes]))
            if changes
            else 0.0
        ),
        latency_mean_s=float(latencies_s.mean()) if len(latencies_s) else math.nan,
        latency_p95_s=_percentile(latencies_s, 95),
        latency_p99_s=_percentile(latencies_s, 99),
        decision_ms_p50=float(np.percentile(took_ms, 50)),
        decision_ms_p99=float(np.percentile(took_ms, 99)),
    )
    series = Series(
        arrivals_per_s=tuple(record.measurement.arrivals_per_s or 0.0 for record in records),
        expected_per_s=tuple(_expected(record) for record in records),
        executors=tuple(configuration.executors for configuration in observed),
        frequency_khz=tuple(configuration.frequency_khz for configuration in observed),
        latency_s=tuple(latency_s),
        power_w=tuple(power_w),
    )
    return Run(row, series, windows=len(latencies_s))


def _latency_by_step(
    predictions: Predictions, begin_s: float, step_s: float, count: int
) -> list[float | None]:
    number = np.floor((predictions.due_s - begin_s) / step_s).astype(np.int64)
    within = (number >= 0) & (number < count)
    latency_s = (predictions.completed_s - predictions.due_s)[within]
    sums = np.bincount(number[within], weights=latency_s, minlength=count)
    counts = np.bincount(number[within], minlength=count)
    return [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]


def _latencies(predictions: Predictions, begin_s: float, end_s: float) -> FloatArray:
    within = (predictions.due_s >= begin_s) & (predictions.due_s < end_s)
    return np.asarray((predictions.completed_s - predictions.due_s)[within])


def _percentile(values: FloatArray, percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else math.nan


def _expected(record: StepRecord) -> float | None:
    expected = record.decision.expected_arrivals_per_s
    return None if expected is None else float(expected[0])
