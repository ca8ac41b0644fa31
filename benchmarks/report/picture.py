"""The most telling picture of a comparison as an SVG, for a README: the curve of violations against
power, and beside it how the load and the power went over time.

Drawn by matplotlib, which only development needs; everything else shows charts in a browser.
"""

from io import StringIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.report.colours import distinct_colours
from benchmarks.report.timeline import drawn_policies
from benchmarks.report.tradeoff import tradeoff
from benchmarks.results import Comparison
from benchmarks.statistics import PolicyRuns, by_policy
from mpc.values import FloatArray
from runtime.report.charts import Scatter, ScatterPoint
from runtime.report.text import plural, seconds

COLOURS = {
    "blue": "#0067a5",
    "vermillion": "#c75200",
    "green": "#00805d",
    "purple": "#a8568a",
    "orange": "#9a6b00",
    "sky": "#2f86b8",
    "ink": "#1a1f26",
    "quiet": "#5b6672",
}

LABEL_HEIGHTS = (5.0, 17.0, 29.0, 41.0, 53.0, 65.0, 77.0)
"""Where a name may stand above its point; a thin line leads to it."""


def render_svg(comparison: Comparison) -> str:
    """The same comparison gives the same bytes."""
    policies = by_policy(comparison.runs)
    repetitions = max((len(policy.rows) for policy in policies.values()), default=0)
    # Text stays text, and the identifiers in the file do not change from run to run.
    options: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "foresight", "font.size": 9}
    with matplotlib.rc_context(options):
        figure = Figure(figsize=(10, 5.6), layout="constrained")
        made = comparison.provenance.figures
        figure.suptitle(
            f"Violations against power, {comparison.scenario} ({made})\n{comparison.source}; "
            f"threshold {seconds(comparison.threshold_s, 4)}; {plural(repetitions, 'repetition')}",
            fontsize=10,
        )
        parts: Any = figure.subfigures(1, 2, width_ratios=(57, 43))
        scatter = tradeoff(comparison)
        drawn_on: Axes | None = None
        if scatter is not None:
            drawn_on = parts[0].subplots()
            _draw_tradeoff(drawn_on, scatter)
        shown = drawn_policies(policies)
        if shown:
            arrivals, power = parts[1].subplots(2, 1, sharex=True)
            _draw_timeline(arrivals, power, shown, comparison)
        if scatter is not None and drawn_on is not None:
            figure.draw_without_rendering()  # now everything is where it stays
            _name(drawn_on, [*scatter.points, *scatter.curve[:1], *scatter.curve[1:][-1:]])
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    drawn = file.getvalue()
    return drawn[drawn.index("<svg") :]


def _draw_tradeoff(axes: Axes, scatter: Scatter) -> None:
    every = (*scatter.points, *scatter.curve)
    highest, powers = max(point.y for point in every), [point.x for point in every]
    margin = 0.06 * (max(powers) - min(powers)) or 1.0
    if scatter.bound:
        bound = [*scatter.bound]
        if (least := bound[-1][1]) > 0:
            bound.append((max(powers) + margin, least))
        edge = np.asarray(bound)
        axes.plot(edge[:, 0], edge[:, 1], "--", color=COLOURS["quiet"], linewidth=1.2)
        axes.fill_between(edge[:, 0], edge[:, 1], color=COLOURS["quiet"], alpha=0.1)
        powers += [power_w for power_w, violations in bound if violations <= highest][:1]
    axes.set_xlim(min(powers) - margin, max(powers) + margin)
    axes.set_yscale("function", functions=(_root, _square))
    axes.set_ylim(0, max(highest * 1.1, 1.0))
    axes.set_xlabel(scatter.x_title)
    axes.set_ylabel(f"{scatter.y_title}, square-root scale")
    _plain(axes)
    if scatter.curve:
        line = np.asarray([(point.x, point.y) for point in scatter.curve])
        colour = COLOURS[scatter.curve[0].style]
        axes.plot(line[:, 0], line[:, 1], "o-", color=colour, linewidth=2, markersize=4)
    for point in scatter.points:
        size = 9 if point.strong else 7
        axes.plot([point.x], [point.y], "o", color=COLOURS[point.style], markersize=size)


def _name(axes: Axes, points: list[ScatterPoint]) -> None:
    """Beside each point, at the first place where there is neither a point nor another name."""
    places = axes.transData.transform([(point.x, point.y) for point in points])
    places *= 72 / axes.figure.dpi
    taken = [(x - 4.0, y - 4.0, x + 4.0, y + 4.0) for x, y in places]
    for point, (x, y) in zip(points, places, strict=True):
        width = 5.4 * len(point.name)
        sides = [(dx, dy) for dy in LABEL_HEIGHTS for dx in (7.0, -7.0 - width)]
        boxes = [(x + dx, y + dy, x + dx + width, y + dy + 9.0) for dx, dy in sides]
        free = [
            index
            for index, box in enumerate(boxes)
            if not any(
                box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
                for other in taken
            )
        ]
        chosen = free[0] if free else 0
        taken.append(boxes[chosen])
        axes.annotate(
            point.name,
            (point.x, point.y),
            sides[chosen],
            textcoords="offset points",
            color=COLOURS[point.style],
            fontsize=9,
            arrowprops={"arrowstyle": "-", "color": COLOURS[point.style], "linewidth": 0.5},
        )


def _draw_timeline(
    arrivals: Axes, power: Axes, policies: list[PolicyRuns], comparison: Comparison
) -> None:
    colours = distinct_colours([policy.policy for policy in policies])
    first = policies[0].series
    times = [(step + 0.5) * comparison.step_s for step in range(len(first.arrivals_per_s))]
    arrivals.fill_between(times, first.arrivals_per_s, color=COLOURS["quiet"], alpha=0.2)
    arrivals.set_title("Arrivals (items per second)", loc="left", fontsize=9)
    arrivals.set_ylim(bottom=0)
    for policy in policies:
        colour = COLOURS[colours[policy.policy]]
        begins = [step * comparison.step_s for step in range(len(policy.series.power_w))]
        power.step(
            begins,
            policy.series.power_w,
            where="post",
            color=colour,
            linewidth=1.2,
            label=policy.policy,
        )
    power.set_title(f"Power (W), {comparison.provenance.power}", loc="left", fontsize=9)
    power.set_ylim(bottom=0)
    power.set_xlabel("time (s)")
    power.legend(fontsize=7.5, frameon=False, ncols=2)
    for axes in (arrivals, power):
        _plain(axes)


def _plain(axes: Axes) -> None:
    axes.grid(color="#eceff2")
    axes.spines[["top", "right"]].set_visible(False)


def _root(values: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(values, 0.0))


def _square(values: FloatArray) -> FloatArray:
    return np.square(values)
