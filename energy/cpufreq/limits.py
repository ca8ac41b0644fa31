"""Caps frequencies: check first, one write for each limit, read back, all policies or none.

The kernel clamps silently and applies a limit from a work item a moment later, so what was asked
and what is in force are read back and reported apart. Governor and driver mode are left alone.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from energy.cpufreq.attributes import read_khz
from energy.cpufreq.discover import present
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
from energy.cpufreq.transaction import Transaction, WriteStep
from energy.errors import FrequencyDenied, HostError, ModeUnsupported, PolicyUnknown
from energy.tree import Tree

__all__ = ["PAUSES_S", "apply_limits", "check_request", "expected_max_khz", "read_limits"]

PAUSES_S = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
"""How long to wait, again and again, for a written limit to come into force: usually not at all."""

Wait = Callable[[float], None]


def read_limits(tree: Tree, policy: CpuPolicy) -> FrequencyLimits:
    """The limits in force, throttling included."""
    return FrequencyLimits(
        min_khz=read_khz(tree, policy.name, "scaling_min_freq"),
        max_khz=read_khz(tree, policy.name, "scaling_max_freq"),
    )


def check_request(
    policy: CpuPolicy,
    request: LimitRequest,
    limits: FrequencyLimits,
    floor_khz: int | None,
    may_move_minimum: bool,
) -> None:
    """Raise unless the request can be carried out as it is, but for the steps of a table.

    `floor_khz` is the lowest cap that may come into force. A cap below the lower limit in force is
    refused unless the request moves that as well: the kernel would lower it without a word.
    """
    lowest_khz = policy.hardware_min_khz
    if floor_khz is not None:
        lowest_khz = expected_min_khz(policy, floor_khz, policy.highest_khz)
    if request.min_khz is None:
        lowest_khz = max(lowest_khz, limits.min_khz)
    elif not may_move_minimum:
        raise ModeUnsupported(
            f"{policy.name}: the lower limit may not be moved here, ask for max_khz alone"
        )
    _check_range(policy, request.max_khz, lowest_khz, policy.hardware_max_khz)
    if request.min_khz is not None:
        _check_range(policy, request.min_khz, policy.hardware_min_khz, request.max_khz)


def apply_limits(
    tree: Tree,
    policies: Mapping[str, CpuPolicy],
    requests: Sequence[LimitRequest],
    floor_khz: int | None = None,
    may_move_minimum: bool = False,
    previous: Mapping[str, LimitRequest] | None = None,
    wait: Wait = time.sleep,
) -> tuple[LimitOutcome, ...]:
    """Carry out all requests or none: after an error, what was written is put back.

    `previous` is what the caller had last asked of each policy: it is put back where it is still in
    force, also under a throttle. Anything else is put back as it was read.
    """
    throttling = Throttling(tree)
    changes = [
        _plan(tree, policies, request, (previous or {}).get(request.policy), throttling)
        for request in requests
    ]
    for change in changes:
        check_request(change.policy, change.request, change.before, floor_khz, may_move_minimum)
    transaction = Transaction(tree)
    try:
        for change in changes:
            for step in change.steps():
                transaction.write(step)
        after = _read_back(tree, changes, throttling, wait)
    except HostError as error:
        transaction.put_back(error)
        raise
    return tuple(
        LimitOutcome(
            policy=change.policy.name,
            requested_khz=change.request.max_khz,
            effective_khz=limits.max_khz,
            clamped=limits.max_khz != change.request.max_khz,
            effective_min_khz=limits.min_khz,
        )
        for change, limits in zip(changes, after, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Change:
    """One request with what is needed to carry it out and to undo it."""

    policy: CpuPolicy
    request: LimitRequest
    before: FrequencyLimits
    undo: FrequencyLimits
    target: FrequencyLimits
    """What is written."""

    def steps(self) -> list[WriteStep]:
        """Lowering writes the lower limit first, raising the upper: they never cross."""
        upper = self._step(
            "scaling_max_freq", self.target.max_khz, self.before.max_khz, self.undo.max_khz
        )
        if self.request.min_khz is None:
            return [upper]
        lower = self._step(
            "scaling_min_freq", self.target.min_khz, self.before.min_khz, self.undo.min_khz
        )
        return [lower, upper] if self.target.max_khz < self.before.max_khz else [upper, lower]

    def in_force(self, limits: FrequencyLimits, throttling: Throttling) -> bool:
        """Whether these limits can be the result, and not only what was there before."""
        max_khz = self.target.max_khz
        if limits.max_khz == self.before.max_khz != max_khz and not (
            limits.max_khz < max_khz and throttling.holds(self.policy, limits.max_khz)
        ):
            return False
        if self.request.min_khz is None or limits.min_khz != self.before.min_khz:
            return True
        return limits.min_khz == min(self.target.min_khz, limits.max_khz)

    def _step(self, attribute: Attribute, khz: int, before_khz: int, undo_khz: int) -> WriteStep:
        # Plain decimal: the kernel reads a leading 0 as octal.
        return WriteStep(self.policy.name, attribute, str(khz), str(before_khz), str(undo_khz))


def _plan(
    tree: Tree,
    policies: Mapping[str, CpuPolicy],
    request: LimitRequest,
    previous: LimitRequest | None,
    throttling: Throttling,
) -> _Change:
    if request.policy not in policies:
        raise PolicyUnknown(request.policy)
    policy = present(tree, policies[request.policy])
    before = read_limits(tree, policy)
    undo = FrequencyLimits(
        min_khz=_undo_min(policy, before, previous),
        max_khz=_undo_max(policy, before, previous, throttling),
    )
    return _Change(policy, request, before, undo, _target(policy, request, before))


def _target(policy: CpuPolicy, request: LimitRequest, before: FrequencyLimits) -> FrequencyLimits:
    """Entries of the table where there is one.

    The kernel would find them itself, but lifts a cap between two entries to the upper one once
    somebody raises the lower limit above it.
    """
    max_khz = expected_max_khz(policy, request.max_khz)
    min_khz = before.min_khz if request.min_khz is None else request.min_khz
    return FrequencyLimits(expected_min_khz(policy, min_khz, policy.highest_khz), max_khz)


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


def _read_back(
    tree: Tree, changes: Sequence[_Change], throttling: Throttling, wait: Wait
) -> list[FrequencyLimits]:
    after = [read_limits(tree, change.policy) for change in changes]
    for pause_s in PAUSES_S:
        late = [
            number
            for number, change in enumerate(changes)
            if not change.in_force(after[number], throttling)
        ]
        if not late:
            break
        wait(pause_s)
        for number in late:
            after[number] = read_limits(tree, changes[number].policy)
    return after


def _check_range(policy: CpuPolicy, khz: int, lowest_khz: int, highest_khz: int) -> None:
    if not lowest_khz <= khz <= highest_khz:
        raise FrequencyDenied(policy.name, khz, f"{lowest_khz}..{highest_khz}")
