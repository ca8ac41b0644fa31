"""The Grafana dashboard and the alert rules for Prometheus, from the declared metrics.

`python -m runtime.documents` writes them to examples/monitoring. What hosts' agents expose is asked
for by name (`runtime/agent/service/metrics.py`).
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from mpc.events import EventKind
from runtime.kubernetes.yaml_text import Value, yaml_text
from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.metric import PREFIX, Catalogue, Metric

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_SELECTED = '{job=~"$job",instance=~"$instance"}'
_UNITS = {"items/s": "cps", "s": "s", "Hz": "hertz", "W": "watt", "J": "joule"}
_STEPPED = {"lineInterpolation": "stepAfter"}
Target = tuple[str, str]
"""A query and the legend of its results."""


@dataclass(frozen=True, slots=True)
class PanelLook:
    """Where a panel of Grafana is not an ordinary one."""

    unit: str | None = None
    description: str = ""
    custom: dict[str, Any] | None = None


_LOOKS = {
    "Arrival rate": PanelLook(description="Items per second."),
    "Late steps": PanelLook("percentunit"),
    "Executors": PanelLook(
        description="Plan, requested and observed are three different things.", custom=_STEPPED
    ),
    "CPU frequency": PanelLook(custom=_STEPPED),
    "Energy per hour": PanelLook("watth"),
    "Cost of the plan": PanelLook(custom={"stacking": {"mode": "normal"}, "fillOpacity": 40}),
    "Agents as the controller sees them": PanelLook(custom=_STEPPED),
    "Hosts: frequency limits": PanelLook("hertz", custom=_STEPPED),
    "Hosts: power": PanelLook("watt"),
}
_HOST_PANELS: dict[str, tuple[Target, ...]] = {
    "Hosts: frequency limits": (
        ("foresight_agent_frequency_limit_hertz", "{{instance}} {{policy}} in force"),
        ("foresight_agent_frequency_requested_hertz", "{{instance}} {{policy}} requested"),
    ),
    "Hosts: power": (
        ("rate(foresight_agent_host_energy_joules_total[1m])", "{{instance}} {{source}}"),
    ),
    "Hosts: drift and problems": (
        ("foresight_agent_drifted_policies", "{{instance}} drifted policies"),
        ("foresight_agent_problem", "{{instance}} problem"),
    ),
}


def query_of(metric: Metric, template: str, catalogue: Catalogue, selector: str) -> str:
    """`{}` is the metric with the selector, `{name}` another one, `{selector}` the selector."""

    def filled(match: re.Match[str]) -> str:
        word = match.group(1)
        if not word:
            return metric.exposed_name + selector
        return selector if word == "selector" else catalogue[word].exposed_name

    return re.sub(r"\{(\w*)\}", filled, template)


def grafana_dashboard(catalogue: Catalogue = CATALOGUE) -> str:
    """A panel for each that metrics name, and those of the hosts."""
    panels: dict[str, list[Target]] = {}
    units: dict[str, str] = {}
    for metric in catalogue.metrics:
        if metric.panel is not None:
            query = query_of(metric, metric.query, catalogue, _SELECTED)
            panels.setdefault(metric.panel, []).append((query, metric.legend or metric.name))
            units.setdefault(metric.panel, _UNITS.get(metric.unit, "short"))
    panels.update({title: list(targets) for title, targets in _HOST_PANELS.items()})
    document = {
        "title": "Foresight",
        "uid": "foresight",
        "tags": ["foresight", "spark"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "timezone": "browser",
        "refresh": "5s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": _variables()},
        "annotations": {"list": [_scaling(catalogue)]},
        "panels": [
            _panel(index, title, units.get(title, "short"), targets)
            for index, (title, targets) in enumerate(panels.items())
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _variables() -> list[dict[str, Any]]:
    def values(name: str) -> dict[str, Any]:
        query = f"label_values({PREFIX}_info, {name})"
        return {
            "name": name,
            "label": name.capitalize(),
            "type": "query",
            "datasource": _SOURCE,
            "query": {"query": query, "refId": "A"},
            "definition": query,
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "current": {"text": "All", "value": "$__all"},
        }

    source = {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
    }
    return [source, values("job"), values("instance")]


def _scaling(catalogue: Catalogue) -> dict[str, Any]:
    kinds = f"{EventKind.SCALED_OUT}|{EventKind.SCALED_IN}"
    name = catalogue["events"].exposed_name
    selected = f'{_SELECTED[:-1]},kind=~"{kinds}"}}'
    return {
        "name": "Scaling",
        "datasource": _SOURCE,
        "enable": True,
        "iconColor": "blue",
        "expr": f"increase({name}{selected}[1m]) > 0",
        "titleFormat": "{{kind}}",
    }


def _panel(index: int, title: str, unit: str, targets: list[Target]) -> dict[str, Any]:
    look = _LOOKS.get(title, PanelLook())
    defaults = {"unit": look.unit or unit, "min": 0, "custom": look.custom or {}}
    return {
        "id": index + 1,
        "title": title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": {"x": 12 * (index % 2), "y": 8 * (index // 2), "w": 12, "h": 8},
        "description": look.description,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi"},
        },
        "targets": [
            {"refId": chr(65 + place), "datasource": _SOURCE, "expr": query, "legendFormat": legend}
            for place, (query, legend) in enumerate(targets)
        ],
    }


@dataclass(frozen=True, slots=True)
class Alert:
    """`{name}` in an expression is the full name of a metric."""

    name: str
    expression: str
    summary: str
    description: str
    lasting: str | None = None
    """For how long it must hold."""
    severity: str = "warning"


ALERTS = (
    Alert(
        "ForesightLatencyAboveTarget",
        "increase({late_steps}[5m])\n  / increase({step_duration_seconds}_count[5m]) > 0.05",
        "{{ $labels.instance }}: more than 5 % of the steps are above the latency target",
        "See the page for what holds it back; at_maximum means that nothing is left to add.",
        "5m",
    ),
    Alert(
        "ForesightAtMaximum",
        f'increase({{events}}{{{{kind="{EventKind.AT_MAXIMUM}"}}}}[5m]) > 0',
        "{{ $labels.instance }}: above the target with every executor at the highest frequency",
        "Raise executors.max or spark.cores.max, or relax slo.latency_ms.",
        "5m",
    ),
    Alert(
        "ForesightMeasurementsStale",
        "{measurement_age_seconds}\n  > 10 * {step_seconds} + 50",
        "{{ $labels.instance }}: no arrivals measured for {{ $value | humanizeDuration }}",
        "Nothing is scaled in meanwhile. Look for a batch that does not end.",
        "1m",
    ),
    Alert(
        "ForesightControllerSilent",
        "time() - {last_step_timestamp_seconds}\n  > 10 * {step_seconds} + 50",
        "{{ $labels.instance }}: no control step for {{ $value | humanizeDuration }}",
        "Executors stay as they are, and the hosts get their frequencies back.",
        severity="critical",
    ),
    Alert(
        "ForesightAgentLost",
        "{agent_reachable} == 0",
        "{{ $labels.host }}: its agent does not answer {{ $labels.instance }}",
        "The host has its own frequency back; its power is not known.",
        "1m",
    ),
    Alert(
        "ForesightPlanNotApplied",
        "{unapplied_seconds}\n  > on (job, instance) group_left ()\n"
        "    (3 * {dead_time_seconds} + 60)",
        "{{ $labels.instance }}: {{ $labels.knob }} not as requested for "
        "{{ $value | humanizeDuration }}",
        "The cluster manager does not give executors, or an agent refuses the frequency.",
    ),
    Alert(
        "ForesightHostDrifted",
        "foresight_agent_drifted_policies > 0",
        "{{ $labels.instance }}: somebody else changes the frequency limits of this host",
        "The agent leaves them alone. Stop the other writer: foresight doctor names it.",
        "1m",
    ),
    Alert(
        "ForesightAgentProblem",
        "foresight_agent_problem == 1",
        "{{ $labels.instance }}: the agent reports a problem",
        "foresight agent status tells which.",
        "5m",
    ),
)


def alert_rules(catalogue: Catalogue = CATALOGUE) -> str:
    names = {metric.name: metric.exposed_name for metric in catalogue.metrics}
    rules: list[Value] = [
        {
            "alert": alert.name,
            "expr": alert.expression.format(**names),
            **({} if alert.lasting is None else {"for": alert.lasting}),
            "labels": {"severity": alert.severity},
            "annotations": {"summary": alert.summary, "description": alert.description},
        }
        for alert in ALERTS
    ]
    return (
        "# Alert rules for Prometheus: `rule_files: [alerts.yml]`.\n"
        "# The controller serves /metrics beside its page ([web]); agents serve theirs "
        "([agent] listeners).\n" + yaml_text({"groups": [{"name": "foresight", "rules": rules}]})
    )
