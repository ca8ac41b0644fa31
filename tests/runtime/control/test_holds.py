"""While it is paused or excluded a controller decides and journals, and touches nothing."""

from datetime import UTC, datetime
from pathlib import Path

from mpc.events import EventKind
from runtime.config.cron import parse_period
from runtime.control.holds import NAME, Holds, pause, paused, resume
from runtime.control.journal import StepRecord, read
from runtime.report.words import why
from tests.runtime.control.cluster import SHORT, LoopRun, restarted


def kinds(record: StepRecord) -> set[EventKind]:
    return {event.kind for event in record.events}


def test_a_pause_holds_from_the_next_step_until_it_is_resumed(tmp_path: Path) -> None:
    touched: list[tuple[int, int]] = []

    def between(record: StepRecord) -> None:
        touched.append(cluster.touched)
        if record.measurement.step == 9:
            assert pause(tmp_path, 1.0, "the database moves")
        if record.measurement.step == 19:
            assert resume(tmp_path)

    cluster = LoopRun(tmp_path, on_step=between)
    seen = cluster.run()
    held = [record for record in seen if EventKind.HELD_PAUSED in kinds(record)]
    assert [record.measurement.step for record in held] == list(range(10, 20))
    assert touched[9] == touched[19] < touched[20]
    assert {record.applied.requested for record in held} == {seen[9].applied.requested}
    assert len({record.target for record in held}) > 1, "it goes on deciding"
    assert not any({EventKind.SCALED_OUT, EventKind.SCALED_IN} & kinds(record) for record in held)
    assert [record.target for record in read(tmp_path)] == [record.target for record in seen]
    moved = next(record for record in held if record.target != record.measurement.requested)
    assert "would " in why(moved).lower()
    assert "the controller is paused (the database moves)" in why(moved)


def test_a_pause_survives_a_restart(tmp_path: Path) -> None:
    first = LoopRun(tmp_path, steps=10)
    first.run()
    pause(tmp_path, 1.0)
    second = restarted(first, 5)
    before = second.touched
    seen = second.run()
    assert len(seen) == 5
    assert all(EventKind.HELD_PAUSED in kinds(record) for record in seen)
    assert second.touched == before


def test_an_excluded_period_holds(tmp_path: Path) -> None:
    # The cluster's clock starts at 1000 s: 00:16:40 in UTC; minute 17 begins at 1020 s.
    options = (*SHORT, 'schedule.exclude=["17 0 * * *"]', 'schedule.timezone="UTC"')
    seen = LoopRun(tmp_path, options=options).run()
    for record in seen:
        assert (EventKind.HELD_EXCLUDED_PERIOD in kinds(record)) == (record.at_s >= 1020)
    assert any(record.at_s >= 1020 for record in seen)


def test_a_second_pause_keeps_the_first(tmp_path: Path) -> None:
    assert paused(tmp_path) is None
    assert pause(tmp_path, 5.0, "first")
    assert not pause(tmp_path, 6.0, "second")
    found = paused(tmp_path)
    assert found is not None
    assert (found.since_s, found.reason) == (5.0, "first")
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert resume(tmp_path)
    assert not resume(tmp_path)


def test_a_pause_nobody_can_read_is_a_pause(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"\xff{")
    assert paused(tmp_path) is not None
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    found = paused(tmp_path)
    assert found is not None
    assert "cannot be read" in found.reason


def test_periods_are_in_their_time_zone(tmp_path: Path) -> None:
    noon_s = datetime(2026, 3, 1, 12, 0, tzinfo=UTC).timestamp()
    periods = [parse_period("* 12 * * *")]
    assert Holds(tmp_path, periods, UTC, lambda: noon_s).blocking() is not None
    assert Holds(tmp_path, periods, UTC, lambda: noon_s + 3600.0).blocking() is None
