"""One recorded run in figures: for the report and for whoever compares two."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from mpc.batch_rhythm import BatchRhythm
from mpc.objective import breaks_objective
from mpc.simulation.summary import RunFigures, summarise
from mpc.values import Measurement
from runtime.build import live_power
from runtime.control.journal import StepRecord
from runtime.control.starts import Start
from runtime.insight.journals import RecordedRun
from runtime.insight.limits import active_limits
from runtime.metrics.fan import ForecastErrors

DEFAULT_STEP_S = 1.0


@dataclass(frozen=True, slots=True)
class RunSummary:
    """None where the journal does not say it."""

    step_s: float
    target_latency_s: float | None
    figures: RunFigures
    latency_mean_s: float | None
    latency_p95_s: float | None
    latency_p99_s: float | None
    stale_steps: int
    """Arrivals had not been told for much longer than batches take."""
    forecast_error: float | None
    """Mean absolute error one step ahead, as a share of the mean rate."""
    mean_arrivals_per_s: float | None
    power_source: str
    took_p99_s: float | None

    @property
    def violations(self) -> int | None:
        return None if self.target_latency_s is None else self.figures.violations

    @property
    def mean_frequency_ghz(self) -> float:
        return self.figures.mean_frequency_khz / 1e6


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps in a row above the target; those without a result are passed over."""

    first: StepRecord
    steps: int
    worst_latency_s: float


def summary(run: RecordedRun) -> RunSummary:
    records, start = run.records, run.start(run.records[-1])
    measured = [record.measurement for record in records]
    latency_s = [m.latency_s for m in measured if m.latency_s is not None]
    target_s = target_of(start)
    power_w, source = powers(records, start)
    step_s = step_of(start)
    rates = [m.arrivals_per_s for m in measured if m.arrivals_per_s is not None]
    took_s = [record.took_s for record in records if record.took_s is not None]
    figures = summarise(
        latencies_s=[m.latency_s for m in measured],
        broken=[
            target_s is not None and breaks_objective(m, target_s, quantile_of(start))
            for m in measured
        ],
        powers_w=power_w,
        observed=[m.observed for m in measured],
        requested=[record.applied.requested for record in records],
        step_s=step_s,
        target_s=math.inf if target_s is None else target_s,
    )
    return RunSummary(
        step_s=step_s,
        target_latency_s=target_s,
        figures=figures,
        latency_mean_s=_mean(latency_s),
        latency_p95_s=_percentile(latency_s, 95),
        latency_p99_s=_percentile(latency_s, 99),
        stale_steps=_stale_steps(measured, step_s),
        forecast_error=_forecast_error(records, step_s),
        mean_arrivals_per_s=_mean(rates),
        power_source=source,
        took_p99_s=_percentile(took_s, 99),
    )


def target_of(start: Start | None) -> float | None:
    return None if start is None else start.config.slo.latency_s


def quantile_of(start: Start | None) -> float | None:
    return None if start is None else start.config.slo.quantile


def step_of(start: Start | None) -> float:
    return DEFAULT_STEP_S if start is None else start.config.horizon.step_s


def powers(records: Sequence[StepRecord], start: Start | None) -> tuple[list[float | None], str]:
    """Watts of every step and where they come from; modelled in shares where no watts are known."""
    power_w = [record.measurement.power_w for record in records]
    if any(value is not None for value in power_w):
        sources = {r.measurement.power_source for r in records if r.measurement.power_w is not None}
        return power_w, " and ".join(sorted(sources))
    if start is None:
        return power_w, "not known"
    power = live_power(start.config, start.space)
    observed = [record.measurement.observed for record in records]
    return [float(power.power_w(u.executors, u.frequency_khz)) for u in observed], (
        "modelled, in shares of the full power"
    )


def violations(
    records: Sequence[StepRecord], target_s: float, quantile: float | None = None
) -> list[Stretch]:
    """Longest first."""
    judged = [
        (record, latency_s)
        for record in records
        if (latency_s := record.measurement.latency_s) is not None
    ]
    stretches = []
    for is_broken, same in groupby(
        judged, key=lambda each: breaks_objective(each[0].measurement, target_s, quantile)
    ):
        if is_broken:
            steps = list(same)
            worst = max(latency_s for _, latency_s in steps)
            stretches.append(Stretch(steps[0][0], len(steps), worst))
    return sorted(stretches, key=lambda stretch: (-stretch.steps, stretch.first.at_s))


def limit_counts(run: RecordedRun) -> list[tuple[str, int]]:
    """How many steps each limit was active in, the most frequent first."""
    counted: Counter[str] = Counter()
    for record in run.records:
        limits = active_limits(record, run.start(record))
        counted.update({_without_figures(limit) for limit in limits})
    return counted.most_common()


def reason_counts(records: Sequence[StepRecord]) -> list[tuple[str, int]]:
    return Counter(record.decision.reason for record in records).most_common()


def _without_figures(limit: str) -> str:
    """Bounds stay as they are; of the others the figures differ from step to step."""
    if limit.startswith(("executors:", "frequency:")):
        return limit
    return limit.removeprefix("guard: ").split(":")[0]


def _stale_steps(measured: Sequence[Measurement], step_s: float) -> int:
    """As the policy `foresight` reckons what is overdue."""
    rhythm, stale = BatchRhythm(step_s), 0
    for each in measured:
        rhythm.observe(each)
        stale += rhythm.overdue
    return stale


def _forecast_error(records: Sequence[StepRecord], step_s: float) -> float | None:
    errors = ForecastErrors()
    for record in records:
        errors.observe(record, step_s)
    return errors.mean_error


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _percentile(values: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None
