"""The benchmark measures what it says, on sizes small enough for a test."""

import pytest

from benchmarks.parts import optimizer as optimizer_bench
from benchmarks.parts.optimizer import CONSTRAINTS, optimizer_rows


def test_every_size_has_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer_bench, "SIZES", ((12, 2, 1), (12, 2, 5), (4, 3, 5)))
    announced: list[str] = []
    rows = optimizer_rows(0.0, announced.append)
    assert len(announced) == len(rows)
    assert [row.constraints for row in rows] == [
        *("none", "none", *CONSTRAINTS, "+".join(CONSTRAINTS)),
        *("none", *CONSTRAINTS),
    ]
    assert rows[1].trajectories == 24.0**5
    assert all(0 < row.ms_p50 <= row.ms_p99 for row in rows)
    assert rows[1].nodes == 5
