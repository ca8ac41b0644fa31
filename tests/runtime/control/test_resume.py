"""A restarted driver decides what one that never stopped would have decided."""

from pathlib import Path

import pytest

from mpc.events import EventKind
from mpc.policies.catalogue import policy_entries
from runtime.build import live_controller, simulated_space
from runtime.config import load_config
from runtime.control.journal import read
from runtime.control.resume import LONGEST_GAP_STEPS, gap
from runtime.control.snapshots import NAME
from tests.runtime.control.cluster import SHORT, LoopRun, outcome, restarted
from tests.runtime.control.records import plain_record

CONFIG = load_config(None, SHORT)
SPACE = simulated_space(CONFIG)


LIVE = ("static-3", *(entry.name for entry in policy_entries() if entry.live and not entry.number))
# A minute a step, so that windows and intervals of minutes come to pass.
MINUTES = ("horizon.step_s=60", "executors.max=6", "frequency.list_khz=[1000000, 2000000]")


@pytest.mark.parametrize("way", ["saved", "replayed"])
@pytest.mark.parametrize("policy", LIVE)
def test_decisions_after_a_restart_are_those_of_a_run_without_one(
    tmp_path: Path, policy: str, way: str
) -> None:
    options = (*MINUTES, f"policy={policy}")
    whole = LoopRun(tmp_path / "whole", options=options, steps=24).run()

    first = LoopRun(tmp_path / "parts", options=options, steps=16)
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
    assert [outcome(record) for record in parts] == [outcome(record) for record in whole]


def test_replaying_a_journal_gives_its_decisions(tmp_path: Path) -> None:
    LoopRun(tmp_path, steps=25).run()
    controller = live_controller(CONFIG, SPACE)
    for record in read(tmp_path):
        again = controller.step(record.measurement)
        assert (again.target, again.bounds) == (record.target, record.bounds)
        assert again.decision.reason == record.decision.reason
        assert again.decision.plan == record.decision.plan


def test_a_gap_is_told_to_the_forecast_step_by_step() -> None:
    last = plain_record(7)
    assert gap(last, last.at_s + 1.0, 1.0) == ()
    missed = gap(last, last.at_s + 4.2, 1.0)
    assert [measurement.step for measurement in missed] == [8, 9, 10]
    assert all(measurement.arrivals_per_s is None for measurement in missed)
    assert missed[0].requested == last.applied.requested
    assert len(gap(last, last.at_s + 1e6, 1.0)) == LONGEST_GAP_STEPS
    assert gap(last, last.at_s - 1e6, 1.0) == ()  # the wall clock was set back


def test_a_learned_dead_time_reaches_the_plan(tmp_path: Path) -> None:
    options = (SHORT[0], SHORT[1])
    seen = LoopRun(tmp_path, options=options, steps=12, start_up_s=4.0).run()
    assert {record.dead_time_s for record in seen} == {4.0}
    planned = [len(record.decision.plan.trajectory) for record in seen if record.decision.plan]
    assert planned
    assert set(planned) == {6}, "two steps beyond the dead time"
