"""The benchmark of a restart compares two ways to the same decisions."""

import typer
from typer.testing import CliRunner

from benchmarks.parts.commands import add_to
from benchmarks.parts.resume import resume_rows


def test_both_ways_lead_to_the_same_decisions() -> None:
    begun: list[str] = []
    rows = resume_rows(("rule-based", "edf-q-learning"), 60, 1, begun.append)
    assert begun == [row.policy for row in rows] == ["rule-based", "edf-q-learning"]
    assert all(row.same for row in rows)
    assert all(row.snapshot_kb > 0 and row.resume_ms > 0 for row in rows)


def test_an_unknown_policy_is_refused_by_name() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_to(app)
    done = CliRunner().invoke(app, ["resume", "--policies", "peek"])
    assert done.exit_code == 2
    assert "unknown policy peek" in done.output
