"""What the declaration of a metric says, and how values are taken by it.

Prometheus, the page's data, the terminal, reports, the Grafana file and the documentation iterate
over declarations; none of them knows a metric by name.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from runtime.metrics.facts import Facts
from runtime.metrics.view import View
from runtime.report.charts import Chart, ChartLine
from runtime.report.text import Format

PREFIX = "foresight_controller"
Taken = float | None | Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a chart that a metric is drawn as."""

    chart: str
    name: str
    style: str
    of: str = ""
    """Which value of the metric's label."""
    stepped: bool = False
    take: Callable[[View], float | None] | None = None
    """Where what is drawn is not the metric's value itself."""
    ahead: Callable[[View], Sequence[float | None]] | None = None
    """What it will be, from this step on."""
    hidden: bool = False
    """The edge of a band, or marks: no line of its own."""
    main: bool = False
    """What is compared where two runs share a chart."""

    @property
    def key(self) -> str:
        return f"{self.chart}/{self.name}"


@dataclass(frozen=True, slots=True)
class Glance:
    """A figure of the strip on the page and of `foresight top`."""

    title: str
    format: Format = "number"
    of: str = ""
    take: Callable[[View], float | None] | None = None
    """Where the figure is not the metric's value itself."""
    note: Callable[[View], str] = lambda _: ""
    known: Callable[[View], bool] = lambda _: True
    """Whether a total says something."""
    limit: Callable[[Facts], float | None] = lambda _: None
    """Above it the figure is bad, below it good."""
    share_of: str | None = None
    """Another counter, of which this one counts a share."""
    curve: str | None = None
    """The lines drawn beside it in a terminal, as a pattern of keys."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Where Grafana shows a metric; those with the same title share a panel."""

    title: str
    legend: str
    query: str = "{}"
    """What is asked of Prometheus; `{}` is the metric itself, `{name}` another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    name: str
    """With its unit; Prometheus puts `foresight_controller_` before it."""
    unit: str
    """As people write it; empty for a count."""
    help: str
    take: Callable[[View], Taken]
    """The value in a step, by the value of its label if it has one; for a counter the increase."""
    type: Literal["gauge", "counter", "summary"] = "gauge"
    label: str | None = None
    label_values: tuple[str, ...] = ()
    """Those that are shown from the start, at 0."""
    before_steps: bool = False
    """Known before the first step."""
    by_batch: bool = False
    """Reported when a batch ends: in between, the last value stays."""
    aged: bool = False
    """Belongs to the time that arrivals were counted over, which is before the step."""
    curves: tuple[Curve, ...] = ()
    glance: Glance | None = None
    panel: Panel | None = None

    @property
    def full_name(self) -> str:
        return f"{PREFIX}_{self.name}"

    @property
    def exposed_name(self) -> str:
        """As a query must write it."""
        return f"{self.full_name}{'_total' if self.type == 'counter' else ''}"

    def values(self, view: View) -> dict[str, float]:
        """By label value, "" without a label; what is not known is left out."""
        if view.last is None and not self.before_steps:
            return {}
        taken = self.take(view)
        by_label = taken if isinstance(taken, Mapping) else {"": taken}
        return {
            label: float(value)
            for label, value in by_label.items()
            if value is not None and math.isfinite(value)
        }

    def drawn(self, curve: Curve, view: View) -> float | None:
        value = curve.take(view) if curve.take is not None else self.values(view).get(curve.of)
        return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The metrics in the order in which views show them, and the charts they are drawn in."""

    metrics: tuple[Metric, ...]
    charts: Callable[[Facts], tuple[Chart, ...]]

    def __getitem__(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)

    @property
    def curves(self) -> tuple[tuple[Metric, Curve], ...]:
        return tuple((metric, curve) for metric in self.metrics for curve in metric.curves)

    @property
    def totals(self) -> tuple[Metric, ...]:
        """Counters whose running total the history keeps: figures over a time need it."""
        glances = [metric.glance for metric in self.metrics if metric.glance is not None]
        shared = {glance.share_of for glance in glances}
        return tuple(
            metric
            for metric in self.metrics
            if metric.type == "counter" and (metric.glance is not None or metric.name in shared)
        )

    def drawn_charts(self, facts: Facts) -> tuple[Chart, ...]:
        """With the lines of the metrics that name them."""
        return tuple(
            replace(
                chart,
                lines=tuple(
                    ChartLine(curve.key, curve.name, curve.style, curve.stepped)
                    for _, curve in self.curves
                    if curve.chart == chart.id and not curve.hidden
                ),
            )
            for chart in self.charts(facts)
        )
