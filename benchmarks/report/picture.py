"""The most telling picture of a comparison as a standalone SVG, for a README: the curve of
violations against power, and beside it how the load and the power went over time."""

from pathlib import Path

from benchmarks.report.statistics import by_policy
from benchmarks.report.timeline import drawn_policies, panels
from benchmarks.report.tradeoff import tradeoff_svg
from benchmarks.results import Comparison
from runtime.report.frame import Frame, drawing, text
from runtime.report.markup import Markup, element
from runtime.report.panel import panel_svg
from runtime.report.style import LIGHT, chart_css, distinct_colours
from runtime.report.text import duration, plural

WHOLE = Frame(1000, 560, 0, 0, 0, 0)
CURVE = Frame(570, 472, left=40, right=16, top=36, bottom=46)
SMALL = Frame(400, 218, left=40, right=100, top=10, bottom=42)


def write_svg(comparison: Comparison, path: Path) -> None:
    path.write_text(render_svg(comparison), encoding="utf-8")


def render_svg(comparison: Comparison) -> str:
    policies = by_policy(comparison.runs)
    repetitions = max((len(policy.rows) for policy in policies.values()), default=0)
    title = f"Violations against power, {comparison.scenario} ({comparison.provenance.figures})"
    facts = (
        f"{comparison.source}; threshold {duration(comparison.threshold_s)}; "
        f"{plural(repetitions, 'repetition')}"
    )
    parts: list[str] = [
        element("style", Markup(chart_css(LIGHT))),
        element("rect", width=WHOLE.width, height=WHOLE.height, fill=LIGHT["page"]),
        text(24, 32, title, "title"),
        text(24, 52, facts),
    ]
    curve = tradeoff_svg(comparison, CURVE)
    if curve is not None:
        parts.append(_at(10, 74, CURVE, curve))
    drawn = drawn_policies(policies)
    if drawn:
        colours = distinct_colours([policy.policy for policy in drawn])
        shown = [
            panel
            for panel in panels(comparison, drawn, colours)
            if panel.key in {"arrivals", "power"}
        ]
        for row, panel in enumerate(shown):
            top = 92 + row * 240
            parts.append(text(640, top - 8, f"{panel.title} ({panel.unit})", "caption"))
            parts.append(_at(600, top, SMALL, panel_svg(panel, comparison.step_s, SMALL)))
    picture = drawing(WHOLE, title, *parts, width=f"{WHOLE.width:g}", height=f"{WHOLE.height:g}")
    return f"{picture}\n"


def _at(x: float, y: float, frame: Frame, inner: Markup) -> Markup:
    """A drawing inside the picture, in its own size."""
    return element("svg", inner, x=x, y=y, width=frame.width, height=frame.height)
