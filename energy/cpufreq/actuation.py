"""Lowers frequencies, all policies of a command or none: check, write, read back, undo on an error.

Two ways behind one interface: cap the limits, or, opt-in, switch to the userspace governor and set
a speed. What may be done, and in which order, is decided by the caller; nothing here remembers
anything.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from energy.cpufreq.attributes import read_khz, read_text, write_text
from energy.cpufreq.discover import present
from energy.cpufreq.limits import PAUSES_S, Wait, check_request, read_limits
from energy.cpufreq.originals import USERSPACE, Original, Written, read_speed, save_original
from energy.cpufreq.policy import (
    Attribute,
    CpuPolicy,
    FrequencyLimits,
    LimitOutcome,
    LimitRequest,
    expected_max_khz,
    expected_min_khz,
)
from energy.cpufreq.throttling import Throttling
from energy.errors import HostError, ModeUnsupported, PolicyUnknown
from energy.tree import Tree

ActuationMode = Literal["cap", "userspace"]


@dataclass(frozen=True, slots=True)
class WriteStep:
    """One write, and how to undo it."""

    policy: str
    attribute: Attribute
    text: str
    before: str
    """What was read before."""
    undo: str | None
    """What to write to have that again: not always the same, since a throttle must not become a
    limit. None: the undoing of an earlier step takes this along."""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One request with what was in force before, what is written, and in which steps."""

    policy: CpuPolicy
    request: LimitRequest
    before: FrequencyLimits
    target: FrequencyLimits
    steps: tuple[WriteStep, ...]


class FrequencyActuator(ABC):
    """What both ways share: the order of a command, and its undoing."""

    switches_governor: ClassVar[bool]

    def __init__(
        self,
        tree: Tree,
        floor_khz: int | None = None,
        may_move_minimum: bool = False,
        wait: Wait = time.sleep,
    ) -> None:
        """`floor_khz`: the lowest frequency that may come into force."""
        self._tree = tree
        self._floor_khz = floor_khz
        self._may_move_minimum = may_move_minimum
        self._wait = wait

    @abstractmethod
    def read(self, policy: CpuPolicy) -> FrequencyLimits | None:
        """The values in force of what is written here (the speed as the upper one under userspace);
        None under a governor that somebody else chose."""

    @abstractmethod
    def is_unchanged(self, policy: CpuPolicy, last: FrequencyLimits, with_minimum: bool) -> bool:
        """Whether the policy reads as it did, at the least cost: this is asked every second.

        The lower limit counts only where it was moved from here; a throttle pushes any other down.
        """

    @abstractmethod
    def writes_of(self, policy: CpuPolicy, request: LimitRequest) -> Written:
        """Everything that carrying out the request may write."""

    def save_original(self, policy: CpuPolicy) -> Original:
        return save_original(self._tree, policy, with_governor=self.switches_governor)

    def check(self, policy: CpuPolicy, request: LimitRequest) -> None:
        """Raise unless the request can be carried out; reads, but writes nothing."""
        self._check(policy, request, read_limits(self._tree, policy))

    def apply(
        self,
        policies: Mapping[str, CpuPolicy],
        requests: Sequence[LimitRequest],
        previous: Mapping[str, LimitRequest] | None = None,
    ) -> tuple[LimitOutcome, ...]:
        """Carry out all requests or none: after an error, what was written is put back.

        `previous` is what the caller had last asked of each policy: it is put back where it is
        still in force, also under a throttle. Anything else is put back as it was read.
        """
        throttling = Throttling(self._tree)
        changes = []
        for request in requests:
            if request.policy not in policies:
                raise PolicyUnknown(request.policy)
            policy = present(self._tree, policies[request.policy])
            before = read_limits(self._tree, policy)
            self._check(policy, request, before)
            asked_before = (previous or {}).get(request.policy)
            changes.append(self._plan(policy, request, before, asked_before, throttling))
        written: list[WriteStep] = []
        failing: WriteStep | None = None
        try:
            for change in changes:
                for step in change.steps:
                    failing = step
                    write_text(self._tree, step.policy, step.attribute, step.text)
                    written.append(step)
                    failing = None
            after = self._read_back(changes, throttling)
        except HostError as error:
            self._put_back(written, failing, error)
            raise
        return tuple(
            LimitOutcome.of(change.request, limits)
            for change, limits in zip(changes, after, strict=True)
        )

    @abstractmethod
    def _plan(
        self,
        policy: CpuPolicy,
        request: LimitRequest,
        before: FrequencyLimits,
        previous: LimitRequest | None,
        throttling: Throttling,
    ) -> PlannedChange: ...

    @abstractmethod
    def _read_back(
        self, changes: Sequence[PlannedChange], throttling: Throttling
    ) -> list[FrequencyLimits]:
        """What is in force of each change once it can be its result."""

    def _check(self, policy: CpuPolicy, request: LimitRequest, limits: FrequencyLimits) -> None:
        check_request(policy, request, limits, self._floor_khz, self._may_move_minimum)

    def _put_back(
        self, written: Sequence[WriteStep], failing: WriteStep | None, error: HostError
    ) -> None:
        """Undo every step, the last first; what cannot be undone becomes a note of the error."""
        for step in reversed([*written, *([] if failing is None else [failing])]):
            try:
                # A write that failed has changed nothing, unless the file says otherwise.
                if step is failing:
                    present_text = read_text(self._tree, step.policy, step.attribute)
                    if present_text == step.before:
                        continue
                if step.undo is not None:
                    write_text(self._tree, step.policy, step.attribute, step.undo)
            except HostError as second:
                error.add_note(f"{step.policy}: {step.attribute} could not be put back: {second}")


