"""The options of `foresight`: `[slo]`, `[cost]`, `[horizon]`, `[forecast]`, `[limits]` and
`[latency]`.

As the product's own policy it has sections of the configuration instead of a table of its own; the
target and the length of a step are everybody's.
"""

from typing import Any, Literal, NamedTuple

from forecasting.catalogue import forecaster_names, forecaster_pattern
from mpc.descent_limits import LARGEST_RATIO, DescentLimits
from mpc.options import Executors, Options, SecondsInAnHour, option


class Slo(Options):
    """The service level objective the controller keeps."""

    latency_ms: float = option(
        1000.0, "Latency that is not to be exceeded.", "ms", gt=0, le=3_600_000
    )
    quantile: float | None = option(
        None,
        "Share of the rows that must keep the target; at most the rest of them may be late.",
        gt=0.5,
        lt=1,
        absent="the mean latency of the rows is kept",
        example=0.95,
    )

    @property
    def latency_s(self) -> float:
        return self.latency_ms / 1e3


class CostWeights(NamedTuple):
    latency: float
    resource: float
    switching: float


PROFILES = {
    "latency": CostWeights(6.0, 0.5, 0.01),
    "balanced": CostWeights(1.0, 0.5, 0.02),
    "energy": CostWeights(0.8, 0.5, 0.01),
}


def _weight(term: str, key: str, description: str, **limits: Any) -> float | None:
    """One that is taken from the profile unless it is set itself."""
    absent = ", ".join(f"{getattr(each, term):g} ({name})" for name, each in PROFILES.items())
    example = getattr(PROFILES["balanced"], term)
    return option(None, description, name=key, absent=absent, example=example, **limits)


class Cost(Options):
    """The objective: alpha * latency + beta * resource + gamma * switching."""

    profile: Literal["latency", "balanced", "energy"] = option(
        "balanced",
        "Preset of the three weights: low latency, a balance, or low energy. A weight that is "
        "set itself takes precedence.",
    )
    latency_weight: float | None = _weight("latency", "alpha", "Weight of latency.", gt=0)
    resource_weight: float | None = _weight(
        "resource", "beta", "Weight of the resource in use.", ge=0
    )
    switching_weight: float | None = _weight(
        "switching", "gamma", "Weight of changing the configuration.", ge=0
    )
    resource: Literal["power", "executors"] = option(
        "power", "What the resource term of the objective counts."
    )
    scaling: Literal["normalised", "paper"] = option(
        "normalised",
        "Scale of the objective's terms: normalised, so that weights mean the same for any "
        "target and cluster, or as in the paper, to reproduce it.",
    )

    @property
    def weights(self) -> CostWeights:
        """Those that are given, otherwise those of the profile."""
        given = (self.latency_weight, self.resource_weight, self.switching_weight)
        pairs = zip(given, PROFILES[self.profile], strict=True)
        return CostWeights(*(own if own is not None else usual for own, usual in pairs))


class Horizon(Options):
    """How far and how finely the controller looks ahead."""

    steps: int = option(2, "Number of steps planned ahead.", "steps", ge=1, le=60)
    step_s: float = option(1.0, "Length of one control step.", "s", ge=1, le=60)


class Forecast(Options):
    """The forecast of the arrival rate and how its uncertainty is priced."""

    model: str = option(
        "mixture",
        "Forecasting model of the arrival rate.",
        pattern=forecaster_pattern(),
        allowed=", ".join(forecaster_names()),
    )
    season_steps: int | None = option(
        None,
        "Length of the season, for forecasting models that have one.",
        "steps",
        ge=2,
        le=1_000_000,
        absent="detected",
        example=60,
    )
    scenarios: int = option(
        100, "Number of arrival paths drawn from the forecast for one decision.", ge=1, le=1000
    )
    risk: Literal["mean", "cvar"] = option(
        "mean",
        "How the cost of all scenarios becomes one: their mean, or the conditional value at "
        "risk, the mean of the worst ones beyond forecast.risk_quantile.",
    )
    risk_quantile: float = option(
        0.95,
        'Quantile beyond which the worst scenarios are averaged, with forecast.risk = "cvar".',
        gt=0.5,
        lt=1,
    )


class Limits(Options):
    """Constraints of the plan and of the search for it."""

    max_added_per_step: Executors | None = option(
        None, "Largest number of executors added in one step.", absent="unlimited", example=4
    )
    max_removed_per_step: Executors | None = option(
        None, "Largest number of executors removed in one step.", absent="unlimited", example=2
    )
    min_dwell_steps: int = option(
        0, "Smallest number of steps for which a configuration is kept.", "steps", ge=0, le=1000
    )
    dead_time_s: SecondsInAnHour | None = option(
        None,
        "Time from requesting an executor until it processes rows.",
        absent="learned on Spark, where the horizon follows it; none in simulations",
        example=1.5,
    )
    scale_in_window_s: SecondsInAnHour | None = option(
        None,
        "Time for which fewer executors must have been enough before executors are given up, "
        "whatever the policy.",
        absent="as long as an executor takes to start, at least three steps",
        example=60.0,
    )
    slow_down_readings: int = option(
        1,
        "Fresh measurements in a row for which a lower frequency must have been enough before the "
        "frequency is lowered, whatever the policy. A frequency acts at once, so that a mistake "
        "lasts for a step.",
        ge=1,
        le=1000,
    )
    max_given_up_share: float = option(
        0.5,
        "Largest share of the capacity (executors times frequency) that is given up in one step, "
        "whatever the policy.",
        gt=0,
        le=1,
    )
    doubtful_ratio: float = option(
        5.0,
        "A rate that is so many times above or below the median of the three before it gives "
        "nothing up, until the rates that follow confirm it.",
        gt=1,
        le=LARGEST_RATIO,
    )
    power_cap_w: float | None = option(
        None,
        "Power that is not to be exceeded in any step.",
        "W",
        gt=0,
        absent="unlimited",
        example=60.0,
    )
    energy_budget_j: float | None = option(
        None,
        "Energy that is not to be exceeded over one horizon.",
        "J",
        gt=0,
        absent="unlimited",
        example=250.0,
    )
    node_budget: int = option(
        20_000,
        "Nodes that the search may expand before it returns the best plan found.",
        "nodes",
        ge=1,
        le=100_000_000,
    )

    @property
    def descent(self) -> DescentLimits:
        return DescentLimits(
            self.max_given_up_share,
            self.scale_in_window_s,
            self.slow_down_readings,
            self.doubtful_ratio,
        )


class Latency(Options):
    """The model that predicts latency."""

    model: Literal["auto", "kingman", "micro-batch"] = option(
        "auto",
        "Model of the latency: Kingman's formula per tuple, Spark's micro-batches, or auto: "
        "micro-batches on Spark, Kingman's formula in simulations of single operators.",
    )


class ForesightOptions(Options):
    """Sections of the configuration, by their names."""

    slo: Slo = Slo()
    cost: Cost = Cost()
    horizon: Horizon = Horizon()
    forecast: Forecast = Forecast()
    limits: Limits = Limits()
    latency: Latency = Latency()
