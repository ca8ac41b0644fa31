"""`foresight tune` from a rate file and from a journal to a TOML file."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from runtime.cli import pause, tune
from runtime.config import ConfigError, load_config
from runtime.control.journal import StepJournal
from tests.runtime.control.records import plain_record

SMALL = (
    *("--set", "executors.max=4", "--set", "frequency.list_khz=[1200000, 2000000]"),
    *("--set", "forecast.scenarios=10", "--set", "horizon.step_s=10"),
    *("--bin", "10", "--block", "60", "--candidates", "4", "--processes", "1"),
)


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    tune.add_to(app)
    pause.add_to(app)
    return app


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    file = tmp_path / "rates.csv"
    values = 1000.0 + 500.0 * np.sin(np.arange(240) / 8)
    file.write_text("\n".join(f"{value:.1f}" for value in values))
    return file


def test_a_check_prints_a_front_writes_a_file_and_repeats(
    app: typer.Typer, rates: Path, tmp_path: Path
) -> None:
    state, output = tmp_path / "state.json", tmp_path / "tuned.toml"
    arguments = [
        *("tune", "--rates", str(rates), "--target-latency", "5s", "--check", "--json", "-"),
        *("--state", str(state), "-o", str(output), *SMALL),
    ]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    rows = json.loads(first.stdout)["rows"]
    assert rows[0]["role"] == "present"
    assert rows[0]["step_s"] == 10.0
    assert all(row["mean_power_w"] > 0 for row in rows)
    recommended = [row for row in rows if row["role"] == "recommended"]
    if recommended:
        config = load_config(output)
        assert config.cost.switching_weight == recommended[0]["gamma"]
        assert config.slo.latency_ms == 5000.0
        assert {row["part"] for row in recommended} == {"tuning", "check"}
    else:
        assert not output.exists()
    known = state.read_bytes()
    again = CliRunner().invoke(app, arguments)
    assert again.stdout == first.stdout
    assert state.read_bytes() == known, "nothing was simulated twice"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give either --rates or --from"),
        (("--target-latency", "5 minutes"), "write 800ms or 5s"),
        (("--max-violations", "200%"), "write 1% or 0.01"),
        (("--power-cap", "50"), "need power.full_power_w"),
    ],
)
def test_what_is_wrong_is_told(
    app: typer.Typer, rates: Path, arguments: tuple[str, ...], told: str
) -> None:
    file = ("--rates", str(rates)) if arguments else ()
    result = CliRunner().invoke(app, ["tune", *file, *arguments, *SMALL])
    assert result.exit_code != 0
    assert told in " ".join((result.output + str(result.exception)).split())


def test_a_journal_too_short_is_told(app: typer.Typer, tmp_path: Path) -> None:
    with StepJournal(tmp_path / "app", 1_000_000) as journal:
        for step in range(10):
            journal.append(plain_record(step))
    result = CliRunner().invoke(app, ["tune", "--from", str(tmp_path), *SMALL])
    assert "10 s to tune on, and 4 folds need 960 s" in str(result.exception)


def test_pause_and_resume(app: typer.Typer, tmp_path: Path) -> None:
    with StepJournal(tmp_path / "app", 1_000_000) as journal:
        journal.append(plain_record(0))

    def said(*arguments: str) -> str:
        return CliRunner().invoke(app, [*arguments, str(tmp_path)]).output.strip()

    folder = tmp_path / "app"
    assert said("pause", "--reason", "maintenance") == f"{folder}: paused"
    assert said("pause") == f"{folder}: is paused already"
    assert said("resume") == f"{folder}: resumed"
    assert said("resume") == f"{folder}: was not paused"


def test_a_policy_without_weights_is_refused(app: typer.Typer, rates: Path) -> None:
    result = CliRunner().invoke(app, ["tune", "--rates", str(rates), "--set", "policy=hpa", *SMALL])
    assert isinstance(result.exception, ConfigError)
    assert "policy" in str(result.exception)
    assert "must be foresight" in str(result.exception)
