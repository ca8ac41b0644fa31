"""A journal through its own configuration gives its own decisions, whatever happened between."""

from dataclasses import replace
from pathlib import Path

import pytest

from mpc.bounds import Bounds
from mpc.values import Decision, Measurement
from runtime.control.journal import NAME, OLDER_NAME, StepRecord, encode, read
from runtime.control.snapshots import NAME as SNAPSHOT_NAME
from runtime.control.starts import NAME as STARTS_NAME
from runtime.insight.journals import recorded_run
from runtime.insight.replay import NotReplayable, ReplayedStep, replayed
from tests.runtime.control.cluster import SHORT, LoopRun, ManualTime, restarted
from tests.runtime.control.records import plain_record

LEARNED = SHORT[:2]
"""The dead time is learned, not given."""


def replay(folder: Path) -> list[ReplayedStep]:
    return list(replayed(recorded_run(folder)))


def exact(steps: list[ReplayedStep]) -> bool:
    return all(step.known and step.same for step in steps)


class Holding:
    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        return Decision(measurement.requested, "hold")


def keep_last(folder: Path, count: int) -> None:
    """Cuts the beginning off, as rotation does."""
    records = list(read(folder))
    lines = b"".join(encode(record) + b"\n" for record in records[-count:])
    (folder / NAME).write_bytes(lines)


@pytest.mark.parametrize("policy", ["foresight", "rule-based", "edf-q-learning", "hpa", "mdp-rl"])
def test_a_run_decides_the_same_again(tmp_path: Path, policy: str) -> None:
    options = (*SHORT, f"policy={policy}")
    LoopRun(
        tmp_path, options, steps=40, stale=frozenset({9, 10}), failing=frozenset({20}), useful=5
    ).run()
    steps = replay(tmp_path)
    assert len(steps) == 40
    assert exact(steps)


def test_the_comparison_sees_every_difference(tmp_path: Path) -> None:
    LoopRun(tmp_path, steps=12).run()
    records = list(read(tmp_path))
    first, second = records[5], records[9]
    assert first.decision.plan is not None
    nodes = replace(first.decision.plan, nodes=first.decision.plan.nodes + 1)
    records[5] = replace(first, decision=replace(first.decision, plan=nodes))
    records[9] = replace(second, target=replace(second.target, executors=1))
    (tmp_path / NAME).write_bytes(b"".join(encode(record) + b"\n" for record in records))
    steps = replay(tmp_path)
    assert [i for i, step in enumerate(steps) if not step.same] == [5, 9]


@pytest.mark.parametrize("policy", ["foresight", "edf-q-learning"])
@pytest.mark.parametrize("snapshots", [True, False])
def test_restarts_and_the_gaps_between(tmp_path: Path, policy: str, snapshots: bool) -> None:
    options = (*LEARNED, f"policy={policy}", "journal.resume_steps=15")
    cluster = LoopRun(tmp_path, options, steps=20, resume_steps=15)
    cluster.run()
    for missed in (0, 7, 3):
        if not snapshots:
            (tmp_path / SNAPSHOT_NAME).unlink()
        now_s = cluster.time.now_s + missed * 1.0
        cluster = restarted(cluster, steps=20)
        cluster.time = ManualTime(now_s)
        cluster.run()
        assert cluster.seen[0].resumption is not None
        assert cluster.seen[0].resumption.missed == missed
        assert (cluster.seen[0].resumption.saved_step is not None) == snapshots
    steps = replay(tmp_path)
    assert len(steps) == 80
    assert exact(steps)


