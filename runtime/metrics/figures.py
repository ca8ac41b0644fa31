"""The figures at a glance, for the page and for `foresight top`: one for each that is declared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.metrics.lines import values_in_force
from runtime.metrics.metric import Glance, Metric
from runtime.metrics.points import StepPoint
from runtime.metrics.state import RunState
from runtime.metrics.view import View
from runtime.report.text import Format


@dataclass(frozen=True, slots=True)
class GlanceFigure:
    """Of a total, `value` is the rise over the history; the page takes the rise in view."""

    name: str
    """Of the metric."""
    title: str
    format: Format
    value: float | None
    note: str
    mood: Literal["good", "bad", ""]
    total: str | None = None
    """The line with its running total."""
    share_of: str | None = None
    """The line with the running total of which it is a share."""
    out_of: float | None = None


def figures_of(state: RunState, view: View) -> tuple[GlanceFigure, ...]:
    if view.last is None:
        return ()
    return tuple(
        _figure(metric, metric.glance, state, view)
        for metric in state.catalogue.metrics
        if metric.glance is not None
    )


def _figure(metric: Metric, glance: Glance, state: RunState, view: View) -> GlanceFigure:
    if metric.type == "counter":
        return _total(metric, glance, state.points, view)
    value = _last(metric, glance, state, view)
    limit = glance.limit(view.facts)
    mood: Literal["good", "bad", ""] = ""
    if value is not None and limit is not None:
        mood = "bad" if value > limit else "good"
    return GlanceFigure(metric.name, glance.title, glance.format, value, glance.note(view), mood)


def _last(metric: Metric, glance: Glance, state: RunState, view: View) -> float | None:
    if glance.take is not None:
        return glance.take(view)
    if metric.by_batch:
        curve = next(curve for curve in metric.curves if curve.key == glance.curve)
        return values_in_force(metric, curve, state.points)[-1]
    return metric.values(view).get(glance.of)


def _total(metric: Metric, glance: Glance, points: Sequence[StepPoint], view: View) -> GlanceFigure:
    def rise(name: str) -> float:
        return points[-1].values[name] - points[0].values[name]

    shared = glance.share_of
    value = rise(metric.name) if glance.known(view) else None
    return GlanceFigure(
        metric.name,
        glance.title,
        glance.format,
        value,
        glance.note(view),
        "bad" if shared is not None and value else "",
        metric.name,
        shared,
        None if shared is None else rise(shared),
    )
