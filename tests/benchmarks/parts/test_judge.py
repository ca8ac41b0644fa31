"""The benchmark judges every set of constraints, and would see a search that is wrong."""

import pytest

from benchmarks.parts import judge as judge_bench
from benchmarks.parts.judge import LINEAR, judge_rows
from mpc.horizon.problem import HorizonProblem
from mpc.horizon.trajectory import cost_terms
from mpc.values import Plan


def test_search_and_judges_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_bench, "SIZE", (3, 2, 3))
    rows = judge_rows(0.0)
    labels = ["none", *LINEAR, "+".join(LINEAR), "backlog"]
    assert [row.constraints for row in rows] == labels
    assert {row.judge for row in rows} == {"milp", "exhaustive"}
    assert all(row.agreed == row.problems >= 3 for row in rows)
    assert max(row.largest_difference for row in rows) <= 1e-4


def test_a_wrong_plan_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def smallest(problem: HorizonProblem) -> Plan:
        stay = (problem.space.at(0, 0),) * problem.horizon
        return Plan(stay, cost_terms(problem, stay), 0.0, 1, True)

    monkeypatch.setattr(judge_bench, "SIZE", (3, 2, 3))
    monkeypatch.setattr(judge_bench, "LINEAR", ())
    monkeypatch.setattr(judge_bench, "solve", smallest)
    rows = judge_rows(0.0)
    assert any(row.agreed < row.problems for row in rows)