def test_an_older_snapshot_and_a_dead_time_learned_after_it(tmp_path: Path) -> None:
    """As after a crash: the snapshot is some steps old, and executors became slower since."""
    options = (*LEARNED, "journal.resume_steps=10")
    first = LoopRun(tmp_path, options, steps=19, resume_steps=10)

    def on_step(record: StepRecord) -> None:
        if record.measurement.step == 14:
            (tmp_path / "kept").write_bytes((tmp_path / SNAPSHOT_NAME).read_bytes())
            first.slow_down(3.0)

    first.on_step = on_step
    first.run()
    (tmp_path / "kept").replace(tmp_path / SNAPSHOT_NAME)
    (tmp_path / SNAPSHOT_NAME).chmod(0o600)
    first.slow_down(5.0)
    second = restarted(first, steps=15, on_step=None)
    second.time = ManualTime(first.time.now_s + 4.0)
    second.run()
    resumption = second.seen[0].resumption
    assert resumption is not None
    assert (resumption.saved_step, resumption.missed) == (9, 4)
    assert {record.dead_time_s for record in first.seen + second.seen} == {1.0, 3.0, 5.0}
    assert exact(replay(tmp_path))


def test_another_configuration_after_a_restart(tmp_path: Path) -> None:
    first = LoopRun(tmp_path, steps=15)
    first.run()
    second = restarted(first, steps=15, options=(*SHORT, "policy=hpa"), most_executors=4)
    second.run()
    restarted(second, steps=15, options=(*SHORT, "cost.beta=2"), most_executors=None).run()
    assert len((tmp_path / STARTS_NAME).read_bytes().splitlines()) == 3
    assert exact(replay(tmp_path))


def test_a_journal_without_its_beginning_is_compared_where_it_must_agree(tmp_path: Path) -> None:
    cluster = LoopRun(tmp_path, LEARNED, steps=20)
    cluster.run()
    (tmp_path / SNAPSHOT_NAME).unlink()
    restarted(cluster, steps=20, resume_steps=8).run()
    keep_last(tmp_path, 30)
    steps = replay(tmp_path)
    assert [step.known for step in steps] == [False] * 10 + [True] * 20
    assert exact(steps[10:])
    # Even less is left: not all that the restarted controller learned from.
    keep_last(tmp_path, 27)
    (tmp_path / SNAPSHOT_NAME).unlink()
    assert not any(step.known for step in replay(tmp_path))


def test_what_was_saved_last_makes_the_rest_known(tmp_path: Path) -> None:
    options = (*SHORT, "journal.resume_steps=8")
    cluster = LoopRun(tmp_path, options, steps=20)

    def on_step(record: StepRecord) -> None:
        if record.measurement.step == 18:
            (tmp_path / "kept").write_bytes((tmp_path / SNAPSHOT_NAME).read_bytes())

    cluster.on_step = on_step
    cluster.run()
    (tmp_path / "kept").replace(tmp_path / SNAPSHOT_NAME)
    (tmp_path / SNAPSHOT_NAME).chmod(0o600)
    keep_last(tmp_path, 10)
    steps = replay(tmp_path)
    assert [step.known for step in steps] == [False] * 6 + [True] * 4
    assert all(step.same for step in steps[6:])


def test_lost_lines_are_noticed(tmp_path: Path) -> None:
    LoopRun(tmp_path, steps=20).run()
    (tmp_path / SNAPSHOT_NAME).unlink()
    lines = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    (tmp_path / OLDER_NAME).write_bytes(b"".join(lines[:8]) + lines[8][:40] + b"\n")
    (tmp_path / NAME).write_bytes(b"".join(lines[9:]))
    run = recorded_run(tmp_path)
    assert run.torn_lines == 1
    steps = list(replayed(run))
    assert [step.known for step in steps] == [True] * 8 + [False] * 11


def test_what_nobody_noted_is_not_guessed(tmp_path: Path) -> None:
    LoopRun(tmp_path / "given", steps=3, make_policy=lambda space, dead_s: Holding()).run()
    with pytest.raises(NotReplayable, match="a policy of the application"):
        replay(tmp_path / "given")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / NAME).write_bytes(encode(plain_record(1)) + b"\n")
    with pytest.raises(NotReplayable, match="name one with --config"):
        replay(tmp_path / "old")
