"""Every option of the configuration, declared once: key, type, default, unit, range, meaning.

The validation, the commented `foresight.toml` and the table in the docs all read these structs.
What two options say together is checked in `rules.py`; reading files is the work of `load.py`.

In `Meta.extra`: `unit`; `absent`, what a missing optional value means; `example`, a value to show
for an option without a default; for text with a pattern `allowed`, the names it takes, or `kind`,
what it is ("an absolute path").
"""

from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from runtime.config.live import Agents, JournalOptions, Power, Spark
from runtime.config.policies import POLICY_NAMES, POLICY_PATTERN, Policies
from runtime.config.schedule import Schedule
from runtime.config.web import Web

# 10 MHz to 10 GHz: a value in Hz or MHz by mistake falls outside.
FrequencyKhz = Annotated[int, Meta(ge=10_000, le=10_000_000)]


class Slo(Struct, frozen=True, forbid_unknown_fields=True):
    """The service level objective the controller keeps."""

    latency_ms: Annotated[
        float,
        Meta(gt=0, le=3_600_000, description="Latency not to exceed.", extra={"unit": "ms"}),
    ] = 1000.0
    quantile: Annotated[
        float,
        Meta(
            gt=0.5,
            lt=1,
            description='With forecast.risk = "cvar": plan for the mean of the scenarios that are '
            "worse than this quantile.",
        ),
    ] = 0.95


class Weights(NamedTuple):
    """Of latency, resource and switching."""

    alpha: float
    beta: float
    gamma: float


PROFILES = {
    "latency": Weights(6.0, 0.5, 0.01),
    "balanced": Weights(1.25, 0.5, 0.03),
    "energy": Weights(0.8, 0.5, 0.01),
}


def _by_profile(name: str) -> str:
    return ", ".join(f"{getattr(weights, name):g} ({word})" for word, weights in PROFILES.items())


class Cost(Struct, frozen=True, forbid_unknown_fields=True):
    """The objective: alpha * latency + beta * resource + gamma * switching."""

    profile: Annotated[
        Literal["latency", "balanced", "energy"],
        Meta(
            description="The weights in one word: rather too fast, as is usual, or rather too "
            "thrifty. A weight that is given counts instead of the profile's."
        ),
    ] = "balanced"
    alpha: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Weight of latency.",
                extra={"absent": _by_profile("alpha"), "example": PROFILES["balanced"].alpha},
            ),
        ]
        | None
    ) = None
    beta: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="Weight of the resource in use.",
                extra={"absent": _by_profile("beta"), "example": PROFILES["balanced"].beta},
            ),
        ]
        | None
    ) = None
    gamma: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="Weight of changing the configuration.",
                extra={"absent": _by_profile("gamma"), "example": PROFILES["balanced"].gamma},
            ),
        ]
        | None
    ) = None
    resource: Annotated[
        Literal["power", "executors"], Meta(description="What the resource term counts.")
    ] = "power"
    scaling: Annotated[
        Literal["normalised", "paper"],
        Meta(
            description="Scale of the terms: the same weights for any target and cluster size, or "
            "the scale of the paper, to reproduce it."
        ),
    ] = "normalised"

    @property
    def latency_weight(self) -> float:
        return PROFILES[self.profile].alpha if self.alpha is None else self.alpha

    @property
    def resource_weight(self) -> float:
        return PROFILES[self.profile].beta if self.beta is None else self.beta

    @property
    def switching_weight(self) -> float:
        return PROFILES[self.profile].gamma if self.gamma is None else self.gamma


class Horizon(Struct, frozen=True, forbid_unknown_fields=True):
    """How far and how finely the controller looks ahead."""

    steps: Annotated[
        int, Meta(ge=1, le=60, description="Steps planned ahead.", extra={"unit": "steps"})
    ] = 2
    step_s: Annotated[
        float, Meta(ge=1, le=60, description="Length of one control step.", extra={"unit": "s"})
    ] = 1.0


