"""The metrics: what Prometheus would read of a known status."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from runtime.agent.service.metrics import AgentMetrics
from tests.runtime.agent.raw_requests import exchange
from tests.runtime.agent.running_agent import Service, StandIn


def samples(text: bytes) -> dict[tuple[str, ...], float]:
    """Name and values of the labels, in the order of their names, to the value."""
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


@pytest.fixture
def metrics() -> AgentMetrics:
    return AgentMetrics()


def test_status_and_energy_have_units_in_their_names(metrics: AgentMetrics) -> None:
    core = StandIn()
    found = samples(metrics.render(core.status(), core.energy()))
    assert found["foresight_agent_host_energy_joules_total", "emulated"] == 2.5
    assert found["foresight_agent_energy_joules_total", "emulated", "package-0"] == 2.5
    assert ("foresight_agent_energy_joules_total", "emulated", "psys") not in found
    assert found["foresight_agent_frequency_limit_hertz", "policy1"] == 1.8e9
    assert found["foresight_agent_frequency_requested_hertz", "policy1"] == 1.5e9
    assert found["foresight_agent_drifted_policies",] == 1
    assert found["foresight_agent_lease_held",] == 1
    assert found["foresight_agent_lease_epoch",] == 7
    assert found["foresight_agent_uptime_seconds",] == 4
    assert found["foresight_agent_problem",] == 0


def test_a_host_without_energy_has_no_energy_metric(metrics: AgentMetrics) -> None:
    assert b"joules" not in metrics.render(StandIn().status(), None)


def test_ticks_and_requests_are_counted(metrics: AgentMetrics) -> None:
    for duration_s in (0.25, 0.5):
        metrics.ticked(duration_s)
    metrics.count("lease", "accepted")
    metrics.count("lease", "lease_held")
    metrics.count("lease", "lease_held")
    found = samples(metrics.render(StandIn().status(), None))
    assert found["foresight_agent_tick_duration_seconds_count",] == 2
    assert found["foresight_agent_tick_duration_seconds_sum",] == 0.75
    assert found["foresight_agent_commands_total", "lease", "accepted"] == 1
    assert found["foresight_agent_commands_total", "lease", "lease_held"] == 2


def test_every_metric_is_explained(metrics: AgentMetrics) -> None:
    core = StandIn()
    text = metrics.render(core.status(), core.energy()).decode()
    for family in text_string_to_metric_families(text):
        assert family.documentation.endswith("."), family.name
        assert family.name.startswith("foresight_agent")


def test_the_server_counts_what_it_answers() -> None:
    with Service() as service, service.connect() as connection:
        service.metrics.watch_connections("tcp", service.tcp)
        for path in ("/v1/hello", "/v1/hello", "/nowhere", "/metrics"):
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            _, text = exchange(connection, head.encode())
        found = samples(text)
        assert found["foresight_agent_commands_total", "hello", "accepted"] == 2
        assert found["foresight_agent_commands_total", "http", "not_found"] == 1
        assert found["foresight_agent_connections", "tcp"] == 1
