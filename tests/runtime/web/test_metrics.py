"""The controller's metrics, and that dashboards and alerts ask for nothing else."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from runtime.agent.service.metrics import AgentMetrics
from runtime.control.journal import StepRecord
from runtime.metrics.facts import facts_of
from runtime.metrics.hosts import HostView
from runtime.metrics.state import RunState
from runtime.web.metrics import ControllerMetrics
from tests.runtime.agent.running_agent import StandIn
from tests.runtime.web.recorded import config, reported_by_batch

MONITORING = Path(__file__).parents[3] / "examples" / "monitoring"
HOSTS = (
    HostView("w1", "controlled", age_s=0.5),
    HostView("w2", "lost", problem="no answer"),
)
UNITS = ("_seconds", "_per_second", "_hertz", "_watts", "_joules", "_items", "_ratio")
COUNTS = ("_executors", "_steps", "_events", "_reachable", "_controlled", "_cost")

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def exposed(records: tuple[StepRecord, ...]) -> str:
    """With a backlog and a mixture of forecasts, which the simulated records do not have."""
    state, metrics = RunState(facts_of(config(), "orders")), ControllerMetrics()
    last = records[-1]
    counted = replace(
        last,
        measurement=replace(last.measurement, backlog_items=12.0),
        decision=replace(last.decision, forecast_by="holt-winters", forecast_share=0.7),
    )
    for record in (*records[:-1], counted):
        state.add(record)
        metrics.observe(state)
    return metrics.render(state, HOSTS, records[-1].at_s + 2.0).decode()


def samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_tell_the_last_step(records: tuple[StepRecord, ...]) -> None:
    found = samples(exposed(records))

    def value(name: str, **labels: str) -> float:
        return found[f"foresight_controller_{name}", frozenset(labels.items())]

    last = records[-1]
    assert value("step_duration_seconds_count") == len(records)
    assert value("latency_target_seconds") == 1.5
    assert value("arrivals_per_second") == last.measurement.arrivals_per_s
    assert value("executors", stage="observed") == last.applied.observed.executors
    assert value("frequency_hertz", stage="requested") == last.applied.requested.frequency_khz * 1e3
    assert value("power_watts", source="modelled") == last.measurement.power_w
    energy_j = sum(record.measurement.power_w or 0.0 for record in records)
    assert value("energy_joules_total", source="modelled") == pytest.approx(energy_j)
    late = sum((record.measurement.latency_s or 0.0) > 1.5 for record in records)
    assert value("late_steps_total") == late > 0
    assert value("measurement_age_seconds") == pytest.approx(2.0)
    assert value("agent_reachable", host="w1") == 1
    assert value("agent_reachable", host="w2") == 0
    scaled = sum(event.kind == "scaled_out" for record in records for event in record.events)
    assert value("events_total", kind="scaled_out") == scaled > 0


def test_what_a_batch_told_last_is_shown_until_the_next(records: tuple[StepRecord, ...]) -> None:
    sparse = reported_by_batch(records, 12, 9)
    told = [each.measurement for each in sparse if each.measurement.arrivals_per_s is not None][-1]
    assert sparse[-1].measurement.arrivals_per_s is None
    found = samples(exposed(sparse))
    for name, value in (
        ("arrivals_per_second", told.arrivals_per_s),
        ("completions_per_second", told.completions_per_s),
        ("latency_seconds", told.latency_s),
    ):
        assert value is not None
        assert found[f"foresight_controller_{name}", frozenset()] == value


def test_every_metric_has_a_unit_and_is_explained(records: tuple[StepRecord, ...]) -> None:
    for family in text_string_to_metric_families(exposed(records)):
        assert family.documentation.endswith("."), family.name
        if family.name != "foresight_controller_info":
            assert family.name.endswith(UNITS + COUNTS), family.name


def test_what_is_not_known_has_no_sample() -> None:
    state = RunState(facts_of(config(), "orders"))
    text = ControllerMetrics().render(state, (), 0.0).decode()
    names = {name for name, _ in samples(text)}
    assert "foresight_controller_latency_seconds" not in names
    assert "foresight_controller_last_step_timestamp_seconds" not in names


def existing(records: tuple[StepRecord, ...]) -> dict[str, dict[str, set[str]]]:
    """Of controller and agent: every name that can be asked for, its labels and their values."""
    stand_in = StandIn()
    agent = AgentMetrics().render(stand_in.status(), stand_in.energy()).decode()
    found: dict[str, dict[str, set[str]]] = {}
    for name, labels in samples(exposed(records) + agent):
        known = found.setdefault(name, {})
        for label, value in labels:
            known.setdefault(label, set()).add(value)
    return found


def dashboard_queries() -> Iterator[tuple[str, str]]:
    def walk(node: Any) -> Iterator[tuple[str, str]]:
        if isinstance(node, dict):
            for key in ("expr", "definition"):
                if key in node:
                    yield node[key], node.get("legendFormat", "")
            for inner in node.values():
                yield from walk(inner)
        elif isinstance(node, list):
            for inner in node:
                yield from walk(inner)

    return walk(json.loads((MONITORING / "grafana.json").read_text()))


def alert_queries() -> Iterator[tuple[str, str]]:
    document = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    for group in document["groups"]:
        for rule in group["rules"]:
            labels = re.findall(r"\$labels\.\w+", str(rule["annotations"]))
            yield rule["expr"], " ".join(labels)


def test_dashboard_and_alerts_ask_for_what_exists(records: tuple[StepRecord, ...]) -> None:
    known = existing(records)
    queries = [*dashboard_queries(), *alert_queries()]
    assert len(queries) > 30
    for query, legend in queries:
        names = re.findall(r"foresight_\w+", query)
        assert names and query.count("(") == query.count(")"), query
        for name in names:
            assert name in known, f"{name} in {query}"
        for name, label, operator, value in re.findall(
            r"(foresight_\w+)\{[^}]*?(\w+)(=~?)\"([^\"$]+)\"\}", query
        ):
            for each in value.split("|") if operator == "=~" else [value]:
                assert each in known[name][label], f"{label}={each} in {query}"
        labels = set(re.findall(r"\{\{(\w+)\}\}|\$labels\.(\w+)", legend))
        for label in {one or other for one, other in labels} - {"instance", "job"}:
            assert any(label in known[name] for name in names), f"{label} in {legend}"


def test_the_alerts_are_those_an_operator_needs() -> None:
    text = " ".join(query for query, _ in alert_queries())
    for name in ("late_steps", "measurement_age", "agent_reachable", "unapplied"):
        assert name in text