class CapActuator(FrequencyActuator):
    """`scaling_max_freq`, and `scaling_min_freq` where allowed.

    The kernel clamps silently and applies a limit from a work item a moment later, so what was
    asked and what is in force are read back and reported apart. Governor and driver mode are left
    alone.
    """

    switches_governor = False

    def read(self, policy: CpuPolicy) -> FrequencyLimits | None:
        return read_limits(self._tree, policy)

    def is_unchanged(self, policy: CpuPolicy, last: FrequencyLimits, with_minimum: bool) -> bool:
        if read_khz(self._tree, policy.name, "scaling_max_freq") != last.max_khz:
            return False
        if not with_minimum:
            return True
        return read_khz(self._tree, policy.name, "scaling_min_freq") == last.min_khz

    def writes_of(self, _: CpuPolicy, request: LimitRequest) -> Written:
        min_khz = () if request.min_khz is None else (request.min_khz,)
        return Written(max_khz=(request.max_khz,), min_khz=min_khz)

    def _plan(
        self,
        policy: CpuPolicy,
        request: LimitRequest,
        before: FrequencyLimits,
        previous: LimitRequest | None,
        throttling: Throttling,
    ) -> PlannedChange:
        # Entries of the table where there is one. The kernel would find them itself, but lifts a
        # cap between two entries to the upper one once somebody raises the lower limit above it.
        max_khz = expected_max_khz(policy, request.max_khz)
        wanted_khz = before.min_khz if request.min_khz is None else request.min_khz
        min_khz = expected_min_khz(policy, wanted_khz, policy.highest_khz)

        def step(attribute: Attribute, khz: int, before_khz: int, undo_khz: int) -> WriteStep:
            # Plain decimal: the kernel reads a leading 0 as octal.
            return WriteStep(policy.name, attribute, str(khz), str(before_khz), str(undo_khz))

        undo_khz = _undo_max(policy, before, previous, throttling)
        steps = [step("scaling_max_freq", max_khz, before.max_khz, undo_khz)]
        if request.min_khz is not None:
            undo_khz = _undo_min(policy, before, previous)
            # Lowering writes the lower limit first, raising the upper: they never cross.
            place = 0 if max_khz < before.max_khz else 1
            steps.insert(place, step("scaling_min_freq", min_khz, before.min_khz, undo_khz))
        return PlannedChange(
            policy, request, before, FrequencyLimits(min_khz, max_khz), tuple(steps)
        )

    def _read_back(
        self, changes: Sequence[PlannedChange], throttling: Throttling
    ) -> list[FrequencyLimits]:
        after = [read_limits(self._tree, change.policy) for change in changes]
        for pause_s in PAUSES_S:
            late = [
                number
                for number, change in enumerate(changes)
                if not _in_force(change, after[number], throttling)
            ]
            if not late:
                break
            self._wait(pause_s)
            for number in late:
                after[number] = read_limits(self._tree, changes[number].policy)
        return after


