"""`foresight bench edf`: the table for people and the rows for programs."""

import json
from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from benchmarks.edf import command as edf
from benchmarks.edf.choices import EdfChoice
from benchmarks.edf.experiment import EdfSetting
from benchmarks.edf.table import edf_table


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    edf.add_to(app)
    return CliRunner().invoke(app, ["edf", *arguments])


def test_the_command_prints_the_rows_of_the_papers_table(tmp_path: Path) -> None:
    file = tmp_path / "edf.json"
    result = invoke("--policies", "model-based", "--hours", "1", "--json", str(file))
    assert result.exit_code == 0, result.output
    assert "(176.4)" in result.output
    document = json.loads(file.read_text())
    assert len(document["rows"]) == 4
    row = document["rows"][0]
    assert row["paper"]["mean_ms"] == 176.4
    assert row["difference"]["mean_ms"] == row["ours"]["mean_ms"] - 176.4


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    result = invoke("--policies", "magic")
    assert result.exit_code == 2
    assert "q-learning" in result.output


def test_the_same_seed_gives_the_same_table() -> None:
    choices = [EdfChoice("q-learning", "perf = res = 2 rcf", bucket=True)]
    setting = EdfSetting(hours=1.0)
    first, again = (edf_table(None, 3, setting, lambda _: None, choices) for _ in range(2))
    assert first == again
    assert "generated" in first.source
