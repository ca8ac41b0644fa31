"""A restarted driver decides what one that never stopped would have decided."""

from dataclasses import replace
from pathlib import Path

import pytest

from mpc.bounds import Bounds
from mpc.events import EventKind
from mpc.ports import Policy
from mpc.values import Configuration, Decision, Measurement
from runtime.build import live_policy, live_power, live_space
from runtime.config import load_config
from runtime.config.policies import TABLED_POLICIES
from runtime.control.guards import Guards
from runtime.control.journal import read
from runtime.control.resume import LONGEST_GAP_STEPS, RelearningPolicy, gap, resume
from runtime.control.safe import EventLog
from runtime.control.snapshots import NAME
from tests.runtime.control.cluster import SHORT, FakeCluster, restarted, told
from tests.runtime.control.records import plain_record

CONFIG = load_config(None, SHORT)
SPACE = live_space(CONFIG, None, with_frequencies=True)


def fresh_policy(dead_time_s: float = 1.0) -> Policy:
    return live_policy(CONFIG, SPACE, live_power(CONFIG), dead_time_s)


LIVE = ("foresight", "rule-based", "peak", "static-3", *TABLED_POLICIES)
# A minute a step, so that windows and intervals of minutes come to pass.
MINUTES = ("horizon.step_s=60", "executors.max=6", "frequency.list_khz=[1000000, 2000000]")


@pytest.mark.parametrize("way", ["saved", "replayed"])
@pytest.mark.parametrize("policy", LIVE)
def test_decisions_after_a_restart_are_those_of_a_run_without_one(
    tmp_path: Path, policy: str, way: str
) -> None:
    options = (*MINUTES, f"policy={policy}")
    whole = FakeCluster(tmp_path / "whole", options=options, steps=24).run()

    first = FakeCluster(tmp_path / "parts", options=options, steps=16)
    first.run()
    if way == "replayed":
        (tmp_path / "parts" / NAME).unlink()
    # The driver died at once and came back one step later, with the cluster as it was.
    second = restarted(first, steps=8)
    second.run()

    parts = first.seen + second.seen
    (resumed,) = (e.detail for e in second.seen[0].events if e.kind == EventKind.RESUMED)
    assert ("saved after step 15, 0 steps replayed" in resumed) == (way == "saved")
    assert ("16 steps replayed" in resumed) == (way == "replayed")
    assert [told(record) for record in parts] == [told(record) for record in whole]


def test_replaying_a_journal_gives_its_decisions(tmp_path: Path) -> None:
    FakeCluster(tmp_path, steps=25).run()
    policy = fresh_policy()
    for record in read(tmp_path):
        again = policy.decide(record.measurement, Bounds(SPACE))
        assert (again.target, again.reason) == (record.decision.target, record.decision.reason)
        assert (again.plan is None) == (record.decision.plan is None)
        if again.plan is not None and record.decision.plan is not None:
            assert again.plan.cost == record.decision.plan.cost


def test_guards_remember_too(tmp_path: Path) -> None:
    records = [plain_record(step) for step in range(3)]
    policy = fresh_policy()
    resume(policy, Guards(SPACE, 1.0), records)
    once_more = fresh_policy()
    for record in records:
        once_more.decide(record.measurement, Bounds(SPACE))
    last = records[-1].measurement
    assert policy.decide(last, Bounds(SPACE)).target == once_more.decide(last, Bounds(SPACE)).target


def test_a_gap_is_told_to_the_forecast_step_by_step() -> None:
    last = plain_record(7)
    assert gap(last, last.at_s + 1.0, 1.0) == ()
    missed = gap(last, last.at_s + 4.2, 1.0)
    assert [measurement.step for measurement in missed] == [8, 9, 10]
    assert all(measurement.arrivals_per_s is None for measurement in missed)
    assert missed[0].requested == last.applied.requested
    assert len(gap(last, last.at_s + 1e6, 1.0)) == LONGEST_GAP_STEPS
    assert gap(last, last.at_s - 1e6, 1.0) == ()  # the wall clock was set back


class Counting:
    """Decides by how much it has seen."""

    def __init__(self, dead_time_s: float) -> None:
        self.dead_time_s = dead_time_s
        self.seen: list[int] = []

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self.seen.append(measurement.step)
        return Decision(Configuration(len(self.seen), 1), f"{self.dead_time_s:g}")


def test_a_policy_is_built_anew_when_the_dead_time_has_moved_by_a_step() -> None:
    made: list[Counting] = []
    learned_s = [3.0]

    def make(dead_time_s: float) -> Counting:
        made.append(Counting(dead_time_s))
        return made[-1]

    events = EventLog()
    policy = RelearningPolicy(make, lambda: learned_s[0], 3.0, 1.0, SPACE, events)
    steps = [replace(plain_record(step).measurement) for step in range(5)]
    decisions = [policy.decide(step, Bounds(SPACE)) for step in steps[:2]]
    learned_s[0] = 3.9
    decisions.append(policy.decide(steps[2], Bounds(SPACE)))
    assert len(made) == 1
    learned_s[0] = 4.0
    decisions.append(policy.decide(steps[3], Bounds(SPACE)))
    assert [decision.target.executors for decision in decisions] == [1, 2, 3, 4]
    assert [decision.reason for decision in decisions] == ["3", "3", "3", "4"]
    assert made[1].seen == [0, 1, 2, 3]
    assert policy.dead_time_s == 4.0
    assert [event.kind for event in events.drain()] == [EventKind.DEAD_TIME_LEARNED]


def test_a_learned_dead_time_reaches_the_plan(tmp_path: Path) -> None:
    options = (SHORT[0], SHORT[1])
    cluster = FakeCluster(tmp_path, options=options, steps=12)
    cluster.executors.start_up_s = 4.0
    seen = cluster.run()
    assert {record.dead_time_s for record in seen} == {4.0}
    planned = [len(record.decision.plan.trajectory) for record in seen if record.decision.plan]
    assert planned
    assert set(planned) == {6}, "two steps beyond the dead time"
