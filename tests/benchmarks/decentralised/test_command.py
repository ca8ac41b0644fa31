"""`foresight bench decentralised` prints and writes what it measured."""

import json
from pathlib import Path

import typer
from typer.testing import CliRunner

from benchmarks.decentralised import command as decentralised


def test_the_command_prints_tables_traces_and_rows(tmp_path: Path) -> None:
    application = typer.Typer()
    decentralised.add_to(application)
    rows_file = tmp_path / "rows.json"
    result = CliRunner().invoke(
        application,
        ["--repeat", "1", "--schedules", "20", "--traces", "--json", str(rows_file)],
    )
    assert result.exit_code == 0, result.output
    assert "highest accuracy, one operator" in result.output
    assert "without repair: one operation at a time:" in result.output
    document = json.loads(rows_file.read_text())
    figures = {row["figure"]: row for row in document["rows"] if "figure" in row}
    formula = figures["cases off the duplication formula"]
    assert (formula["paper"], formula["repaired"]) == (0, 0)
    complete = next(row for row in document["rows"] if row.get("missing") == "nothing")
    assert (complete["schedules"], complete["violated"]) == (20, 0)
