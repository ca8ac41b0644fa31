"""`foresight top` and the command that serves a journal."""

import re
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from runtime.cli import dashboard, top
from runtime.control.journal import StepRecord
from runtime.metrics.facts import facts_in
from runtime.metrics.state import RunState
from runtime.web.terminal import BLOCKS, screen, sparkline
from tests.runtime.web.client import ask
from tests.runtime.web.recorded import reported_by_batch

COMMANDS = """
import typer
from runtime.cli import dashboard, top
app = typer.Typer()
dashboard.add_to(app)
top.add_to(app)
app()
"""


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    dashboard.add_to(made)
    top.add_to(made)
    return made


@pytest.mark.parametrize("width", [60, 100, 160])
def test_a_glance_has_everything(
    journal: Path, records: tuple[StepRecord, ...], width: int
) -> None:
    state = RunState(facts_in(journal))
    for record in records:
        state.add(record)
    console = Console(width=width, file=StringIO())
    with console.capture() as captured:
        console.print(screen(state, records[-1].at_s + 1.0, width))
    text = captured.get()
    for words in ("orders", "live", "arrivals", "target 1.5 s", "executors", "GHz", "modelled"):
        assert words in text
    assert "Rejected" in text and "Decisions" in text and "█" in text
    assert max(len(line) for line in text.splitlines()) <= width


def test_between_batches_the_last_values_are_held(
    journal: Path, records: tuple[StepRecord, ...]
) -> None:
    state = RunState(facts_in(journal))
    for record in reported_by_batch(records, 12, 9)[:-2]:
        state.add(record)
    assert not {"arrivals/arrived", "latency/measured"} & set(state.points[-1].values)
    console = Console(width=120, file=StringIO())
    with console.capture() as captured:
        console.print(screen(state, records[-1].at_s, 120))
    for name, told in (("arrivals", r"arrivals +[\d,.]+/s"), ("latency", r"latency +[\d.]+ m?s")):
        (line,) = (line for line in captured.get().splitlines() if line.startswith(name))
        assert re.match(told, line)
        assert sum(column in BLOCKS for column in line) >= 60


def test_a_line_of_blocks() -> None:
    line = sparkline([0.0, None, 1.0, 2.0], [False, False, False, True], 10)
    assert line.plain == "▁ ▅█"
    assert [str(span.style) for span in line.spans][-1] == "red"
    assert sparkline([3.0, 3.0], [False, False], 1).plain == "▁"
    assert sparkline([], [], 5).plain == ""


def test_top_prints_once_without_a_terminal(app: typer.Typer, journal: Path) -> None:
    result = CliRunner().invoke(app, ["top", str(journal.parent)])
    assert result.exit_code == 0
    assert "orders" in result.stdout and "no step since" in result.stdout


def test_nothing_to_look_at_is_said_in_one_sentence(app: typer.Typer, tmp_path: Path) -> None:
    for command in ("top", "dashboard"):
        result = CliRunner().invoke(app, [command, str(tmp_path)])
        assert result.exit_code == 1 and "has no journal" in str(result.exception)
    result = CliRunner().invoke(app, ["dashboard", str(tmp_path), "--listen", "4050"])
    assert result.exit_code == 2


def test_dashboard_refuses_the_world_without_a_token(app: typer.Typer, journal: Path) -> None:
    result = CliRunner().invoke(app, ["dashboard", str(journal), "--listen", "0.0.0.0:0"])
    assert result.exit_code == 1 and "needs a token" in str(result.exception)


def test_dashboard_serves_until_it_is_interrupted(journal: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-u",
            "-c",
            COMMANDS,
            "dashboard",
            str(journal),
            "--listen",
            "127.0.0.1:0",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert ask(url, "/api/state").json()["facts"]["application"] == "orders"
        assert b"<title>Foresight" in ask(url, "/").body
        process.send_signal(signal.SIGINT)
        process.wait(60.0)
    finally:
        process.kill()
        process.communicate()
