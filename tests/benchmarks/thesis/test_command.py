"""`foresight bench thesis` from the command line."""

import json
from pathlib import Path

import typer
from typer.testing import CliRunner

from benchmarks.thesis.command import add_to

APP = typer.Typer()
add_to(APP)


def test_it_prints_rows_and_conclusions_and_writes_json(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    arguments = ["--experiments", "executor-strategy", "--runs", "1", "--json", str(file)]
    result = CliRunner().invoke(APP, arguments)
    assert result.exit_code == 0, result.output
    assert "queue-aware is the best of the three strategies" in result.output
    document = json.loads(file.read_text())
    assert document["scenario"] == "thesis"
    assert {row["case"] for row in document["rows"]} == {"static", "linear", "queue-aware"}


def test_an_unknown_experiment_is_named() -> None:
    result = CliRunner().invoke(APP, ["--experiments", "nonsense"])
    assert result.exit_code == 2
    assert "nonsense" in result.output