class Executors(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of the executor count."""

    min: Annotated[
        int, Meta(ge=1, le=1000, description="Fewest executors.", extra={"unit": "executors"})
    ] = 1
    max: Annotated[
        int, Meta(ge=1, le=1000, description="Most executors.", extra={"unit": "executors"})
    ] = 12


class Frequency(Struct, frozen=True, forbid_unknown_fields=True):
    """CPU frequencies of the worker hosts: a range with a step, or a list instead of it."""

    min_khz: Annotated[
        FrequencyKhz, Meta(description="Lowest frequency.", extra={"unit": "kHz"})
    ] = 1_200_000
    max_khz: Annotated[
        FrequencyKhz, Meta(description="Highest frequency.", extra={"unit": "kHz"})
    ] = 2_000_000
    step_khz: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000_000,
            description="Distance between two frequencies; divides the range.",
            extra={"unit": "kHz"},
        ),
    ] = 100_000
    list_khz: (
        Annotated[
            tuple[FrequencyKhz, ...],
            Meta(
                min_length=1,
                max_length=256,
                description="Frequencies in ascending order, in place of min, max and step.",
                extra={
                    "unit": "kHz",
                    "absent": "the range",
                    "example": (1_200_000, 1_600_000, 2_000_000),
                },
            ),
        ]
        | None
    ) = None

    @property
    def frequencies_khz(self) -> tuple[int, ...]:
        """Every admissible frequency, ascending."""
        if self.list_khz is not None:
            return self.list_khz
        return tuple(range(self.min_khz, self.max_khz + 1, self.step_khz))


class Forecast(Struct, frozen=True, forbid_unknown_fields=True):
    """The forecast of the arrival rate and how its uncertainty is priced."""

    model: Annotated[
        Literal["last", "mean-3", "ses", "holt", "holt-winters", "mixture"],
        Meta(description="Forecasting model."),
    ] = "mixture"
    season_steps: (
        Annotated[
            int,
            Meta(
                ge=2,
                le=1_000_000,
                description="Length of the season, for the models that have one.",
                extra={"unit": "steps", "absent": "detected", "example": 60},
            ),
        ]
        | None
    ) = None
    scenarios: Annotated[
        int, Meta(ge=1, le=1000, description="Arrival paths drawn from the forecast.")
    ] = 100
    risk: Annotated[
        Literal["mean", "cvar"],
        Meta(
            description="Cost over the scenarios: the mean of all, or conditional value at risk, "
            "the mean of those beyond slo.quantile."
        ),
    ] = "mean"


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """Constraints of the plan and of the search for it."""

    max_added_per_step: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=1000,
                description="Most executors added in one step.",
                extra={"unit": "executors", "absent": "unlimited", "example": 4},
            ),
        ]
        | None
    ) = None
    max_removed_per_step: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=1000,
                description="Most executors removed in one step.",
                extra={"unit": "executors", "absent": "unlimited", "example": 2},
            ),
        ]
        | None
    ) = None
    min_dwell_steps: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="Steps a configuration is kept at least.",
            extra={"unit": "steps"},
        ),
    ] = 0
    dead_time_s: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=3600,
                description="Time from asking for an executor until it serves.",
                extra={
                    "unit": "s",
                    "absent": "learned on Spark, where the horizon follows it; none in simulations",
                    "example": 1.5,
                },
            ),
        ]
        | None
    ) = None
    power_cap_w: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Power not to exceed in any step.",
                extra={"unit": "W", "absent": "unlimited", "example": 60.0},
            ),
        ]
        | None
    ) = None
    energy_budget_j: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Energy not to exceed over one horizon.",
                extra={"unit": "J", "absent": "unlimited", "example": 250.0},
            ),
        ]
        | None
    ) = None
    node_budget: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000_000,
            description="Nodes the search may expand before it returns its best plan.",
            extra={"unit": "nodes"},
        ),
    ] = 20_000


class Latency(Struct, frozen=True, forbid_unknown_fields=True):
    """The model that predicts latency."""

    model: Annotated[
        Literal["auto", "kingman", "micro-batch"],
        Meta(
            description="Kingman's formula per tuple, Spark's micro-batches, or auto: that of what "
            "is controlled, micro-batches on Spark and Kingman's in simulations."
        ),
    ] = "auto"


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration."""

    policy: Annotated[
        str,
        Meta(
            pattern=POLICY_PATTERN,
            description="Strategy that decides; static-N keeps N executors.",
            extra={"allowed": POLICY_NAMES},
        ),
    ] = "foresight"
    mode: Annotated[
        Literal["control", "advise"],
        Meta(
            description="control acts on Spark and the hosts; advise decides and writes the "
            "journal, and touches nothing."
        ),
    ] = "control"
    seed: Annotated[
        int,
        Meta(
            ge=0,
            le=2**63 - 1,
            description="Seed of the policies that choose by chance.",
        ),
    ] = 1
    slo: Slo = Slo()
    cost: Cost = Cost()
    horizon: Horizon = Horizon()
    executors: Executors = Executors()
    frequency: Frequency = Frequency()
    forecast: Forecast = Forecast()
    limits: Limits = Limits()
    latency: Latency = Latency()
    spark: Spark = Spark()
    agents: Agents = Agents()
    schedule: Schedule = Schedule()
    power: Power = Power()
    journal: JournalOptions = JournalOptions()
    web: Web = Web()
    policies: Policies = Policies()

    @property
    def configurations(self) -> int:
        """Number of configurations the controller chooses from."""
        executor_counts = self.executors.max - self.executors.min + 1
        return executor_counts * len(self.frequency.frequencies_khz)
