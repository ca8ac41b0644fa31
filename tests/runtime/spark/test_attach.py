"""What `attach` makes of a session before anything is started."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.agent.wire.client import AgentClient
from runtime.config import load_config
from runtime.control.assembly import open_journal
from runtime.fleet.connect import agent_connections
from runtime.spark.attach import attach
from runtime.spark.cluster import UsefulExecutors
from runtime.spark.scaling.scheduler import ScalingRefused


def test_a_connect_session_is_refused_with_a_sentence(tmp_path: Path) -> None:
    session: Any = SimpleNamespace()
    with pytest.raises(ScalingRefused, match="Spark Connect client"):
        attach(session)


def test_agents_are_reached_as_their_urls_say() -> None:
    config = load_config(
        None,
        ['agents.urls=["http://w1:9", "w2=http://127.0.0.1:8", "w3=unix:/run/a=b.sock"]'],
    )
    clients = {host: connect() for host, connect in agent_connections(config.agents).items()}
    assert {
        host: client.where for host, client in clients.items() if isinstance(client, AgentClient)
    } == {"w1": "w1:9", "w2": "127.0.0.1:8", "w3": "/run/a=b.sock"}


def test_useful_executors_follow_the_widest_stage_of_the_queries() -> None:
    stages: list[int] = []
    driver: Any = SimpleNamespace(query_stage_tasks=lambda: stages)
    scheduler: Any = SimpleNamespace(executor_slots=2)
    useful = UsefulExecutors(driver, scheduler)
    assert useful.count() is None
    stages.append(3)
    assert useful.count() == 2
    stages.append(9)
    assert useful.count() == 5
    stages.clear()
    assert useful.count() == 5


@pytest.mark.parametrize(
    ("application", "folder"),
    [("quotes", "quotes"), ("my app/1", "my_app_1"), ("..", "application"), ("", "application")],
)
def test_each_application_has_its_own_journal(
    tmp_path: Path, application: str, folder: str
) -> None:
    config = load_config(None, [f'journal.folder="{tmp_path}"'])
    with open_journal(config, application) as journal:
        assert journal.path == tmp_path / folder / "journal.jsonl"
