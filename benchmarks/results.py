"""What a comparison hands to its report and its JSON file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mpc.simulation.operator import PlantStep
from mpc.simulation.summary import RunFigures, summarise
from mpc.values import FloatArray


@dataclass(frozen=True, slots=True)
class Row:
    """One run. Names are part of the JSON contract."""

    policy: str
    seed: int
    steps: int
    violations: int
    violation_fraction: float
    reconfigurations: int
    executor_changes: int
    frequency_changes: int
    mean_executors: float
    mean_power_w: float
    energy_j: float
    amplitude: float
    latency_mean_s: float
    latency_p95_s: float
    latency_p99_s: float
    decision_ms_p50: float
    decision_ms_p99: float

    @classmethod
    def of(
        cls,
        policy: str,
        seed: int,
        figures: RunFigures,
        latencies_s: "LatencyFigures",
        decision_ms: Sequence[float],
    ) -> "Row":
        """NaN where the run has no such figure."""
        changes = figures.changes
        return cls(
            policy=policy,
            seed=seed,
            steps=figures.steps,
            violations=figures.violations,
            violation_fraction=figures.violations / figures.steps,
            reconfigurations=changes.reconfigurations,
            executor_changes=changes.executor_changes,
            frequency_changes=changes.frequency_changes,
            mean_executors=figures.mean_executors,
            mean_power_w=math.nan if figures.mean_power_w is None else figures.mean_power_w,
            energy_j=math.nan if figures.energy_j is None else figures.energy_j,
            amplitude=changes.amplitude,
            latency_mean_s=latencies_s.mean_s,
            latency_p95_s=latencies_s.p95_s,
            latency_p99_s=latencies_s.p99_s,
            decision_ms_p50=_percentile(decision_ms, 50),
            decision_ms_p99=_percentile(decision_ms, 99),
        )


@dataclass(frozen=True, slots=True)
class LatencyFigures:
    """Over the single results of a run; NaN without any."""

    mean_s: float
    p95_s: float
    p99_s: float

    @classmethod
    def of(cls, latencies_s: FloatArray) -> "LatencyFigures":
        mean_s = float(latencies_s.mean()) if len(latencies_s) else math.nan
        return cls(mean_s, _percentile(latencies_s, 95), _percentile(latencies_s, 99))


@dataclass(frozen=True, slots=True)
class Series:
    """One run step by step, for charts."""

    arrivals_per_s: tuple[float, ...]
    expected_per_s: tuple[float | None, ...]
    """What the policy expected for the step when it decided."""
    executors: tuple[int, ...]
    frequency_khz: tuple[int, ...]
    latency_s: tuple[float | None, ...]
    power_w: tuple[float, ...]

    @classmethod
    def of(cls, records: Sequence[PlantStep], expected_per_s: Sequence[float | None]) -> "Series":
        """Of a simulated run."""
        return cls(
            arrivals_per_s=tuple(record.arrivals_per_s for record in records),
            expected_per_s=tuple(expected_per_s),
            executors=tuple(record.configuration.executors for record in records),
            frequency_khz=tuple(record.configuration.frequency_khz for record in records),
            latency_s=tuple(record.latency_s for record in records),
            power_w=tuple(record.power_w for record in records),
        )


@dataclass(frozen=True, slots=True)
class Run:
    row: Row
    series: Series
    windows: int


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """`foresight` at one value of its knob, averaged over the repetitions."""

    alpha: float
    violations: float
    mean_power_w: float
    reconfigurations: float


@dataclass(frozen=True, slots=True)
class Limit:
    """The clairvoyant bound: least mean power for at most so many violations."""

    violations: int
    mean_power_w: float


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the figures of a comparison come from."""

    backend: Literal["simulation", "spark"]
    power: Literal["simulated", "emulated", "measured"]

    @property
    def figures(self) -> str:
        """Of everything but power."""
        return "simulated" if self.backend == "simulation" else "measured"

    @property
    def sentence(self) -> str:
        if self.backend == "simulation":
            return "All results are simulated; no machine was measured."
        return f"Measured on a real Spark cluster; power and energy are {self.power}."


SIMULATED = Provenance("simulation", "simulated")


@dataclass(frozen=True, slots=True)
class Comparison:
    scenario: str
    source: str
    """Where the workload comes from, in words."""
    threshold_s: float
    step_s: float
    runs: tuple[Run, ...]
    """Every policy with every seed; the series of a policy's first seed is the one to draw."""
    curve: tuple[CurvePoint, ...] = ()
    limit: tuple[Limit, ...] = ()
    provenance: Provenance = SIMULATED


def simulated_figures(
    records: Sequence[PlantStep], step_s: float, threshold_s: float
) -> RunFigures:
    """Every policy finds all executors at full speed. Its first decision is its initial placement
    and no reconfiguration; every later change of executors or frequency is one (De Matteis and
    Mencagli 2016, section 5.3.1).
    """
    used = [record.configuration for record in records]
    return summarise(
        latencies_s=[record.judged_latency_s for record in records],
        powers_w=[record.power_w for record in records],
        observed=used,
        requested=used[1:],
        step_s=step_s,
        target_s=threshold_s,
    )


def _percentile(values: Sequence[float] | FloatArray, percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else math.nan
