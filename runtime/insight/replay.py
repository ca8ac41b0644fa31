"""The recorded measurements through the recorded configuration once more.

The controller is deterministic, so the same measurements must give the same decisions, also across
restarts. Where the journal does not hold everything the controller had seen, its decisions need not
agree: such steps are replayed and not compared.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mpc.controller import Controller, Decided
from mpc.events import EventKind
from mpc.horizon.problem import HorizonProblem
from mpc.policies.foresight.policy import ForesightPolicy
from mpc.snapshot import SnapshotRefused, save
from mpc.values import Configuration, Decision
from runtime.build import live_controller
from runtime.control.journal import Resumption, StepRecord, encode
from runtime.control.resume import continue_from, gap, replay
from runtime.control.snapshots import Snapshot, SnapshotFile, fingerprint, read_state
from runtime.control.starts import Start
from runtime.insight.journals import RecordedRun
from runtime.report.words import place

PROGRESS_STEPS = 200


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    record: StepRecord
    decided: Decided
    known: bool
    """Everything the controller had seen is known, so that it must decide as recorded."""

    @property
    def same(self) -> bool:
        """To the last bit: bounds, target, reason, plan, forecast, alternatives."""
        again = replace(
            self.record,
            decision=self.decided.decision,
            bounds=self.decided.bounds,
            target=self.decided.target,
        )
        return encode(again) == encode(self.record)


@dataclass(frozen=True, slots=True)
class Difference:
    """A step that must have been decided the same, and was not."""

    step: int
    at_s: float
    recorded: str
    replayed: str


@dataclass(frozen=True, slots=True)
class ReplayVerdict:
    steps: int
    compared: int
    """Steps whose decision must be the recorded one."""
    same: int
    """Of those."""
    unknown: int
    """Steps for which the journal does not hold all that the policy had seen."""
    same_unknown: int
    differences: tuple[Difference, ...]

    @property
    def words(self) -> str:
        if not self.compared:
            words = "no step can be compared"
        elif self.same == self.compared:
            words = f"{self.compared:,} decisions compared, all exactly as recorded"
        else:
            words = f"{self.compared:,} decisions compared, {self.compared - self.same:,} differ"
        if self.unknown:
            words += (
                f"; {self.unknown:,} not compared, because the journal does not hold all that the "
                f"controller had seen by then ({self.same_unknown:,} of them are the same)"
            )
        return words


class NotReplayable(ValueError):
    """The journal does not say what its decisions were made with."""


def replayed(run: RecordedRun) -> Iterator[ReplayedStep]:
    """Every step again. Raises `NotReplayable` where nobody noted the configuration."""
    steps = _Replay(run)
    for position, record in enumerate(run.records):
        if record.consulted:
            yield steps.step(position, record)


def problem_of(
    run: RecordedRun, position: int, progress: Callable[[str], None]
) -> HorizonProblem | None:
    """The problem that the decision of one record solved, by replaying all that led to it; None
    where it solved none. Raises `NotReplayable`."""
    steps = _Replay(run)
    for number, record in enumerate(run.records[: position + 1]):
        if number % PROGRESS_STEPS == 0:
            progress(f"replaying step {number:,} of {position + 1:,}")
        if record.consulted:
            steps.keep_problem(number == position)
            steps.step(number, record)
    return steps.problem if run.records[position].consulted else None


def verdict(steps: Sequence[ReplayedStep]) -> ReplayVerdict:
    known = [step for step in steps if step.known]
    unknown = [step for step in steps if not step.known]
    differing = [step for step in known if not step.same]
    return ReplayVerdict(
        steps=len(steps),
        compared=len(known),
        same=len(known) - len(differing),
        unknown=len(unknown),
        same_unknown=sum(step.same for step in unknown),
        differences=tuple(_difference(step) for step in differing),
    )


def _difference(step: ReplayedStep) -> Difference:
    record, decided = step.record, step.decided
    recorded = _in_words(record.decision, record.target)
    replayed = _in_words(decided.decision, decided.target)
    if recorded == replayed:
        recorded, replayed = f"{recorded} (as planned then)", f"{replayed} (planned otherwise)"
    return Difference(record.measurement.step, record.at_s, recorded, replayed)


def _in_words(decision: Decision, target: Configuration) -> str:
    words = f"{place(decision.target)}, {decision.reason}"
    return words if target == decision.target else f"{words}; guards: {place(target)}"


def start_of_record(run: RecordedRun, record: StepRecord) -> Start:
    start = run.start(record)
    if start is None:
        raise NotReplayable(
            f"{run.folder} does not say which configuration step "
            f"{record.measurement.step} was decided with; name one with --config"
        )
    if start.given_policy:
        raise NotReplayable(
            f"step {record.measurement.step} was decided by a policy of the application itself"
        )
    return start


class _Replay:
    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._known = False
        self._saved: dict[int, tuple[bytes, bool]] = {}
        """By position: the state after a step that a later start continued from, and whether it is
        known."""
        self._to_save = set(_saved_positions(run.records))
        self._kept: Snapshot | None = None
        self._begun = False
        self._keeps_problem = False
        # A journal may begin with steps at which the controller was not there yet.
        consulted = (record for record in run.records if record.consulted)
        self._controller = self._first(next(consulted, run.records[0]))

    def step(self, position: int, record: StepRecord) -> ReplayedStep:
        held = self._held_before(position)
        if self._begun:
            self._continue(position - held, record)
        self._begun = True
        for earlier in self._run.records[position - held : position]:
            self._controller.step(earlier.measurement)
        policy = self._controller.state.policy
        if isinstance(policy, ForesightPolicy):
            policy.keeps_problem = self._keeps_problem
        decided = self._controller.step(record.measurement)
        done = ReplayedStep(record, decided, self._known)
        self._keep(position, record)
        return done

    def keep_problem(self, keep: bool) -> None:
        self._keeps_problem = keep

    @property
    def problem(self) -> HorizonProblem | None:
        policy = self._controller.state.policy
        return policy.problem if isinstance(policy, ForesightPolicy) else None

    def _held_before(self, position: int) -> int:
        """Steps before it at which its controller was not there yet."""
        before = self._run.records[:position]
        return next((n for n, each in enumerate(reversed(before)) if each.consulted), len(before))

    def _first(self, record: StepRecord) -> Controller:
        self._known = _is_fresh(record)
        if not self._known and self._run.records[-1] is not record:
            # The beginning is gone: what was saved last brings the steps after it back at least.
            last = start_of_record(self._run, self._run.records[-1])
            file = SnapshotFile(self._run.folder, fingerprint(last.config, last.space))
            with suppress(SnapshotRefused):
                self._kept = file.read(self._run.records)
        return _controller(start_of_record(self._run, record))

    def _continue(self, position: int, record: StepRecord) -> None:
        if _has(record, EventKind.STARTED):
            self._controller = _controller(start_of_record(self._run, record))
            self._known = _is_fresh(record)
            if record.resumption is not None:
                self._resume(position, record, record.resumption)
        elif self._run.records[position].measurement.step != (
            self._run.records[position - 1].measurement.step + 1
        ):
            self._known = False  # lines are lost, and what the controller saw in them

    def _resume(self, position: int, record: StepRecord, how: Resumption) -> None:
        """As the restarted controller did."""
        window = self._run.records[max(position - how.records, 0) : position]
        controller = self._controller
        saved = None if how.saved_step is None else _position(window, how.saved_step)
        data = None if saved is None else self._saved.get(position - len(window) + saved)
        if how.saved_step is None or data is None:
            replay(controller, window)
            whole = how.saved_step is None and len(window) == how.records
            self._known = whole and not how.remembered
        else:
            state, self._known = data
            continue_from(Snapshot(how.saved_step, read_state(state)), controller, window)
        if not how.records:
            return
        last = self._run.records[position - 1]
        step_s = start_of_record(self._run, record).config.horizon.step_s
        for missed in gap(last, last.at_s + (how.missed + 1.5) * step_s, step_s):
            controller.step(missed)

    def _keep(self, position: int, record: StepRecord) -> None:
        if position in self._to_save:
            self._saved[position] = (save(self._controller.state), self._known)
        kept = self._kept
        if kept is not None and not self._known and record.measurement.step == kept.step:
            self._controller.state = kept.state
            self._known = True


def _controller(start: Start) -> Controller:
    return live_controller(start.config, start.space)


def _has(record: StepRecord, kind: EventKind) -> bool:
    return any(event.kind is kind for event in record.events)


def _is_fresh(record: StepRecord) -> bool:
    """The first step of a controller that had nothing to continue from."""
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
