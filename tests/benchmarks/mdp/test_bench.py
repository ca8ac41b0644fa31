"""`foresight bench mdp`: its tables, its bounds and its JSON."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchmarks.mdp import command as mdp
from benchmarks.mdp import published
from benchmarks.mdp.limits import limit_rows
from benchmarks.mdp.runs import MDP, MdpWorkload, drawn, run
from mpc.simulation.pool import run_all

SHORT = MdpWorkload(data=None, seed=1, days=1)


def test_the_limit_is_found_without_exceeding_the_memory() -> None:
    arrivals, _ = drawn(SHORT)
    begun: list[str] = []
    rows = limit_rows(arrivals, begun.append, memory_bytes=2_000_000, most_solve_s=0.0)
    assert [row.operators for row in rows] == [1, 2, 3, 4, 5][: len(rows)]
    assert begun == [f"{row.operators} operators" for row in rows]
    for fewer, more in pairwise(rows):
        assert more.states == 5 * fewer.states
        assert more.actions == 3 * fewer.actions
    assert all(row.solve_mb <= 2 for row in rows[:-1])
    assert rows[0].solve == "measured"
    assert rows[1].solve == "reckoned"
    last = rows[-1]
    assert (last.sweep_s, last.solve_s, last.solve) == (None, None, "does not fit")
    assert last.practical.startswith("no")


def test_learning_every_penalty_stops_fitting_first() -> None:
    arrivals, _ = drawn(SHORT)
    rows = limit_rows(arrivals, lambda _: None, memory_bytes=1_000_000, most_solve_s=0.0)
    assert [row.learn_step_s is not None for row in rows][:3] == [True, True, False]
    assert rows[2].solve_s is not None
    assert rows[2].practical == "solving only: the penalties do not fit into the memory"


def test_rows_hold_ours_against_the_paper() -> None:
    jobs = published.jobs(SHORT, threshold_s=None, most_operators=3)
    runs = run_all(run, jobs, processes=1)
    table = {row.policy: row for row in published.table_1(runs)}
    assert list(table) == list(published.TABLE_1)
    row = table[MDP]
    ours = next(
        run.outcome for run in runs if run.job.controller == MDP and run.job.setting.operators == 3
    )
    assert row.cost == ours.cost
    assert row.cost_difference == pytest.approx(ours.cost - 0.163)
    assert row.violations == 365 * ours.violations
    assert row.violations_difference == 365 * ours.violations - 8903
    assert [point.day for point in published.figure_2a(runs)] == [1] * 6
    by_operators = published.figure_2b(runs)
    assert [row.operators for row in by_operators] == [1, 2, 3]
    assert [row.paper_mdp_cost for row in by_operators] == [None, None, 0.163]
    assert by_operators[2].gap == pytest.approx(
        by_operators[2].decentralised_cost - by_operators[2].mdp_cost
    )


def test_the_command(tmp_path: Path) -> None:
    app = typer.Typer()
    mdp.add_to(app)
    file = tmp_path / "mdp.json"
    empty = tmp_path / "data"
    empty.mkdir()
    arguments = ["--days", "1", "--operators", "3", "--memory-mb", "1", "--processes", "1"]
    result = CliRunner().invoke(app, [*arguments, "--data", str(empty), "--json", str(file)])
    assert result.exit_code == 0, result.output
    assert "no taxi file found" in result.output
    assert "1,950 ms" in result.output
    rows = json.loads(file.read_text())["rows"]
    parts = [row["part"] for row in rows]
    assert parts.count("Table 1") == 6
    assert parts.count("Fig. 2b") == 3
    assert rows[0]["figures"]["paper_cost"] == 0.163
