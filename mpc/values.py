"""The values that flow through one control step: measurement in, decision out.

They are shared by every policy and every plant. *Plan* (what the optimiser wants over the
horizon), *requested* (what was asked for) and *observed* (what runs) are three different things.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from energy.meters import contract as meters
from forecasting import contract as forecasts

FloatArray = forecasts.FloatArray
IntArray = forecasts.IntArray
PowerSource = meters.PowerSource
LatencyKind = Literal["exact", "estimated", "at least"]
"""exact: from the times of the items themselves. at least: no result yet, as long as they wait."""
ArrivalsOrigin = Literal["source", "batch"]
"""source: the source itself was asked in this step. batch: told by the progress of a batch."""


@dataclass(frozen=True, slots=True, order=True)
class Configuration:
    """One point of the space the controller moves in."""

    executors: int
    frequency_khz: int


@dataclass(frozen=True, slots=True)
class ConfigurationSpace:
    """Every admissible configuration: executors min..max and an ascending list of frequencies."""

    min_executors: int
    max_executors: int
    frequencies_khz: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.min_executors <= self.max_executors:
            raise ValueError(
                f"executors must satisfy 1 <= min <= max, got "
                f"{self.min_executors}..{self.max_executors}"
            )
        ascending = all(low < high for low, high in pairwise(self.frequencies_khz))
        if not self.frequencies_khz or not ascending or self.frequencies_khz[0] <= 0:
            raise ValueError(
                f"frequencies_khz must be positive and ascending, got {self.frequencies_khz}"
            )

    @property
    def executors(self) -> IntArray:
        return np.arange(self.min_executors, self.max_executors + 1, dtype=np.int64)

    @property
    def frequencies_hz(self) -> FloatArray:
        return np.asarray(self.frequencies_khz, dtype=np.float64) * 1e3

    @property
    def largest(self) -> Configuration:
        return Configuration(self.max_executors, self.frequencies_khz[-1])

    def executor_index(self, executors: int) -> int:
        """Index of the nearest admissible executor count."""
        return min(max(executors, self.min_executors), self.max_executors) - self.min_executors

    def frequency_index(self, frequency_khz: int) -> int:
        """Index of the nearest admissible frequency."""
        if frequency_khz in self.frequencies_khz:
            return self.frequencies_khz.index(frequency_khz)
        distances = [abs(candidate - frequency_khz) for candidate in self.frequencies_khz]
        return distances.index(min(distances))

    def index(self, configuration: Configuration) -> tuple[int, int]:
        """Indices of the nearest admissible configuration."""
        return (
            self.executor_index(configuration.executors),
            self.frequency_index(configuration.frequency_khz),
        )

    def nearest(self, configuration: Configuration) -> Configuration:
        return self.at(*self.index(configuration))

    def at(self, executor_index: int, frequency_index: int) -> Configuration:
        return Configuration(
            self.min_executors + executor_index, self.frequencies_khz[frequency_index]
        )


@dataclass(frozen=True, slots=True)
class BatchSample:
    """One finished micro-batch: how many rows, how long, and on what it ran."""

    rows: int
    duration_s: float
    ran_on: Configuration
    cold: bool = False
    """It ran on executors that had only just started, or was the first, so it says little about
    the next one."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """One worker host over the last step, as its agent reported it. None: not known."""

    name: str
    power_w: float | None = None
    power_source: PowerSource = "modelled"
    executor_cores: float | None = None
    """Cores that executors of the application kept busy, on average."""
    other_cores: float | None = None
    """Cores that everything else kept busy."""
    frequency_khz: int | None = None
    """In force on the host."""
    clock_khz: int | None = None
    """What its busy cores really ran at: a cap is only the most they may."""
    executors: int | None = None
    """Executors of the application on it."""
    executor_slots: int | None = None
    """Cores they were given, busy or not."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a policy may know at the start of step `step` about the step before it.

    The rows of Table 1 of the MPC paper (De Matteis and Mencagli 2016), the measured wait and
    latency its feedback and violations need, and what the reactive strategies look at. `None` means
    not measured. "Items" are triggering tuples on a continuous operator and rows on a micro-batch
    engine.
    """

    step: int
    time_s: float
    requested: Configuration
    observed: Configuration
    arrivals_per_s: float | None = None
    """Items that arrived per second: 1 / T_A."""
    arrivals_age_s: float = 0.0
    """How much earlier than this step they came, where they are counted by the batch: from the
    middle of the time they were counted over to the middle of the step."""
    arrivals_origin: ArrivalsOrigin | None = None
    """Who counted them; None: not said."""
    arrival_cv: float | None = None
    """Coefficient of variation of the inter-arrival time: sigma_A / T_A."""
    arrival_dispersion: float | None = None
    """Index of dispersion for counts; 1 for a Poisson stream, more when arrivals cluster."""
    completions_per_s: float | None = None
    backlog_items: float | None = None
    """Items that had arrived and had no result yet when the step ended."""
    cost_cycles: float | None = None
    """Mean cost of one item in clock cycles, so independent of the frequency it ran at."""
    cost_cv: float | None = None
    key_frequencies: FloatArray | None = None
    """p_k: share of the tuples of every key."""
    key_cost_cycles: FloatArray | None = None
    """C_k: mean cost of every key in cycles; the overall mean for a key without a sample."""
    wait_s: float | None = None
    latency_s: float | None = None
    latency_kind: LatencyKind | None = None
    """None: not said."""
    late_share: float | None = None
    """Share of the items with a result in this step whose own latency was above the target."""
    oldest_wait_s: float | None = None
    """Age of the oldest item that has no result yet: the latency is at least this."""
    is_fresh: bool = True
    """Whether every query, not only one of several, has reported recently enough."""
    congestion: float | None = None
    """Fraction of the step in which the source was held back by full queues."""
    batches: tuple[BatchSample, ...] = ()
    trigger_interval_s: float | None = None
    """From the start of one batch to that of the next at least; None: back to back, or unknown."""
    useful_executors: int | None = None
    """Executors that find a task in a batch; more of them would stand idle."""
    startup_s: float | None = None
    """Learned: from the request of an executor until it works at full speed. A policy is told the
    one that it is to plan with, and None where that is fixed."""
    power_w: float | None = None
    power_source: PowerSource = "modelled"
    hosts: tuple[HostReading, ...] = ()
    """What the power model learns from."""
    clock_s: float | None = None
    """When the step ended, seconds since 1970 in UTC: what was learned of other days is looked up
    by it. A trace has its own clock."""

    def arrivals_age_steps(self, step_s: float) -> int:
        """How many steps before this one the arrivals belong to."""
        return round(self.arrivals_age_s / step_s)


@dataclass(frozen=True, slots=True)
class CostTerms:
    """The objective of one plan, term by term (Expr. 10 of De Matteis and Mencagli 2016)."""

    latency: float
    resource: float
    switching: float

    @property
    def total(self) -> float:
        return self.latency + self.resource + self.switching


@dataclass(frozen=True, slots=True)
class Plan:
    """A trajectory over the horizon and what is known about its quality."""

    trajectory: tuple[Configuration, ...]
    cost: CostTerms
    lower_bound: float
    nodes: int
    proven: bool
    """True only if the cost is within the tolerance of the lower bound."""
    relaxed: tuple[str, ...] = ()
    """Constraints that no trajectory could meet: "power_cap", "energy_budget"."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A first move that was not taken, and what the horizon would cost after it."""

    configuration: Configuration
    cost: CostTerms
    reason: str
    """Why not, and whether the cost is the least that such a plan can have."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy wants applied now, and why."""

    target: Configuration
    reason: str
    plan: Plan | None = None
    expected_arrivals_per_s: FloatArray | None = None
    """The forecast the decision rests on, one value a step of the horizon."""
    key_owners: IntArray | None = None
    """The distribution table m: replica of every key; None leaves the routing as it is."""
    alternatives: tuple[Alternative, ...] = ()
    """The next best first moves, cheapest first."""
    power_basis: str | None = None
    """How the power of the plan is known: modelled, or learned and with what error."""
    cooling_down: bool = False
    """The policy keeps what is there because it changed too recently."""
    at_once: bool = False
    """To stay would break a limit, as a power cap, so that less must not wait for its time."""
    forecast_by: str | None = None
    """The forecast with the largest share of what is expected in the next step; None where only
    one makes it."""
    forecast_share: float | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of a decision: what was asked for and what ran at that moment."""

    requested: Configuration
    observed: Configuration
