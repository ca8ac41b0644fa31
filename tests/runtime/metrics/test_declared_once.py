"""What is declared once appears everywhere: a metric, an event, an option."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from mpc.events import DescribedEvent, Meaning, Severity
from runtime.config.options import options
from runtime.config.render import commented_toml, option_tables
from runtime.config.strict import ConfigError, read_strictly
from runtime.control.journal import StepRecord
from runtime.insight.charts import drawing_of
from runtime.insight.journals import RecordedRun
from runtime.metrics.catalogue import CATALOGUE, events_metric
from runtime.metrics.decisions import shown_event
from runtime.metrics.documents import events_page, metrics_page
from runtime.metrics.facts import facts_of
from runtime.metrics.metric import Catalogue, Curve, Glance, Metric, Panel
from runtime.metrics.monitoring import grafana_dashboard
from runtime.metrics.state import RunState
from runtime.report.words import in_words
from runtime.web.auth import Access
from runtime.web.metrics import ControllerMetrics
from runtime.web.server import WebServer
from runtime.web.terminal import screen
from tests.runtime.web.client import ask, wait_for_step
from tests.runtime.web.recorded import config, write

Records = tuple[StepRecord, ...]

NODES = Metric(
    name="search_nodes",
    unit="",
    help="Nodes that the optimiser looked at.",
    take=lambda view: None if (plan := view.record.decision.plan) is None else plan.nodes,
    curves=(Curve("cost", "nodes", "measured"),),
    glance=Glance("Nodes", curve="cost/nodes"),
    panel=Panel("Search", "nodes"),
)
WITH_NODES = Catalogue((*CATALOGUE.metrics, NODES), CATALOGUE.charts)


def nodes_of(records: Records) -> list[int]:
    return [record.decision.plan.nodes for record in records if record.decision.plan is not None]


def test_a_metric_is_in_prometheus_and_in_the_data_of_the_page(
    records: Records, tmp_path: Path
) -> None:
    folder = write(tmp_path / "orders", records[:-1])
    facts = facts_of(config(), "orders")
    with WebServer(Access("127.0.0.1"), 0, facts, folder, catalogue=WITH_NODES) as server:
        server.publish(records[-1])
        wait_for_step(server.url, records[-1].measurement.step)
        exposed = ask(server.url, "/metrics").body.decode()
        state = ask(server.url, "/api/state").json()
    nodes = nodes_of(records)
    families = {each.name: each for each in text_string_to_metric_families(exposed)}
    family = families["foresight_controller_search_nodes"]
    assert family.documentation == NODES.help
    assert [sample.value for sample in family.samples] == [nodes[-1]]
    assert state["latest"]["metrics"]["search_nodes"] == {"": nodes[-1]}
    assert [pair[1] for pair in state["lines"]["cost/nodes"] if pair] == nodes
    (chart,) = (chart for chart in state["charts"] if chart["id"] == "cost")
    assert chart["lines"][-1]["name"] == "nodes"
    assert state["figures"][-1]["title"] == "Nodes"


def test_a_metric_is_in_top_reports_grafana_and_documentation(records: Records) -> None:
    state = RunState(facts_of(config(), "orders"), catalogue=WITH_NODES)
    for record in records:
        state.add(record)
    console = Console(width=120, file=StringIO())
    with console.capture() as captured:
        console.print(screen(state, records[-1].at_s, 120))
    (line,) = (line for line in captured.get().splitlines() if line.startswith("nodes"))
    assert f"{nodes_of(records)[-1]:,}" in line

    run = RecordedRun(Path("orders"), records, 0, ())
    drawn = drawing_of([run], ["orders"], WITH_NODES).lines["cost/nodes"]
    assert [pair[1] for pair in drawn if pair is not None] == nodes_of(records)

    panels = {
        panel["title"]: panel for panel in json.loads(grafana_dashboard(WITH_NODES))["panels"]
    }
    assert "foresight_controller_search_nodes{" in panels["Search"]["targets"][0]["expr"]
    assert f"| `foresight_controller_search_nodes` | gauge |  |  | cost | {NODES.help} |" in (
        metrics_page(WITH_NODES)
    )
    assert "search_nodes" not in metrics_page()


def test_every_curve_has_its_chart_and_no_name_is_taken_twice() -> None:
    charts = {chart.id for chart in CATALOGUE.charts(facts_of(config(), "orders"))}
    keys = [curve.key for _, curve in CATALOGUE.curves]
    names = [metric.name for metric in CATALOGUE.metrics]
    assert {curve.chart for _, curve in CATALOGUE.curves} <= charts
    assert len(keys) == len(set(keys)) and len(names) == len(set(names))


class SmallKind(DescribedEvent):
    """An enumeration with a kind that nobody else knows."""

    DISK_FULL = Meaning(
        "disk_full",
        "the disk is full",
        severity=Severity.WARNING,
        is_guard=True,
        advice="Delete something.",
    )


def test_an_event_is_in_page_log_prometheus_and_documentation(records: Records) -> None:
    kind = SmallKind.DISK_FULL
    assert in_words(kind, "/var") == "the disk is full: /var"
    shown = json.loads(msgspec.json.encode(shown_event(kind, "/var")))
    assert shown == {"kind": "disk_full", "words": in_words(kind, "/var"), "severity": "warning"}
    row = "| `disk_full` | warning | yes | the disk is full | Delete something. |"
    assert row in events_page(SmallKind)
    others = (metric for metric in CATALOGUE.metrics if metric.name != "events")
    catalogue = replace(CATALOGUE, metrics=(*others, events_metric(SmallKind)))
    metrics, state = (
        ControllerMetrics(catalogue),
        RunState(facts_of(config(), "o"), None, 2, catalogue),
    )
    state.add(records[0])
    metrics.observe(state)
    text = metrics.render(state, (), 0.0).decode()
    assert 'foresight_controller_events_total{kind="disk_full"} 0.0' in text


class Cooling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the machine room is cooled."""

    fan_rpm: Annotated[
        int,
        msgspec.Meta(ge=100, le=9000, description="Speed of the fans.", extra={"unit": "rpm"}),
    ] = 1200


class Room(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cooling: Cooling = Cooling()


def test_an_option_is_in_file_documentation_checks_and_command_line(tmp_path: Path) -> None:
    file = tmp_path / "room.toml"
    file.write_text(commented_toml(Room, "# A room.\n"))
    assert "# Speed of the fans." in file.read_text() and "fan_rpm = 1200" in file.read_text()
    assert "| `cooling.fan_rpm` |" in option_tables(Room, "", "")
    assert options(Room)[("cooling", "fan_rpm")].unit == "rpm"

    def room(*overrides: str) -> Room:
        return read_strictly(Room, file, overrides, lambda _: (), lambda given: given)

    assert room().cooling.fan_rpm == 1200
    assert room("cooling.fan_rpm=3000").cooling.fan_rpm == 3000
    with pytest.raises(ConfigError, match=r"cooling.fan_rpm"):
        room("cooling.fan_rpm=50")
    with pytest.raises(ConfigError, match=r"did you mean cooling\.fan_rpm"):
        room("cooling.fan_rpn=500")
