"""The recorded measurements through the recorded configuration once more.

The core is deterministic, so the same measurements must give the same decisions, also across
restarts and where the policy was built anew for another dead time. Where the journal does not hold
everything the policy had seen, its decisions need not agree: such steps are replayed and not held
against anyone.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mpc.bounds import Bounds
from mpc.events import EventKind
from mpc.ports import Policy
from mpc.snapshot import SnapshotRefused, load, save
from mpc.values import Configuration, Decision
from runtime.build import live_policy, live_power
from runtime.control.guards import Guards
from runtime.control.journal import Resumption, StepRecord, encode
from runtime.control.resume import RELEARNED_STEPS, RelearningPolicy, gap, go_on, resume
from runtime.control.safe import EventLog
from runtime.control.snapshots import Snapshot, SnapshotFile, fingerprint
from runtime.control.starts import Start
from runtime.insight.journals import RecordedRun

_FAILED = "the policy failed: hold"


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    record: StepRecord
    decision: Decision
    target: Configuration
    """What the guards left of it."""
    decision_known: bool
    """Everything the policy had seen is known, so that the decision must be the recorded one."""
    target_known: bool
    same_decision: bool
    """To the last bit: target, reason, plan, forecast, alternatives."""
    same_target: bool


class NotReplayable(ValueError):
    """The journal does not say what its decisions were made with."""


def replayed(run: RecordedRun) -> Iterator[ReplayedStep]:
    """Every step again. Raises `NotReplayable` where nobody noted the configuration."""
    replay = _Replay(run)
    for position, record in enumerate(run.records):
        yield replay.step(position, record)


class Deciding:
    """A policy and guards as a live controller has them, with the dead time told from outside."""

    def __init__(self, start: Start, dead_time_s: float) -> None:
        power, config = live_power(start.config), start.config
        self.dead_time_s = dead_time_s
        self.bounds = Bounds(start.space)

        def make(seconds: float) -> Policy:
            return live_policy(config, start.space, power, seconds)

        self.planner = RelearningPolicy(
            make,
            lambda: self.dead_time_s,
            dead_time_s,
            config.horizon.step_s,
            start.space,
            EventLog(),
        )
        self.guards = Guards(start.space, config.slo.latency_ms / 1e3)


class _Replay:
    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._policy_known = self._guards_known = False
        self._remembered = 0
        """Measurements that the planner surely remembers as the live one did."""
        self._saved: dict[int, tuple[bytes, float, bool]] = {}
        """By position: the policy after a step that a later start went on from, its dead time, and
        whether it is known."""
        self._to_save = set(_saved_positions(run.records))
        self._kept: Snapshot | None = None
        self._deciding = self._first(run.records[0])

    def step(self, position: int, record: StepRecord) -> ReplayedStep:
        if position > 0:
            self._go_on(position, record)
        deciding = self._deciding
        if record.dead_time_s != deciding.planner.dead_time_s:
            # Built anew from what it remembers, and from nothing else.
            self._policy_known = self._remembered >= RELEARNED_STEPS
        deciding.dead_time_s = record.dead_time_s
        try:
            decision = deciding.planner.decide(record.measurement, deciding.bounds)
        except Exception:
            # As the live loop does; whether it failed then too is for the comparison to say.
            decision = Decision(record.measurement.requested, _FAILED)
        self._remembered += 1
        guarded = deciding.guards.check(record.measurement, decision, record.useful_executors)
        done = ReplayedStep(
            record=record,
            decision=decision,
            target=guarded.target,
            decision_known=self._policy_known,
            target_known=self._policy_known and self._guards_known,
            same_decision=encode(replace(record, decision=decision)) == encode(record),
            same_target=guarded.target == record.target,
        )
        self._keep(position, record)
        return done

    def _first(self, record: StepRecord) -> Deciding:
        start = self._start(record)
        if _is_fresh(record):
            self._know_all()
        elif self._run.records[-1] is not record:
            # The beginning is gone: what was saved last brings the steps after it back at least.
            last = self._start(self._run.records[-1])
            file = SnapshotFile(self._run.folder, fingerprint(last.config, last.space), last.space)
            with suppress(SnapshotRefused):
                self._kept = file.read(self._run.records)
        return Deciding(start, record.dead_time_s)

    def _go_on(self, position: int, record: StepRecord) -> None:
        if _has(record, EventKind.STARTED):
            start = self._start(record)
            resumption = record.resumption
            if resumption is None:
                self._forget()
                if _is_fresh(record):
                    self._know_all()
                self._deciding = Deciding(start, record.dead_time_s)
            else:
                self._resume(position, start, resumption)
        elif record.measurement.step != self._run.records[position - 1].measurement.step + 1:
            self._forget()  # lines are lost, and what the policy saw in them

    def _resume(self, position: int, start: Start, how: Resumption) -> None:
        """As the restarted controller did."""
        window = self._run.records[max(position - how.records, 0) : position]
        whole = len(window) == how.records
        self._forget()
        deciding = self._deciding = Deciding(start, how.dead_time_s)
        planner, guards = deciding.planner, deciding.guards
        if how.saved_step is None:
            resume(planner, guards, window)
            self._policy_known = whole
        else:
            saved = _position(window, how.saved_step)
            data = None if saved is None else self._saved.get(position - len(window) + saved)
            if data is None:
                resume(planner, guards, window)
            else:
                policy, dead_time_s, self._policy_known = data
                snapshot = Snapshot(how.saved_step, dead_time_s, load(policy))
                go_on(snapshot, planner, guards, window)
        self._guards_known = whole
        self._remembered = RELEARNED_STEPS if whole else len(window)
        if how.missed:
            if planner.dead_time_s != how.dead_time_s:
                self._policy_known = whole
            deciding.dead_time_s = how.dead_time_s
            last, step_s = self._run.records[position - 1], start.config.horizon.step_s
            for missed in gap(last, last.at_s + (how.missed + 1.5) * step_s, step_s):
                planner.decide(missed, deciding.bounds)

    def _keep(self, position: int, record: StepRecord) -> None:
        planner = self._deciding.planner
        if position in self._to_save:
            self._saved[position] = (save(planner.policy), planner.dead_time_s, self._policy_known)
        kept = self._kept
        if kept is not None and not self._policy_known and record.measurement.step == kept.step:
            planner.take_over(kept, ())
            self._policy_known = True

    def _start(self, record: StepRecord) -> Start:
        start = self._run.start(record)
        if start is None:
            raise NotReplayable(
                f"{self._run.folder} does not say which configuration step "
                f"{record.measurement.step} was decided with; name one with --config"
            )
        if start.given_policy:
            raise NotReplayable(
                f"step {record.measurement.step} was decided by a policy of the application itself"
            )
        return start

    def _know_all(self) -> None:
        self._policy_known = self._guards_known = True
        self._remembered = RELEARNED_STEPS

    def _forget(self) -> None:
        self._policy_known = self._guards_known = False
        self._remembered = 0


def _has(record: StepRecord, kind: EventKind) -> bool:
    return any(event.kind is kind for event in record.events)


def _is_fresh(record: StepRecord) -> bool:
    """The first step of a controller that had nothing to go on from."""
    return _has(record, EventKind.STARTED) and not _has(record, EventKind.RESUMED)


def _position(window: Sequence[StepRecord], step: int) -> int | None:
    steps = [record.measurement.step for record in window]
    return len(steps) - 1 - steps[::-1].index(step) if step in steps else None


def _saved_positions(records: Sequence[StepRecord]) -> Iterator[int]:
    for position, record in enumerate(records):
        how = record.resumption
        if how is None or how.saved_step is None:
            continue
        begin = max(position - how.records, 0)
        saved = _position(records[begin:position], how.saved_step)
        if saved is not None:
            yield begin + saved
