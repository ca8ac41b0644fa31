"""A recorded decision is solved once more by an independent solver."""

from dataclasses import replace
from pathlib import Path

import pytest

from mpc.values import Configuration, Plan
from runtime.insight.journals import RecordedRun, recorded_run
from runtime.insight.judgement import NotJudged, judged
from tests.runtime.control.cluster import LoopRun

SMALL = ("executors.max=3", "frequency.list_khz=[1200000,2000000]", "limits.dead_time_s=1.0")


def quiet(_words: str) -> None:
    """No progress is shown."""


def planned(run: RecordedRun) -> int:
    return max(n for n, each in enumerate(run.records) if each.decision.plan is not None)


@pytest.fixture
def run(tmp_path: Path) -> RecordedRun:
    LoopRun(tmp_path, options=SMALL, steps=12).run()
    return recorded_run(tmp_path)


def test_the_plan_is_the_optimum(run: RecordedRun) -> None:
    found = judged(run, planned(run), quiet)
    assert found.difference == pytest.approx(0.0, abs=1e-4)
    assert "the optimum" in found.words or "agree" in found.words


def test_a_worse_plan_is_told(run: RecordedRun) -> None:
    position = planned(run)
    record = run.records[position]
    plan = record.decision.plan
    assert isinstance(plan, Plan)
    other = (Configuration(1, 1_200_000),) * len(plan.trajectory)
    dear = replace(
        plan, trajectory=other, cost=replace(plan.cost, latency=1.0 + 2.0 * plan.cost.latency)
    )
    worse = replace(record, decision=replace(record.decision, plan=dear))
    changed = replace(run, records=(*run.records[:position], worse, *run.records[position + 1 :]))
    assert "they disagree" in judged(changed, position, quiet).words


def test_a_decision_without_a_plan_is_not_judged(run: RecordedRun) -> None:
    record = run.records[0]
    holding = replace(record, decision=replace(record.decision, plan=None))
    with pytest.raises(NotJudged, match="planned nothing"):
        judged(replace(run, records=(holding,)), 0, quiet)
