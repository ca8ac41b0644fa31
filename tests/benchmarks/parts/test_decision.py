"""The benchmark times whole decisions of the controller that runs live."""

import pytest

from benchmarks.parts import decision as decision_bench
from benchmarks.parts.decision import decision_rows


def test_every_size_has_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_bench, "SIZES", ((4, 3), (6, 2)))
    monkeypatch.setattr(decision_bench, "LEARNING_STEPS", 20)
    announced: list[str] = []
    rows = decision_rows(30, announced.append)
    assert announced == ["4 x 3", "6 x 2"]
    assert [(row.executors, row.frequencies, row.steps) for row in rows] == [(4, 3, 30), (6, 2, 30)]
    assert {(row.horizon, row.dead_time_steps) for row in rows} == {(11, 7)}
    assert all(0.0 < row.ms_p50 <= row.ms_p99 for row in rows)
    assert all(0.0 < row.cpu_ms_p50 <= row.cpu_ms_p99 for row in rows)
