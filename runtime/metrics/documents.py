"""The tables of the documentation that list metrics and events, from their declarations."""

from collections.abc import Iterable

from mpc.events import DescribedEvent, EventKind
from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.metric import Catalogue, Metric

GENERATED = "<!-- Written by `make docs`; do not edit. -->"


def metrics_page(catalogue: Catalogue = CATALOGUE) -> str:
    rows = "\n".join(_metric_row(metric) for metric in catalogue.metrics)
    return f"""{GENERATED}
# Metrics

What a controller exposes at `/metrics`. Counters begin with the process; what is not known has no
sample. What is reported when a batch ends keeps its last value until the next.
[dashboard.md](dashboard.md) tells how to look at it, `examples/monitoring` has a Grafana dashboard
and alert rules. `foresight_controller_info` names the application, its policy and its mode.

| metric | type | unit | label | chart | meaning |
|---|---|---|---|---|---|
{rows}
"""


def _metric_row(metric: Metric) -> str:
    charts = ", ".join(dict.fromkeys(curve.chart for curve in metric.curves))
    label = "" if metric.label is None else f"`{metric.label}`"
    cells = (f"`{metric.exposed_name}`", metric.type, metric.unit, label, charts, metric.help)
    return f"| {' | '.join(cells)} |"


def events_page(kinds: Iterable[DescribedEvent] = EventKind) -> str:
    rows = "\n".join(_event_row(kind) for kind in kinds)
    return f"""{GENERATED}
# Events

What can happen in a control step, as the journal, the log, the page and
`foresight_controller_events_total` name it. A *guard* keeps the controller from what the policy
decided, or the cluster from following it.

| event | severity | guard | meaning | what to do |
|---|---|---|---|---|
{rows}
"""


def _event_row(kind: DescribedEvent) -> str:
    guard = "yes" if kind.is_guard else ""
    cells = (f"`{kind.value}`", kind.severity.value, guard, kind.words, kind.advice)
    return f"| {' | '.join(cells)} |"
