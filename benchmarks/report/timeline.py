"""The first repetition step by step: what arrived, what each policy did, and what came of it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from benchmarks.report.findings import OWN
from benchmarks.report.statistics import PolicyRuns
from benchmarks.results import Comparison, Series
from runtime.report.figures import NARROW, WIDE, figure, read_out
from runtime.report.frame import Frame
from runtime.report.markup import Markup, element, join
from runtime.report.panel import Line, Panel, Strip, strips_svg
from runtime.report.style import distinct_colours
from runtime.report.text import duration, latency_unit, percent

MAIN_POLICIES = (OWN, "lat-power-h2", "lat-node-h2", "peak")
MOST_LINES = 4


def drawn_policies(policies: dict[str, PolicyRuns]) -> list[PolicyRuns]:
    """The main ones first, then others until there are enough."""
    recorded = [name for name, policy in policies.items() if policy.series.arrivals_per_s]
    names = [name for name in MAIN_POLICIES if name in recorded]
    names += [name for name in recorded if name not in names]
    return [policies[name] for name in names[:MOST_LINES]]


def timeline(comparison: Comparison, policies: Sequence[PolicyRuns]) -> Markup:
    """A legend, one figure a quantity, and the data for reading values under the pointer."""
    colours = distinct_colours([policy.policy for policy in policies])
    shown = panels(comparison, policies, colours)
    figures = []
    for panel in shown:
        figures.append(figure(panel, comparison.step_s, _remark(panel, policies)))
        if panel.key == "latency":
            figures.append(_violations(comparison, policies, colours))
    legend = element(
        "p",
        *(
            element("span", element("span", class_=f"swatch bg-{colours[policy.policy]}"), name)
            for policy in policies
            for name in (policy.policy,)
        ),
        class_="legend",
    )
    data = element(
        "script", read_out(shown, comparison.step_s), type="application/json", id="read-out"
    )
    return join([legend, *figures, data])


def panels(
    comparison: Comparison, policies: Sequence[PolicyRuns], colours: dict[str, str]
) -> list[Panel]:
    unit, per_s = latency_unit(comparison.threshold_s)
    made = comparison.provenance.figures

    def lines(values: Sequence[tuple[float | None, ...]]) -> tuple[Line, ...]:
        return tuple(
            Line(policy.policy, colours[policy.policy], own, strong=policy.policy == OWN)
            for policy, own in zip(policies, values, strict=True)
        )

    return [
        _arrivals(made, policies, colours),
        Panel(
            "executors",
            "Executors",
            "running",
            made,
            lines([policy.series.executors for policy in policies]),
            stepped=True,
            from_zero=True,
        ),
        Panel(
            "frequency",
            "Frequency",
            "GHz",
            made,
            lines([tuple(khz / 1e6 for khz in policy.series.frequency_khz) for policy in policies]),
            stepped=True,
        ),
        Panel(
            "latency",
            "Latency",
            unit,
            made,
            lines(
                [
                    tuple(None if s is None else s * per_s for s in policy.series.latency_s)
                    for policy in policies
                ]
            ),
            may_be_log=True,
            from_zero=True,
            threshold=comparison.threshold_s * per_s,
        ),
        Panel(
            "power",
            "Power",
            "W",
            comparison.provenance.power,
            lines([policy.series.power_w for policy in policies]),
            stepped=True,
            from_zero=True,
        ),
    ]


def _arrivals(made: str, policies: Sequence[PolicyRuns], colours: dict[str, str]) -> Panel:
    """Arrivals are the same for all; the forecast is that of the first policy that has one."""
    arrivals = policies[0].series.arrivals_per_s
    forecaster = next(
        (
            policy
            for policy in policies
            if any(value is not None for value in policy.series.expected_per_s)
        ),
        None,
    )
    forecast = (
        (
            Line(
                "forecast",
                colours[forecaster.policy],
                forecaster.series.expected_per_s,
                strong=True,
            ),
        )
        if forecaster
        else ()
    )
    return Panel(
        "arrivals",
        "Arrivals and forecast",
        "items per second",
        made,
        (Line("arrivals", "quiet", arrivals), *forecast),
        background=arrivals,
        from_zero=True,
    )


def _remark(panel: Panel, policies: Sequence[PolicyRuns]) -> str:
    """What the chart shows, and for the forecast how good it was."""
    match panel.key:
        case "arrivals":
            return _forecast_quality(policies)
        case "executors":
            return "As they ran in each step; lines at the same value are drawn side by side."
        case "latency":
            return "Mean of each step; a gap is a step without a result."
        case _:
            return ""


def _forecast_quality(policies: Sequence[PolicyRuns]) -> str:
    words = "The shaded area is what arrived."
    for policy in policies:
        pairs = [
            (expected, arrived)
            for expected, arrived in zip(
                policy.series.expected_per_s, policy.series.arrivals_per_s, strict=False
            )
            if expected is not None and math.isfinite(expected)
        ]
        if not pairs:
            continue
        arrived = fmean(pair[1] for pair in pairs)
        if arrived <= 0:
            return words
        error = fmean(abs(expected - actual) for expected, actual in pairs) / arrived
        under = fmean(expected < actual for expected, actual in pairs)
        return (
            f"{words} The line is what {policy.policy} expected for the step when it decided: "
            f"mean absolute error {percent(error)} of the mean rate, too low in {percent(under)} "
            f"of the steps."
        )
    return words


def _violations(
    comparison: Comparison, policies: Sequence[PolicyRuns], colours: dict[str, str]
) -> Markup:
    strips = [
        Strip(
            policy.policy,
            colours[policy.policy],
            violating_steps(policy.series, comparison.threshold_s),
        )
        for policy in policies
    ]
    steps = max(len(policy.series.arrivals_per_s) for policy in policies)
    height = 12 + 18 * len(strips)

    def drawn(frame: Frame) -> Markup:
        return strips_svg(strips, steps, comparison.step_s, comparison.provenance.figures, frame)

    return element(
        "figure",
        element(
            "figcaption",
            element("strong", "Violations"),
            " ",
            element(
                "span",
                f"steps above {duration(comparison.threshold_s)}, {comparison.provenance.figures}",
                class_="unit",
            ),
        ),
        element("div", drawn(replace(WIDE, height=height, top=4, bottom=8)), class_="wide"),
        element("div", drawn(replace(NARROW, height=height, top=4, bottom=8)), class_="narrow"),
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
