"""What a comparison hands to its report and its JSON file."""

from dataclasses import dataclass
from typing import Literal


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
