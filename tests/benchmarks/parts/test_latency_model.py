from dataclasses import asdict

import pytest

from benchmarks.parts.latency_model import latency_model_rows


def test_rows_name_the_case_and_its_errors() -> None:
    seen: list[str] = []
    rows = latency_model_rows([0.5], [0.0, 0.4], [None, 2.0], 1, 200, seen.append)
    assert len(rows) == len(seen) == 4
    assert [(row.rho, row.cv, row.trigger_s) for row in rows] == [
        (0.5, 0.0, None), (0.5, 0.4, None), (0.5, 0.0, 2.0), (0.5, 0.4, 2.0),
    ]  # fmt: skip
    assert {"rho", "cv", "trigger_s", "error_mean", "error_late_share"} <= asdict(rows[0]).keys()
    for steady in rows[::2]:
        assert steady.noise_cv == 0
        assert steady.error_mean == pytest.approx(0.0, abs=0.01)
        assert steady.error_late_share < 0.01
    assert rows[1].noise_cv > 0.4
