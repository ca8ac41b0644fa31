"""From the journal and the predictions of a run to the same rows the simulator makes. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.results import LatencyFigures, Row, Run, Series
from forecasting.sparse import where_they_belong, without_gaps
from mpc.simulation.summary import summarise
from mpc.values import FloatArray
from runtime.config import Config
from runtime.control.journal import StepRecord


@dataclass(frozen=True, slots=True)
class Predictions:
    """Wall times of all predictions of a run: when the last quote was due, when it was there."""

    due_s: FloatArray
    there_s: FloatArray


def outcome(
    policy: str,
    seed: int,
    records: Sequence[StepRecord],
    predictions: Predictions,
    begin_s: float,
    config: Config,
    trigger_interval_s: float = 0.0,
) -> Run:
    """The measured steps, each with the mean latency of the predictions due in one trigger interval
    up to its end.

    A row due just after a trigger waits for the whole interval and one due just before it not at
    all; over an interval that evens out, so that what is judged is the mean that the target is
    for. A step whose predictions never came has no latency and violates the target. Power is the
    mean of what was read during the step; steps without a reading take the mean of the others.
    """
    step_s, target_s = config.horizon.step_s, config.slo.latency_ms / 1e3
    count = len(records)
    if count == 0:
        raise ValueError("no control step was measured")
    span = max(1, math.ceil(trigger_interval_s / step_s))
    latency_s = _latency_by_step(predictions, begin_s, step_s, count, span)
    observed = [record.applied.observed for record in records]
    requested = [record.applied.requested for record in records]
    figures = summarise(
        latencies_s=[math.inf if value is None else value for value in latency_s],
        powers_w=[record.measurement.power_w for record in records],
        observed=observed,
        requested=requested,
        step_s=step_s,
        target_s=target_s,
    )
    latencies_s = _latencies(predictions, begin_s, begin_s + count * step_s)
    took_ms = [record.took_s * 1e3 for record in records if record.took_s is not None]
    row = Row.of(policy, seed, figures, LatencyFigures.of(latencies_s), took_ms)
    power_w = [
        row.mean_power_w if record.measurement.power_w is None else record.measurement.power_w
        for record in records
    ]
    series = Series(
        arrivals_per_s=_arrivals_by_step(records, step_s),
        expected_per_s=(None, *(_expected(record) for record in records[:-1])),
        executors=tuple(configuration.executors for configuration in observed),
        frequency_khz=tuple(configuration.frequency_khz for configuration in observed),
        latency_s=tuple(latency_s),
        power_w=tuple(power_w),
    )
    return Run(row, series, windows=len(latencies_s))


def _latency_by_step(
    predictions: Predictions, begin_s: float, step_s: float, count: int, span: int
) -> list[float | None]:
    """Means over `span` steps each, the last of which must have a prediction."""
    before = span - 1
    number = np.floor((predictions.due_s - begin_s) / step_s).astype(np.int64) + before
    within = (number >= 0) & (number < before + count)
    latency_s = (predictions.there_s - predictions.due_s)[within]
    sums = np.bincount(number[within], weights=latency_s, minlength=before + count)
    counts = np.bincount(number[within], minlength=before + count)
    means = np.convolve(sums, np.ones(span), "valid") / np.maximum(
        np.convolve(counts, np.ones(span), "valid"), 1
    )
    return [float(mean) if own else None for mean, own in zip(means, counts[before:], strict=True)]


def _arrivals_by_step(records: Sequence[StepRecord], step_s: float) -> tuple[float, ...]:
    """What arrived in each step; batches tell their mean, and later."""
    measured = [record.measurement for record in records]
    arrived = where_they_belong(
        [each.arrivals_per_s for each in measured],
        [each.arrivals_age_steps(step_s) for each in measured],
    )
    return tuple(without_gaps(arrived, len(records)).tolist())


def _latencies(predictions: Predictions, begin_s: float, end_s: float) -> FloatArray:
    within = (predictions.due_s >= begin_s) & (predictions.due_s < end_s)
    return np.asarray((predictions.there_s - predictions.due_s)[within])


def _expected(record: StepRecord) -> float | None:
    """Of the step after it."""
    expected = record.decision.expected_arrivals_per_s
    return None if expected is None else float(expected[0])
