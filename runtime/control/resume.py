"""Nothing learned is lost: a saved policy goes on, or the journal goes through a fresh one.

The core is deterministic, so its state after the same measurements is the same state. Measurements
from after a snapshot bring its policy up to date; without one, all that are journaled go through a
fresh policy. So do the last ones through a policy that must be built anew because executors start
faster or slower than it was told.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mpc.bounds import Bounds
from mpc.events import EventKind
from mpc.ports import Policy
from mpc.snapshot import SnapshotRefused
from mpc.values import ConfigurationSpace, Decision, Measurement
from runtime.control.guards import Guards
from runtime.control.journal import StepRecord
from runtime.control.safe import EventLog
from runtime.control.snapshots import Snapshot, SnapshotFile

LONGEST_GAP_STEPS = 600
RELEARNED_STEPS = 300
"""Measurements that go through a new policy while the loop waits: about a second's work."""


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
        )
        for number in range(1, missed + 1)
    )


def resume(policy: Policy, guards: Guards, records: Sequence[StepRecord]) -> None:
    """Bring a fresh policy and fresh guards to where the ones of the records were."""
    for record in records:
        decision = policy.decide(record.measurement, Bounds(guards.space))
        guards.check(record.measurement, decision, record.useful_executors)


class RelearningPolicy:
    """A policy that plans with the start-up time learned so far.

    The dead time is part of how a policy is built. When the learned one has moved by a whole step,
    a new policy takes over, after the last measurements have gone through it. What it had learned
    before those is lost; policies that do not plan with it are therefore given one that stays.
    """

    def __init__(
        self,
        make: Callable[[float], Policy],
        learned_s: Callable[[], float],
        initial_s: float,
        step_s: float,
        space: ConfigurationSpace,
        events: EventLog,
    ) -> None:
        self._make = make
        self._learned_s = learned_s
        self._step_s = step_s
        self._bounds = Bounds(space)
        self._events = events
        self._measurements: deque[Measurement] = deque(maxlen=RELEARNED_STEPS)
        self.dead_time_s = initial_s
        """What the policy plans with."""
        self.policy = make(initial_s)

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        learned_s = self._learned_s()
        if abs(learned_s - self.dead_time_s) >= self._step_s:
            detail = f"{self.dead_time_s:.1f} to {learned_s:.1f} s"
            self._events.add(EventKind.DEAD_TIME_LEARNED, detail)
            self._relearn(learned_s)
        self._remember(measurement)
        return self.policy.decide(measurement, bounds)

    def take_over(self, snapshot: Snapshot, earlier: Iterable[Measurement]) -> None:
        """Go on with a saved policy; `earlier` is what it had seen last."""
        if type(snapshot.policy) is not type(self.policy):
            raise SnapshotRefused(f"of another policy: {type(snapshot.policy).__name__}")
        self.policy = snapshot.policy
        self.dead_time_s = snapshot.dead_time_s
        for measurement in earlier:
            self._remember(measurement)

    def follow(self, record: StepRecord) -> None:
        """One step again, with the dead time of that step and not of today."""
        if record.dead_time_s != self.dead_time_s:
            self._relearn(record.dead_time_s)
        self._remember(record.measurement)
        self.policy.decide(record.measurement, self._bounds)

    def _relearn(self, dead_time_s: float) -> None:
        self.dead_time_s = dead_time_s
        self.policy = self._make(dead_time_s)
        for earlier in self._measurements:
            self.policy.decide(earlier, self._bounds)

    def _remember(self, measurement: Measurement) -> None:
        # Arrays of every key over hundreds of steps are too much to keep, and only balance keys.
        self._measurements.append(replace(measurement, key_frequencies=None, key_cost_cycles=None))


@dataclass(frozen=True, slots=True)
class Resumed:
    """A planner and guards that are where an earlier run ended."""

    planner: RelearningPolicy
    guards: Guards
    how: str
    saved_step: int | None = None
    """After which the policy had been saved; None: the records were replayed."""


def resumed(
    fresh: Callable[[], tuple[RelearningPolicy, Guards]],
    snapshots: SnapshotFile | None,
    records: Sequence[StepRecord],
    events: EventLog,
) -> Resumed:
    """From the snapshot where there is a good one, otherwise from all the records."""
    planner, guards = fresh()
    if not records:
        return Resumed(planner, guards, "nothing")
    try:
        snapshot = None if snapshots is None else snapshots.read(records)
        if snapshot is not None:
            replayed = go_on(snapshot, planner, guards, records)
            how = f"saved after step {snapshot.step}, {replayed} steps replayed"
            return Resumed(planner, guards, how, snapshot.step)
    except Exception as error:
        # Whatever is wrong with it: the journal is there as well.
        events.add(EventKind.SNAPSHOT_REFUSED, str(error))
        planner, guards = fresh()
    resume(planner, guards, records)
    return Resumed(planner, guards, f"{len(records)} steps replayed")


def go_on(
    snapshot: Snapshot, planner: RelearningPolicy, guards: Guards, records: Sequence[StepRecord]
) -> int:
    """Like `resume`, from a snapshot of one of the records on; returns the steps replayed."""
    earlier = [record for record in records if record.measurement.step <= snapshot.step]
    later = records[len(earlier) :]
    planner.take_over(snapshot, (record.measurement for record in earlier))
    for record in later:
        planner.follow(record)
    for record in records:
        # What the policy decided then is journaled, so that nothing need be decided again.
        guards.check(record.measurement, record.decision, record.useful_executors)
    return len(later)
