"""The Grafana dashboard, from the declared metrics and the template `grafana.yaml`.

`python -m runtime.documents` writes it to examples/monitoring. What hosts' agents expose is asked
for by name (`runtime/agent/service/metrics.py`).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from mpc.events import EventKind
from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.metric import PREFIX, Catalogue, Metric
from runtime.yaml_text import Fillings, Value, filled_documents

_SOURCE: Mapping[str, Value] = {"type": "prometheus", "uid": "${datasource}"}
_SELECTED = '{job=~"$job",instance=~"$instance"}'
_UNITS = {"items/s": "cps", "s": "s", "Hz": "hertz", "W": "watt", "J": "joule"}
_STEPPED: Mapping[str, Value] = {"lineInterpolation": "stepAfter"}
Target = tuple[str, str]
"""A query and the legend of its results."""


@dataclass(frozen=True, slots=True)
class PanelLook:
    """Where a panel of Grafana is not an ordinary one."""

    unit: str | None = None
    description: str = ""
    custom: Mapping[str, Value] | None = None


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
        if (panel := metric.panel) is not None:
            query = query_of(metric, panel.query, catalogue, _SELECTED)
            panels.setdefault(panel.title, []).append((query, panel.legend))
            units.setdefault(panel.title, _UNITS.get(metric.unit, "short"))
    panels.update({title: list(targets) for title, targets in _HOST_PANELS.items()})
    kinds = f"{EventKind.SCALED_OUT}|{EventKind.SCALED_IN}"
    scaling = f'{catalogue["events"].exposed_name}{_SELECTED[:-1]},kind=~"{kinds}"}}'
    text = (files("runtime.metrics") / "grafana.yaml").read_text(encoding="utf-8")
    fillings: Fillings = {
        "source": _SOURCE,
        "info": f"{PREFIX}_info",
        "scaling": f"increase({scaling}[1m]) > 0",
        "panels": [
            _panel(index, title, units.get(title, "short"), targets)
            for index, (title, targets) in enumerate(panels.items())
        ],
    }
    (document,) = filled_documents(text, fillings)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _panel(index: int, title: str, unit: str, targets: list[Target]) -> dict[str, Value]:
    look = _LOOKS.get(title, PanelLook())
    defaults: Mapping[str, Value] = {
        "unit": look.unit or unit,
        "min": 0,
        "custom": look.custom or {},
    }
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
