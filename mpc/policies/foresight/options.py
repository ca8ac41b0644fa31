"""The options of `foresight`: `[slo]`, `[cost]`, `[horizon]`, `[forecast]`, `[limits]` and
`[latency]`.

As the product's own policy it has sections of the configuration instead of a table of its own; the
target and the length of a step are everybody's.
"""

from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct, field

from forecasting.catalogue import forecaster_names, forecaster_pattern


class Slo(Struct, frozen=True, forbid_unknown_fields=True):
    """The service level objective the controller keeps."""

    latency_ms: Annotated[
        float,
        Meta(
            gt=0,
            le=3_600_000,
            description="Latency that is not to be exceeded.",
            extra={"unit": "ms"},
        ),
    ] = 1000.0
    quantile: Annotated[
        float,
        Meta(
            gt=0.5,
            lt=1,
            description="Quantile beyond which the worst scenarios are averaged, with "
            'forecast.risk = "cvar".',
        ),
    ] = 0.95

    @property
    def latency_s(self) -> float:
        return self.latency_ms / 1e3


class CostWeights(NamedTuple):
    latency: float
    resource: float
    switching: float


PROFILES = {
    "latency": CostWeights(6.0, 0.5, 0.01),
    "balanced": CostWeights(1.25, 0.5, 0.03),
    "energy": CostWeights(0.8, 0.5, 0.01),
}


def _by_profile(term: str) -> str:
    return ", ".join(f"{getattr(weights, term):g} ({name})" for name, weights in PROFILES.items())


class Cost(Struct, frozen=True, forbid_unknown_fields=True):
    """The objective: alpha * latency + beta * resource + gamma * switching."""

    profile: Annotated[
        Literal["latency", "balanced", "energy"],
        Meta(
            description="Preset of the three weights: low latency, a balance, or low energy. A "
            "weight that is set itself takes precedence."
        ),
    ] = "balanced"
    latency_weight: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Weight of latency.",
                extra={"absent": _by_profile("latency"), "example": PROFILES["balanced"].latency},
            ),
        ]
        | None
    ) = field(name="alpha", default=None)
    resource_weight: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="Weight of the resource in use.",
                extra={"absent": _by_profile("resource"), "example": PROFILES["balanced"].resource},
            ),
        ]
        | None
    ) = field(name="beta", default=None)
    switching_weight: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="Weight of changing the configuration.",
                extra={
                    "absent": _by_profile("switching"),
                    "example": PROFILES["balanced"].switching,
                },
            ),
        ]
        | None
    ) = field(name="gamma", default=None)
    resource: Annotated[
        Literal["power", "executors"],
        Meta(description="What the resource term of the objective counts."),
    ] = "power"
    scaling: Annotated[
        Literal["normalised", "paper"],
        Meta(
            description="Scale of the objective's terms: normalised, so that weights mean the same "
            "for any target and cluster, or as in the paper, to reproduce it."
        ),
    ] = "normalised"

    @property
    def weights(self) -> CostWeights:
        """Those that are given, otherwise those of the profile."""
        given = (self.latency_weight, self.resource_weight, self.switching_weight)
        pairs = zip(given, PROFILES[self.profile], strict=True)
        return CostWeights(*(own if own is not None else usual for own, usual in pairs))


class Horizon(Struct, frozen=True, forbid_unknown_fields=True):
    """How far and how finely the controller looks ahead."""

    steps: Annotated[
        int,
        Meta(ge=1, le=60, description="Number of steps planned ahead.", extra={"unit": "steps"}),
    ] = 2
    step_s: Annotated[
        float, Meta(ge=1, le=60, description="Length of one control step.", extra={"unit": "s"})
    ] = 1.0


class Forecast(Struct, frozen=True, forbid_unknown_fields=True):
    """The forecast of the arrival rate and how its uncertainty is priced."""

    model: Annotated[
        str,
        Meta(
            pattern=forecaster_pattern(),
            description="Forecasting model of the arrival rate.",
            extra={"allowed": ", ".join(forecaster_names())},
        ),
    ] = "mixture"
    season_steps: (
        Annotated[
            int,
            Meta(
                ge=2,
                le=1_000_000,
                description="Length of the season, for forecasting models that have one.",
                extra={"unit": "steps", "absent": "detected", "example": 60},
            ),
        ]
        | None
    ) = None
    scenarios: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Number of arrival paths drawn from the forecast for one decision.",
        ),
    ] = 100
    risk: Annotated[
        Literal["mean", "cvar"],
        Meta(
            description="How the cost of all scenarios becomes one: their mean, or the conditional "
            "value at risk, the mean of the worst ones beyond slo.quantile."
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
                description="Largest number of executors added in one step.",
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
                description="Largest number of executors removed in one step.",
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
            description="Smallest number of steps for which a configuration is kept.",
            extra={"unit": "steps"},
        ),
    ] = 0
    dead_time_s: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=3600,
                description="Time from requesting an executor until it processes rows.",
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
                description="Power that is not to be exceeded in any step.",
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
                description="Energy that is not to be exceeded over one horizon.",
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
            description="Nodes that the search may expand before it returns the best plan found.",
            extra={"unit": "nodes"},
        ),
    ] = 20_000


class Latency(Struct, frozen=True, forbid_unknown_fields=True):
    """The model that predicts latency."""

    model: Annotated[
        Literal["auto", "kingman", "micro-batch"],
        Meta(
            description="Model of the latency: Kingman's formula per tuple, Spark's micro-batches, "
            "or auto: micro-batches on Spark, Kingman's formula in simulations of single operators."
        ),
    ] = "auto"


class ForesightOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Sections of the configuration, by their names."""

    slo: Slo = Slo()
    cost: Cost = Cost()
    horizon: Horizon = Horizon()
    forecast: Forecast = Forecast()
    limits: Limits = Limits()
    latency: Latency = Latency()