class SpeedActuator(FrequencyActuator):
    """Governor and speed; limits are left alone.

    The kernel drops what the driver answers to a speed and rounds up within the limits, so a speed
    is moved down to the table first and read back afterwards.
    """

    switches_governor = True

    def read(self, policy: CpuPolicy) -> FrequencyLimits | None:
        limits = read_limits(self._tree, policy)
        speed_khz = read_speed(self._tree, policy)
        return None if speed_khz is None else FrequencyLimits(limits.min_khz, speed_khz)

    def is_unchanged(self, policy: CpuPolicy, last: FrequencyLimits, _: bool) -> bool:
        return read_speed(self._tree, policy) == last.max_khz

    def writes_of(self, policy: CpuPolicy, request: LimitRequest) -> Written:
        speed_khz = expected_max_khz(policy, request.max_khz)
        return Written(governor_switched=True, speed_khz=(speed_khz,))

    def _check(self, policy: CpuPolicy, request: LimitRequest, limits: FrequencyLimits) -> None:
        if USERSPACE not in policy.governors:
            raise ModeUnsupported(
                f"{policy.name}: {policy.driver} has no userspace governor, "
                f"only {', '.join(policy.governors)}"
            )
        check_request(policy, request, limits, self._floor_khz, may_move_minimum=False)

    def _plan(
        self,
        policy: CpuPolicy,
        request: LimitRequest,
        before: FrequencyLimits,
        *_: object,
    ) -> PlannedChange:
        name = policy.name
        governor = read_text(self._tree, name, "scaling_governor")
        speed = read_text(self._tree, name, "scaling_setspeed")
        speed_khz = expected_max_khz(policy, request.max_khz)
        target = FrequencyLimits(before.min_khz, speed_khz)
        undo = speed if governor == USERSPACE else None
        steps = [WriteStep(name, "scaling_setspeed", str(speed_khz), speed, undo)]
        if governor != USERSPACE:
            switch = WriteStep(name, "scaling_governor", USERSPACE, governor, undo=governor)
            steps.insert(0, switch)
        return PlannedChange(policy, request, before, target, tuple(steps))

    def _read_back(self, changes: Sequence[PlannedChange], _: Throttling) -> list[FrequencyLimits]:
        return [self._in_force(change.policy) for change in changes]

    def _in_force(self, policy: CpuPolicy) -> FrequencyLimits:
        speed_khz = read_speed(self._tree, policy)
        if speed_khz is None:  # somebody has switched the governor in this moment
            speed_khz = read_khz(self._tree, policy.name, "scaling_cur_freq")
        return FrequencyLimits(read_limits(self._tree, policy).min_khz, speed_khz)


ACTUATORS: dict[ActuationMode, type[FrequencyActuator]] = {
    "cap": CapActuator,
    "userspace": SpeedActuator,
}


def _in_force(change: PlannedChange, limits: FrequencyLimits, throttling: Throttling) -> bool:
    """Whether these limits can be the result, and not only what was there before."""
    max_khz = change.target.max_khz
    if limits.max_khz == change.before.max_khz != max_khz and not (
        limits.max_khz < max_khz and throttling.holds(change.policy, limits.max_khz)
    ):
        return False
    if change.request.min_khz is None or limits.min_khz != change.before.min_khz:
        return True
    return limits.min_khz == min(change.target.min_khz, limits.max_khz)


def _undo_max(
    policy: CpuPolicy,
    before: FrequencyLimits,
    previous: LimitRequest | None,
    throttling: Throttling,
) -> int:
    if previous is not None:
        expected_khz = expected_max_khz(policy, previous.max_khz)
        hidden = before.max_khz < expected_khz and throttling.holds(policy, before.max_khz)
        if before.max_khz == expected_khz or hidden:
            return expected_khz
    if throttling.is_unlimited(policy, before.max_khz):
        return policy.hardware_max_khz
    return before.max_khz


def _undo_min(policy: CpuPolicy, before: FrequencyLimits, previous: LimitRequest | None) -> int:
    if previous is not None and previous.min_khz is not None:
        expected_khz = expected_min_khz(policy, previous.min_khz, policy.highest_khz)
        if before.min_khz == min(expected_khz, before.max_khz):
            return expected_khz
    return before.min_khz
