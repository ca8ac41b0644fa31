"""The recorded arrivals under another configuration or policy: what would have been decided.

The other policy runs in a closed loop of its own: it sees the recorded arrivals, and everything
that depends on the configuration as `estimate` has it. Executors that it asks for serve after the
dead time. Restarts are taken as if it had been told of the steps missed and forgotten nothing.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from mpc.controller import Decided
from mpc.simulation.summary import summarise
from mpc.values import Configuration, Measurement
from runtime.build import live_controller, live_power
from runtime.control.journal import StepRecord
from runtime.control.resume import gap
from runtime.control.starts import Start
from runtime.insight.estimate import StepEstimator


@dataclass(frozen=True, slots=True)
class OtherStep:
    """One recorded step beside what the other would have made of it."""

    record: StepRecord
    decided: Decided
    observed: Configuration
    """What would have run while the step was measured."""
    latency_s: float | None
    """Estimated."""
    power_w: float
    """Estimated."""


@dataclass(frozen=True, slots=True)
class Totals:
    """One run as a whole; power and energy in watts and joules, or in shares of the full power."""

    run: str
    steps: int
    judged_steps: int
    """Those with a latency."""
    violations: int
    mean_latency_s: float | None
    energy: float
    mean_power: float
    reconfigurations: int
    executor_changes: int
    frequency_changes: int
    mean_executors: float
    mean_frequency_ghz: float


def other_run(
    records: Sequence[StepRecord], recorded_with: Start, other: Start
) -> Iterable[OtherStep]:
    """Every step; `recorded_with` knows the power of the cluster."""
    config = other.config
    step_s = config.horizon.step_s
    first = records[0]
    controller = live_controller(config, other.space)
    estimator = StepEstimator(
        live_power(recorded_with.config, recorded_with.space), recorded_with.config.horizon.step_s
    )
    requested = _within(other, first.measurement.requested)
    delay = ceil(_dead_time_s(other, first) / step_s)
    requests: deque[int] = deque([requested.executors] * (delay + 1), maxlen=delay + 1)
    recorded_requests = requests.copy()
    before: StepRecord | None = None
    for record in records:
        recorded = record.measurement
        recorded_requests.append(recorded.requested.executors)
        observed = Configuration(min(requests), requested.frequency_khz)
        if requested == recorded.requested and requests == recorded_requests:
            observed = recorded.observed  # asked for the same, it had the same
        for missed in _missed(before, record, step_s, requested, observed):
            controller.step(missed)
        estimate = estimator.estimate(recorded, observed)
        measured = estimator.measurement(recorded, estimate, requested, observed)
        measured = replace(measured, startup_s=_dead_time_s(other, record))
        decided = controller.step(measured)
        yield OtherStep(record, decided, observed, estimate.latency_s, estimate.power_w)
        requested = decided.target
        requests.append(requested.executors)
        before = record


def recorded_totals(
    records: Sequence[StepRecord], recorded_with: Start, judged_by: Start
) -> Totals:
    """Of what ran, as it was measured; power as modelled where none was read."""
    power = live_power(recorded_with.config, recorded_with.space)
    steps: list[_Counted] = []
    for record in records:
        m = record.measurement
        modelled_w = float(power.power_w(m.observed.executors, m.observed.frequency_khz))
        power_w = modelled_w if m.power_w is None else m.power_w
        steps.append((m.latency_s, power_w, m.observed, record.applied.requested))
    return _totals("recorded", steps, judged_by)


def other_totals(name: str, steps: Sequence[OtherStep], judged_by: Start) -> Totals:
    """All of it estimated. Both runs are judged by the target of the same configuration."""
    counted = [(s.latency_s, s.power_w, s.observed, s.decided.target) for s in steps]
    return _totals(name, counted, judged_by)


_Counted = tuple[float | None, float, Configuration, Configuration]
"""Of a step: latency, power, what ran and what was asked for."""


def _totals(name: str, steps: Sequence[_Counted], judged_by: Start) -> Totals:
    latency_s, power_w, observed, requested = zip(*steps, strict=True)
    known_s = [value for value in latency_s if value is not None]
    config = judged_by.config
    figures = summarise(
        latencies_s=latency_s,
        powers_w=power_w,
        observed=observed,
        requested=requested,
        step_s=config.horizon.step_s,
        target_s=config.slo.latency_s,
    )
    return Totals(
        run=name,
        steps=figures.steps,
        judged_steps=figures.judged_steps,
        violations=figures.violations,
        mean_latency_s=float(np.mean(known_s)) if known_s else None,
        energy=figures.energy_j or 0.0,
        mean_power=figures.mean_power_w or 0.0,
        reconfigurations=figures.changes.reconfigurations,
        executor_changes=figures.changes.executor_changes,
        frequency_changes=figures.changes.frequency_changes,
        mean_executors=figures.mean_executors,
        mean_frequency_ghz=figures.mean_frequency_khz / 1e6,
    )


def _dead_time_s(other: Start, record: StepRecord) -> float:
    """The configured one, or what the journal knows of the start of executors."""
    configured_s = other.config.limits.dead_time_s
    if configured_s is not None:
        return configured_s
    if record.dead_time_s > 0:
        return record.dead_time_s
    parts = (record.start_up.registered_s, record.start_up.warmed_s)
    return float(sum(np.median(part) for part in parts if part))


def _within(other: Start, configuration: Configuration) -> Configuration:
    space = other.space
    return space.at(
        space.executor_index(configuration.executors),
        space.frequency_index(configuration.frequency_khz),
    )


def _missed(
    before: StepRecord | None,
    record: StepRecord,
    step_s: float,
    requested: Configuration,
    observed: Configuration,
) -> Iterable[Measurement]:
    missed = 0 if record.resumption is None else record.resumption.missed
    if before is None or not missed:
        return ()
    return tuple(
        Measurement(empty.step, empty.time_s, requested, observed)
        for empty in gap(before, before.at_s + (missed + 1.5) * step_s, step_s)
    )
