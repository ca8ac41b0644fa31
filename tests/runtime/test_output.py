"""Result tables, result files and progress."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from runtime.cli.output import (
    Results,
    activity,
    cell,
    progress_bar,
    results_console,
    show,
    table,
    write_json,
)
from runtime.report.text import MISSING


@dataclass(frozen=True, slots=True)
class Row:
    policy: str
    violations: int
    power_w: float
    gap: float | None = None


ROWS = [Row("peak", 15, 60.5), Row("lat-power-h2", 12_345, 49.401234, 0.01)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, MISSING),
        (True, "yes"),
        (14_000_000, "14,000,000"),
        (0.0123456, "0.01235"),
        (123456.7, "123,457"),
        (2.0, "2"),
        (math.nan, MISSING),
        ("lat-node", "lat-node"),
    ],
)
def test_cells_are_short(value: object, text: str) -> None:
    assert cell(value) == text


def test_a_table_has_a_column_for_every_field() -> None:
    console = Console(width=200, record=True)
    console.print(table(Results("demo", "simulation", ROWS)))
    text = console.export_text()
    for word in ("demo (simulation)", "policy", "violations", "power_w", "gap", "12,345", "49.4"):
        assert word in text


def test_no_rows_give_an_empty_table_and_an_empty_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show(Results("demo", "simulation", []), str(tmp_path / "rows.json"))
    assert json.loads((tmp_path / "rows.json").read_text())["rows"] == []


def test_json_keeps_numbers_and_turns_what_json_cannot_say_into_null(tmp_path: Path) -> None:
    rows = [Row("a", int(np.int64(3)), np.float64(1.5)), Row("b", 1, math.nan, math.inf)]
    write_json(Results("demo", "measured", rows), str(tmp_path / "rows.json"))
    document = json.loads((tmp_path / "rows.json").read_text())
    assert document == {
        "scenario": "demo",
        "backend": "measured",
        "rows": [
            {"policy": "a", "violations": 3, "power_w": 1.5, "gap": None},
            {"policy": "b", "violations": 1, "power_w": None, "gap": None},
        ],
    }


def test_with_json_on_standard_output_tables_go_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(Results("demo", "simulation", ROWS), "-")
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rows"][1]["violations"] == 12_345
    assert "12,345" in captured.err


def test_a_wide_table_is_not_cut_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results_console(None).print("x" * 150)
    assert capsys.readouterr().out == "x" * 150 + "\n"


def work() -> None:
    with activity("forecast") as begin:
        begin("holt [x]")
    with progress_bar("runs", total=2) as finish:
        finish()


def test_progress_says_nothing_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    work()
    assert capsys.readouterr() == ("", "")


def test_progress_is_shown_on_a_terminal_only_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes this for a terminal
    monkeypatch.setenv("TERM", "xterm")
    work()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "forecast: holt [x]" in captured.err
    assert "1/2" in captured.err
