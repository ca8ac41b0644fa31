"""What a policy was like before the agent touched it, whose its present values are, the way back.

Restoring is idempotent, may be cut off between any two operations, and leaves alone whatever
neither our writes nor the original explain. Three things cannot be told apart: another writer's
value that equals one of ours; a change by another writer that a throttle hides at the time; and,
while a lowered upper limit covers our lower one, whether that writer moved the lower one too.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from energy.cpufreq.attributes import parse_number, policy_path, read_text, write_text
from energy.cpufreq.discover import present, read_policy
from energy.cpufreq.limits import PAUSES_S, Wait, read_limits
from energy.cpufreq.policy import (
    Attribute,
    CpuPolicy,
    FrequencyLimits,
    expected_max_khz,
    expected_min_khz,
    expected_speed_khz,
)
from energy.cpufreq.throttling import Throttling, lies_in
from energy.errors import AttributeFault, HostError, ValueIgnored
from energy.tree import Tree

USERSPACE = "userspace"

_LIMITS: tuple[Attribute, ...] = ("scaling_max_freq", "scaling_min_freq")

_LOOKS_S = (0.0, 0.001, 0.002)
"""A throttle may end between two reads: a value is foreign only if it looks so every time."""


@dataclass(frozen=True, slots=True)
class Original:
    """A policy as it was found; plain fields, so that it can be journaled."""

    policy: str
    max_khz: int
    min_khz: int
    hardware_max_khz: int
    at_highest: bool
    """Nobody had limited it: at its highest, or held below that by a throttle alone."""
    governor: str | None = None
    """Only recorded where the governor may be switched."""
    setspeed_khz: int | None = None
    """Only where the governor was userspace already."""


@dataclass(frozen=True, slots=True)
class Written:
    """Everything the agent may have written to a policy, whether or not it got that far.

    Leave out an attribute that is known to be another writer's: a throttle may hide it later.
    """

    max_khz: tuple[int, ...] = ()
    min_khz: tuple[int, ...] = ()
    governor_switched: bool = False
    speed_khz: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreOutcome:
    """What became of each attribute that may have been written."""

    policy: str
    restored: tuple[Attribute, ...]
    left_alone: tuple[Attribute, ...]
    """Somebody else has changed these."""


def save_original(tree: Tree, policy: CpuPolicy, with_governor: bool = False) -> Original:
    """Read what has to be put back later; call it before the first write."""
    now = read_policy(tree, policy.name)  # a boost switch may have moved its range
    # Evidence from both sides of the read: a throttle may end or begin meanwhile.
    before_khz = Throttling(tree).ranges_khz(now)
    limits = read_limits(tree, now)
    throttled = lies_in(now, limits.max_khz, before_khz + Throttling(tree).ranges_khz(now))
    governor = now.governor if with_governor else None
    return Original(
        policy=policy.name,
        max_khz=limits.max_khz,
        min_khz=limits.min_khz,
        hardware_max_khz=now.hardware_max_khz,
        at_highest=limits.max_khz >= now.highest_khz or throttled,
        governor=governor,
        setspeed_khz=read_speed(tree, now) if governor == USERSPACE else None,
    )


def own_values(
    tree: Tree,
    policy: CpuPolicy,
    original: Original,
    written: Written,
    throttling: Throttling | None = None,
) -> dict[Attribute, bool]:
    """For each attribute that was written, whether what was written explains its present value.

    Give one `throttling` to all the calls of a round, so that cooling devices are read once.
    """
    _check_same(policy, original)
    throttling = throttling or Throttling(tree)
    explained = _explained(tree, present(tree, policy), written, throttling)
    if all(explained.values()):
        return explained
    return _explained(tree, _facts(tree, policy), written, throttling)


def restore(
    tree: Tree,
    policy: CpuPolicy,
    original: Original,
    written: Written,
    wait: Wait = time.sleep,
) -> RestoreOutcome:
    """Put back what is ours, or already the original, and read it back.

    Everything is tried before the first error is raised; call it again later, until it returns.
    """
    _check_same(policy, original)
    return _Restoring(tree, _facts(tree, policy), original, written, wait).run()


def read_speed(tree: Tree, policy: CpuPolicy) -> int | None:
    """The speed of the userspace governor; None under any other."""
    return parse_number(read_text(tree, policy.name, "scaling_setspeed"))


def _check_same(policy: CpuPolicy, original: Original) -> None:
    if policy.name != original.policy:
        raise ValueError(f"the original is of {original.policy}, not of {policy.name}")


def _facts(tree: Tree, policy: CpuPolicy) -> CpuPolicy:
    """The policy as it is now; as it was discovered where some file cannot be read any more."""
    try:
        return read_policy(tree, policy.name)
    except AttributeFault:
        if not policy.active:
            raise
        return policy


def _explained(
    tree: Tree, policy: CpuPolicy, written: Written, throttling: Throttling
) -> dict[Attribute, bool]:
    limits = read_limits(tree, policy)
    explained = _explained_limits(policy, limits, written, throttling)
    if written.governor_switched:
        explained["scaling_governor"] = (
            read_text(tree, policy.name, "scaling_governor") == USERSPACE
        )
    if written.speed_khz:
        speed_khz = read_speed(tree, policy)
        explained["scaling_setspeed"] = _explains_speed(
            policy, limits, speed_khz, written.speed_khz
        )
    return explained


def _explained_limits(
    policy: CpuPolicy, limits: FrequencyLimits, written: Written, throttling: Throttling
) -> dict[Attribute, bool]:
    explained: dict[Attribute, bool] = {}
    if written.max_khz:
        explained["scaling_max_freq"] = _explains_max(policy, limits, written.max_khz, throttling)
    if written.min_khz:
        explained["scaling_min_freq"] = _explains_min(policy, limits, written.min_khz)
    return explained


class _Restoring:
    """One attempt at one policy: limits first, so that they do not bound the speed put back."""

    def __init__(
        self, tree: Tree, policy: CpuPolicy, original: Original, written: Written, wait: Wait
    ) -> None:
        self._tree = tree
        self._policy = policy
        self._original = original
        self._written = written
        self._wait = wait
        self._restored: list[Attribute] = []
        self._left_alone: list[Attribute] = []
        self._errors: list[HostError] = []
        # Never less than the range now: a limit of today must not outlast the end of a throttle.
        self._max_khz = (
            max(original.hardware_max_khz, policy.hardware_max_khz)
            if original.at_highest
            else original.max_khz
        )

    def run(self) -> RestoreOutcome:
        self._attempt(self._restore_limits)
        if self._written.governor_switched:
            self._attempt(self._restore_governor)
        if self._written.speed_khz and self._original.governor == USERSPACE:
            self._attempt(self._restore_speed)
        if self._errors:
            first, *others = self._errors
            for other in others:
                first.add_note(str(other))
            raise first
        return RestoreOutcome(self._policy.name, tuple(self._restored), tuple(self._left_alone))

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except HostError as error:
            self._errors.append(error)

    def _restore_limits(self) -> None:
        # Both are judged before either is written: the upper one decides how the lower one reads.
        limits, explained = self._look()
        raising = self._max_khz >= limits.max_khz
        for attribute in sorted(explained, key=_LIMITS.index, reverse=not raising):
            if explained[attribute]:
                self._attempt(partial(self._write_limit, attribute))
            else:
                self._left_alone.append(attribute)
        self._confirm([attribute for attribute in self._restored if attribute in _LIMITS])

    def _look(self) -> tuple[FrequencyLimits, dict[Attribute, bool]]:
        both = Written(
            max_khz=(*self._written.max_khz, self._max_khz) if self._written.max_khz else (),
            min_khz=(*self._written.min_khz, self._original.min_khz)
            if self._written.min_khz
            else (),
        )
        for pause_s in _LOOKS_S:
            self._wait(pause_s)
            limits = read_limits(self._tree, self._policy)
            explained = _explained_limits(self._policy, limits, both, Throttling(self._tree))
            if all(explained.values()):
                break
        return limits, explained

    def _write_limit(self, attribute: Attribute) -> None:
        khz = self._max_khz if attribute == "scaling_max_freq" else self._original.min_khz
        write_text(self._tree, self._policy.name, attribute, str(khz))
        self._restored.append(attribute)

    def _confirm(self, attributes: Sequence[Attribute]) -> None:
        """Wait until none of our values is in force any more; what else is, is not our doing."""
        for pause_s in PAUSES_S:
            limits = read_limits(self._tree, self._policy)
            stuck = [attribute for attribute in attributes if self._is_stuck(attribute, limits)]
            if not stuck:
                return
            self._wait(pause_s)
        raise ValueIgnored(policy_path(self._policy.name, stuck[0]))

    def _is_stuck(self, attribute: Attribute, limits: FrequencyLimits) -> bool:
        policy = self._policy
        if attribute == "scaling_min_freq":
            return _explains_min(policy, limits, self._written.min_khz) and not _explains_min(
                policy, limits, (self._original.min_khz,)
            )
        return (
            limits.max_khz in {expected_max_khz(policy, khz) for khz in self._written.max_khz}
            and limits.max_khz != expected_max_khz(policy, self._max_khz)
            and not Throttling(self._tree).holds(policy, limits.max_khz)
        )

    def _restore_governor(self) -> None:
        governor = self._original.governor
        current = read_text(self._tree, self._policy.name, "scaling_governor")
        if current not in (USERSPACE, governor) or governor is None:
            self._left_alone.append("scaling_governor")
            return
        if current != governor:
            write_text(self._tree, self._policy.name, "scaling_governor", governor)
            if read_text(self._tree, self._policy.name, "scaling_governor") == USERSPACE:
                raise ValueIgnored(policy_path(self._policy.name, "scaling_governor"))
        self._restored.append("scaling_governor")

    def _restore_speed(self) -> None:
        """Only where userspace was the governor before: elsewhere the speed goes with it."""
        policy = self._policy
        original_khz = self._original.setspeed_khz
        current_khz = read_speed(self._tree, policy)
        limits = read_limits(self._tree, policy)
        if original_khz is None or not _explains_speed(
            policy, limits, current_khz, (*self._written.speed_khz, original_khz)
        ):
            self._left_alone.append("scaling_setspeed")
            return
        write_text(self._tree, policy.name, "scaling_setspeed", str(original_khz))
        # The kernel drops the errors of the driver, so only reading tells.
        if not _explains_speed(policy, limits, read_speed(self._tree, policy), (original_khz,)):
            raise ValueIgnored(policy_path(policy.name, "scaling_setspeed"))
        self._restored.append("scaling_setspeed")


# The kernel shows only what is in force, never who asked for it, so a value is explained by what it
# would make of a written one: by itself, under a throttle, or bounded by the other limit.


def _explains_max(
    policy: CpuPolicy,
    limits: FrequencyLimits,
    written_khz: Sequence[int],
    throttling: Throttling,
) -> bool:
    expected_khz = [expected_max_khz(policy, khz) for khz in written_khz]
    if limits.max_khz in expected_khz:
        return True
    return limits.max_khz < max(expected_khz, default=0) and throttling.holds(
        policy, limits.max_khz
    )


def _explains_min(policy: CpuPolicy, limits: FrequencyLimits, written_khz: Sequence[int]) -> bool:
    # A lower limit above the upper one reads as the upper one, whoever lowered that.
    return any(
        expected_min_khz(policy, khz, limits.max_khz) == limits.min_khz for khz in written_khz
    )


def _explains_speed(
    policy: CpuPolicy, limits: FrequencyLimits, speed_khz: int | None, written_khz: Sequence[int]
) -> bool:
    return speed_khz is not None and any(
        expected_speed_khz(policy, khz, limits.min_khz, limits.max_khz) == speed_khz
        for khz in written_khz
    )
