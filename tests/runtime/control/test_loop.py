"""The loop decides every step, writes it down, and survives whatever its parts do."""

import threading
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.policies import descent_settings
from mpc.bounds import Bounds
from mpc.events import EventKind
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement
from runtime.control.clock import StepClock
from runtime.control.journal import StepRecord, read
from tests.runtime.control.cluster import SHORT, LoopRun, ManualTime


def kinds(record: StepRecord) -> set[EventKind]:
    return {event.kind for event in record.events}


def test_every_step_is_decided_applied_and_journaled(tmp_path: Path) -> None:
    cluster = LoopRun(tmp_path)
    seen = cluster.run()
    assert [record.measurement.step for record in seen] == list(range(30))
    journaled = list(read(tmp_path))
    assert [record.target for record in journaled] == [record.target for record in seen]
    assert cluster.cluster is not None
    assert cluster.cluster.targets == [record.target for record in seen]
    assert cluster.fleet is not None
    hosts = frozenset(info.host for info in cluster.scheduler.executors())
    assert cluster.fleet.requests[-1][0] == seen[-1].target.frequency_khz
    assert cluster.fleet.requests[-1][1] <= hosts | {"127.0.0.2", "127.0.0.3"}
    assert len({record.target for record in seen}) > 2, "the wave should move the target"
    assert journaled[-1].queries == ({"query": "q", "activity": "fresh"},)
    assert journaled[-1].start_up.registered_s
    assert all(record.took_s is not None and record.took_s >= 0 for record in seen)


def test_requests_are_told_as_changes(tmp_path: Path) -> None:
    seen = LoopRun(tmp_path).run()
    for record in seen:
        moved = record.applied.requested.executors - record.measurement.requested.executors
        assert (EventKind.SCALED_OUT in kinds(record)) == (moved > 0)
        assert (EventKind.SCALED_IN in kinds(record)) == (moved < 0)
    assert any(EventKind.SCALED_OUT in kinds(record) for record in seen)


def test_advise_touches_nothing(tmp_path: Path) -> None:
    cluster = LoopRun(tmp_path, options=(*SHORT, "mode=advise"))
    seen = cluster.run()
    assert cluster.touched == (0, 0)
    assert all(record.applied.requested.executors == 2 for record in seen)
    assert any(EventKind.ADVISED in kinds(record) for record in seen)
    assert not any({EventKind.SCALED_OUT, EventKind.SCALED_IN} & kinds(record) for record in seen)


def test_without_agents_there_is_one_frequency(tmp_path: Path) -> None:
    seen = LoopRun(tmp_path, fleet=None).run()
    assert {record.target.frequency_khz for record in seen} == {2_000_000}
    assert {record.applied.observed.frequency_khz for record in seen} == {2_000_000}


def test_a_failing_sensor_holds_and_the_loop_goes_on(tmp_path: Path) -> None:
    seen = LoopRun(tmp_path, failing=frozenset({5, 6, 7})).run()
    assert len(seen) == 30
    for record in seen[5:8]:
        assert EventKind.STEP_FAILED in kinds(record)
        assert record.measurement.arrivals_per_s is None
        assert record.target.executors >= record.measurement.requested.executors
        assert record.target.frequency_khz >= record.measurement.requested.frequency_khz
    assert seen[8].measurement.arrivals_per_s is not None


def test_stale_measurements_never_scale_in(tmp_path: Path) -> None:
    """Whatever a policy wants: this one always wants the least."""

    class Least:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            return Decision(Configuration(1, 1_000_000), "least")

    cluster = LoopRun(
        tmp_path,
        (*SHORT, "slo.latency_ms=60000", *descent_settings("static-1")),
        steps=12,
        stale=frozenset(range(6)),
        make_policy=lambda space, dead_s: Least(),
    )
    seen = cluster.run()
    assert {record.applied.requested for record in seen[:6]} == {Configuration(2, 2_000_000)}
    assert all(EventKind.HELD_STALE_MEASUREMENT in kinds(record) for record in seen[:6])
    assert seen[6].applied.requested == Configuration(1, 1_000_000)


def test_a_failing_policy_holds(tmp_path: Path) -> None:
    class Broken:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            raise ZeroDivisionError("by zero")

    cluster = LoopRun(tmp_path, steps=5, make_policy=lambda space, dead_s: Broken())
    seen = cluster.run()
    assert [record.target for record in seen] == [Configuration(2, 2_000_000)] * 5
    detail = next(e.detail for e in seen[0].events if e.kind == EventKind.STEP_FAILED)
    assert detail == "policy: ZeroDivisionError: by zero"


def test_a_cluster_that_takes_no_orders_is_an_event(tmp_path: Path) -> None:
    seen = LoopRun(tmp_path, steps=4, failure=OSError("no driver")).run()
    assert len(seen) == 4
    assert all(EventKind.STEP_FAILED in kinds(record) for record in seen)
    assert seen[-1].applied.observed.executors == 2


def test_a_listener_that_raises_disturbs_nothing(tmp_path: Path) -> None:
    def angry(record: StepRecord) -> None:
        raise RuntimeError("no")

    assert len(LoopRun(tmp_path, steps=4, on_step=angry).run()) == 4
    assert len(list(read(tmp_path))) == 4


