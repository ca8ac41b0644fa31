"""A controller that goes on where an earlier run ended.

The core is deterministic, so its state after the same measurements is the same state. Measurements
from after a snapshot bring it up to date; without one, all that are journaled go through a fresh
controller.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpc.controller import Controller
from mpc.events import Event, EventKind, Events
from mpc.snapshot import SnapshotRefused
from mpc.values import Measurement
from runtime.control.journal import StepRecord
from runtime.control.snapshots import Snapshot, SnapshotFile

LONGEST_GAP_STEPS = 600


@dataclass(frozen=True, slots=True)
class ResumedController:
    controller: Controller
    source: str
    """What it learned from, in words."""
    saved_step: int | None = None
    """After which it had been saved; None: the records were replayed."""
    events: Events = ()


def resume(
    fresh: Callable[[], Controller], snapshots: SnapshotFile | None, records: Sequence[StepRecord]
) -> ResumedController:
    """From the snapshot where there is a good one, otherwise from all the records."""
    controller = fresh()
    problems: Events = ()
    if not records:
        return ResumedController(controller, "nothing")
    try:
        snapshot = None if snapshots is None else snapshots.read(records)
        if snapshot is not None:
            replayed = continue_from(snapshot, controller, records)
            source = f"saved after step {snapshot.step}, {replayed} steps replayed"
            return ResumedController(controller, source, snapshot.step)
    except Exception as error:
        # Whatever is wrong with it: the journal is there as well.
        problems = (Event(EventKind.SNAPSHOT_REFUSED, str(error)),)
        controller = fresh()
    replay(controller, records)
    return ResumedController(controller, f"{len(records)} steps replayed", events=problems)


def replay(controller: Controller, records: Sequence[StepRecord]) -> None:
    for record in records:
        controller.step(record.measurement)


def continue_from(snapshot: Snapshot, controller: Controller, records: Sequence[StepRecord]) -> int:
    """Take over what was saved after one of the records; returns the steps replayed since."""
    if type(snapshot.state.policy) is not type(controller.state.policy):
        name = type(snapshot.state.policy).__name__
        raise SnapshotRefused(f"of another policy: {name}")
    controller.state = snapshot.state
    later = [record for record in records if record.measurement.step > snapshot.step]
    replay(controller, later)
    return len(later)


def gap(last: StepRecord, now_s: float, step_s: float) -> tuple[Measurement, ...]:
    """Empty measurements for the steps nobody measured, so that a season keeps its phase."""
    missed = min(int((now_s - last.at_s) / step_s) - 1, LONGEST_GAP_STEPS)
    known = last.measurement
    return tuple(
        Measurement(
            step=known.step + number,
            time_s=known.time_s + number * step_s,
            requested=last.applied.requested,
            observed=last.applied.observed,
            clock_s=None if known.clock_s is None else known.clock_s + number * step_s,
        )
        for number in range(1, missed + 1)
    )
