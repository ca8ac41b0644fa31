"""The first repetition step by step: what arrived, what each policy did, and what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from benchmarks.report.colours import distinct_colours
from benchmarks.report.findings import OWN
from benchmarks.results import Comparison, Series
from benchmarks.statistics import PolicyRuns
from runtime.report.charts import Chart, ChartLimit, ChartLine, Polyline, polyline
from runtime.report.text import latency_unit, percent, seconds

MAIN_POLICIES = (OWN, "lat-power-h2", "lat-node-h2", "peak")
MOST_LINES = 4


@dataclass(frozen=True, slots=True)
class Timeline:
    """The charts and the lines they draw."""

    charts: tuple[Chart, ...] = ()
    lines: dict[str, Polyline] = field(default_factory=dict)
    span_s: float = 1.0


def drawn_policies(policies: dict[str, PolicyRuns]) -> list[PolicyRuns]:
    """The main ones first, then others until there are enough."""
    recorded = [name for name, policy in policies.items() if policy.series.arrivals_per_s]
    names = [name for name in MAIN_POLICIES if name in recorded]
    names += [name for name in recorded if name not in names]
    return [policies[name] for name in names[:MOST_LINES]]


def timeline(comparison: Comparison, policies: Sequence[PolicyRuns]) -> Timeline:
    """One chart a quantity, one line a policy."""
    if not policies:
        return Timeline()
    step_s = comparison.step_s
    unit, per_s = latency_unit(comparison.threshold_s)
    made = comparison.provenance.figures
    colours = distinct_colours([policy.policy for policy in policies])
    lines: dict[str, Polyline] = {}

    def drawn(
        chart: str, read: Callable[[Series], Sequence[float | None]], stepped: bool
    ) -> tuple[ChartLine, ...]:
        found = []
        for policy in policies:
            key = f"{chart}/{policy.policy}"
            lines[key] = polyline(read(policy.series), step_s, stepped)
            strong = " strong" if policy.policy == OWN else ""
            style = f"{colours[policy.policy]}{strong}"
            found.append(ChartLine(key, policy.policy, style, stepped=stepped))
        return tuple(found)

    arrivals = policies[0].series.arrivals_per_s
    lines["arrivals/arrivals"] = polyline(arrivals, step_s)
    shown = [ChartLine("arrivals/arrivals", "arrivals", "quiet", filled=True)]
    forecaster = _forecaster(policies)
    if forecaster is not None:
        lines["arrivals/forecast"] = polyline(forecaster.series.expected_per_s, step_s)
        style = f"{colours[forecaster.policy]} strong"
        shown.append(ChartLine("arrivals/forecast", "forecast", style))
    charts = (
        Chart(
            id="arrivals",
            title="Arrivals and forecast",
            note=f"items per second, {made}",
            lines=tuple(shown),
            remark=_forecast_quality(forecaster),
        ),
        Chart(
            id="executors",
            title="Executors",
            note=f"running, {made}",
            integers=True,
            lines=drawn("executors", lambda series: series.executors, stepped=True),
            remark="As they ran in each step.",
        ),
        Chart(
            id="frequency",
            title="Frequency",
            note=f"GHz, {made}",
            near=True,
            lines=drawn(
                "frequency", lambda s: [khz / 1e6 for khz in s.frequency_khz], stepped=True
            ),
        ),
        Chart(
            id="latency",
            title="Latency",
            note=f"{unit}, {made}",
            logarithmic=True,
            limit=ChartLimit("threshold", comparison.threshold_s * per_s),
            lines=drawn(
                "latency",
                lambda series: [None if s is None else s * per_s for s in series.latency_s],
                stepped=False,
            ),
            remark="Mean of each step; a gap is a step without a result.",
        ),
        Chart(
            id="violations",
            title="Violations",
            note=f"steps above {seconds(comparison.threshold_s, 4)}, {made}",
            strips=True,
            lines=drawn(
                "violations",
                lambda series: _marks(series, comparison.threshold_s),
                stepped=False,
            ),
        ),
        Chart(
            id="power",
            title="Power",
            note=f"W, {comparison.provenance.power}",
            lines=drawn("power", lambda series: series.power_w, stepped=True),
        ),
    )
    return Timeline(charts, lines, max(len(arrivals), 1) * step_s)


def _forecaster(policies: Sequence[PolicyRuns]) -> PolicyRuns | None:
    """Arrivals are the same for all; the forecast is that of the first policy that has one."""
    return next(
        (one for one in policies if any(value is not None for value in one.series.expected_per_s)),
        None,
    )


def _marks(series: Series, threshold_s: float) -> list[float | None]:
    found = set(violating_steps(series, threshold_s))
    return [1.0 if step in found else None for step in range(len(series.arrivals_per_s))]


def _forecast_quality(forecaster: PolicyRuns | None) -> str:
    words = "The shaded area is what arrived."
    if forecaster is None:
        return words
    series = forecaster.series
    pairs = [
        (expected, arrived)
        for expected, arrived in zip(series.expected_per_s, series.arrivals_per_s, strict=False)
        if expected is not None
    ]
    arrived = fmean(pair[1] for pair in pairs)
    if arrived <= 0:
        return words
    error = fmean(abs(expected - actual) for expected, actual in pairs) / arrived
    under = fmean(expected < actual for expected, actual in pairs)
    return (
        f"{words} The line is what {forecaster.policy} expected for the step when it decided: "
        f"mean absolute error {percent(error)} of the mean rate, too low in {percent(under)} "
        f"of the steps."
    )


def violating_steps(series: Series, threshold_s: float) -> tuple[int, ...]:
    """Steps above the threshold, and those in which work arrived and nothing came out."""
    return tuple(
        step
        for step, (latency_s, arrivals_per_s) in enumerate(
            zip(series.latency_s, series.arrivals_per_s, strict=False)
        )
        if (arrivals_per_s > 0 if latency_s is None else latency_s > threshold_s)
    )