def test_stop_releases_the_agents_once_and_leaves_the_executors(tmp_path: Path) -> None:
    began = threading.Event()
    cluster = LoopRun(tmp_path, steps=10**9, on_step=lambda record: began.set())
    with cluster.start() as loop:
        assert began.wait(60.0)
    loop.stop()
    assert not loop.running
    assert cluster.fleet is not None
    assert cluster.fleet.closed == 1
    assert cluster.scheduler.executors()


def test_the_power_is_modelled_where_nobody_reads_it(tmp_path: Path) -> None:
    without = LoopRun(tmp_path / "a", steps=2).run()
    assert without[-1].measurement.power_w is None
    options = (*SHORT, "power.full_power_w=120")
    seen = LoopRun(tmp_path / "b", steps=2, options=options).run()
    assert 0 < (seen[-1].measurement.power_w or 0) <= 120
    assert seen[-1].measurement.power_source == "modelled"


def test_the_space_ends_where_the_cluster_does(tmp_path: Path) -> None:
    spaces: list[ConfigurationSpace] = []

    class Hold:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            return Decision(Configuration(99, 2_000_000), "all")

    def make(space: ConfigurationSpace, dead_s: float) -> Hold:
        spaces.append(space)
        return Hold()

    cluster = LoopRun(tmp_path, steps=3, most_executors=3, make_policy=make)
    assert {record.target.executors for record in cluster.run()} == {3}
    assert spaces[0].max_executors == 3


def test_a_cluster_smaller_than_the_minimum_is_refused(tmp_path: Path) -> None:
    options = (*SHORT, "executors.min=4")
    with pytest.raises(ValueError, match=r"raise spark\.cores\.max"):
        LoopRun(tmp_path, options=options, most_executors=3).start()


def test_steps_keep_their_schedule_and_leave_out_what_was_slept_through() -> None:
    time = ManualTime()
    clock = StepClock(2.0, time, lambda: time.now_s)
    began_s = time.now_s
    starts, missed = [], []
    for busy_s in (0.5, 1.9, 7.5, 0.1):
        assert clock.wait_for_step()
        starts.append(time.now_s - began_s)
        missed.append(clock.missed_steps)
        time.now_s += busy_s
    # The third step lasted until 13.5: those of 8 and 10 are gone, that of 12 is late by 1.5.
    assert starts == pytest.approx([2.0, 4.0, 6.0, 13.5])
    assert clock.since_due_s() == pytest.approx(1.6)
    assert missed == [0, 0, 0, 2]
    assert clock.wait_for_step()
    assert time.now_s - began_s == pytest.approx(14.0)


def test_the_clock_ends_with_the_stop() -> None:
    time = ManualTime()
    clock = StepClock(1.0, time, lambda: time.now_s)
    assert clock.wait_for_step()
    time.set()
    assert not clock.wait_for_step()


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        "scale out",
        Decision(cast(Any, None), "no target"),
        Decision(Configuration(cast(Any, 2.5), 2_000_000), "half an executor"),
        Decision(Configuration(cast(Any, None), cast(Any, None)), "nothing"),
    ],
)
def test_a_policy_that_decides_nonsense_once_costs_one_step(
    tmp_path: Path, nonsense: Decision
) -> None:
    class Confused:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            return nonsense if measurement.step == 2 else Decision(Configuration(3, 1_000_000), "")

    seen = LoopRun(tmp_path, steps=6, make_policy=lambda space, dead_s: Confused()).run()
    assert len(seen) == 6
    assert [EventKind.STEP_FAILED in kinds(record) for record in seen] == [
        record.measurement.step == 2 for record in seen
    ]
    assert seen[2].target == seen[2].measurement.requested
    assert seen[3].decision.target == Configuration(3, 1_000_000)


@pytest.mark.parametrize("error", [SystemExit(3), RuntimeError("no"), KeyboardInterrupt()])
def test_nothing_a_policy_raises_ends_the_loop(tmp_path: Path, error: BaseException) -> None:
    class Ending:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            if measurement.step == 2:
                raise error
            return Decision(measurement.requested, "hold")

    seen = LoopRun(tmp_path, steps=6, make_policy=lambda space, dead_s: Ending()).run()
    assert [record.measurement.step for record in seen[-3:]] == [3, 4, 5]
    assert any(EventKind.STEP_FAILED in kinds(record) for record in seen)


@pytest.mark.parametrize("part", ["measure", "steer", "watch", "details", "is_alive"])
def test_nothing_a_cluster_raises_ends_the_loop(tmp_path: Path, part: str) -> None:
    """One call fails, between two steps that are well."""
    # Advice watches and does not steer.
    options = (*SHORT, "mode=advise") if part == "watch" else SHORT
    run = LoopRun(tmp_path, options, steps=8)
    failed: list[str] = []

    def break_once(record: StepRecord) -> None:
        if record.measurement.step == 2:
            working = getattr(run.cluster, part)

            def fail(*_: object) -> None:
                setattr(run.cluster, part, working)
                failed.append(part)
                raise RuntimeError("the gateway is gone")

            setattr(run.cluster, part, fail)

    run.on_step = break_once
    seen = run.run()
    assert failed == [part]
    assert any(EventKind.STEP_FAILED in kinds(record) for record in seen)
    assert seen[-1].measurement.step >= 6


def test_a_listener_that_ends_its_process_does_not_end_the_loop(tmp_path: Path) -> None:
    def leave(record: StepRecord) -> None:
        raise SystemExit(1)

    assert len(LoopRun(tmp_path, steps=4, on_step=leave).run()) == 4
