"""The opt-in way: switch to the userspace governor and set a speed instead of a cap.

The kernel drops what the driver answers to a speed and rounds up within the limits, so a speed is
moved down to the table first and read back afterwards. Limits are left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from energy.cpufreq.attributes import read_khz, read_text
from energy.cpufreq.discover import present
from energy.cpufreq.limits import check_request, read_limits
from energy.cpufreq.originals import USERSPACE, read_speed
from energy.cpufreq.policy import (
    CpuPolicy,
    FrequencyLimits,
    LimitOutcome,
    LimitRequest,
    expected_max_khz,
)
from energy.cpufreq.transaction import Transaction, WriteStep
from energy.errors import HostError, ModeUnsupported, PolicyUnknown
from energy.tree import Tree


def check_speed_request(
    policy: CpuPolicy, request: LimitRequest, limits: FrequencyLimits, floor_khz: int | None
) -> None:
    """Raise unless the speed can be set; the lower limit is never moved."""
    if USERSPACE not in policy.governors:
        raise ModeUnsupported(
            f"{policy.name}: {policy.driver} has no userspace governor, "
            f"only {', '.join(policy.governors)}"
        )
    check_request(policy, request, limits, floor_khz, may_move_minimum=False)


def apply_speeds(
    tree: Tree,
    policies: Mapping[str, CpuPolicy],
    requests: Sequence[LimitRequest],
    floor_khz: int | None = None,
) -> tuple[LimitOutcome, ...]:
    """Run each policy at `max_khz` of its request, all or none; the governor is switched first."""
    changes = [_plan(tree, policies, request, floor_khz) for request in requests]
    transaction = Transaction(tree)
    try:
        for change in changes:
            for step in change.steps():
                transaction.write(step)
        return tuple(_outcome(tree, change) for change in changes)
    except HostError as error:
        transaction.put_back(error)
        raise


@dataclass(frozen=True, slots=True)
class _Change:
    policy: CpuPolicy
    request: LimitRequest
    limits: FrequencyLimits
    governor: str
    speed: str
    """As it was read: a number only under the userspace governor."""

    def steps(self) -> list[WriteStep]:
        name = self.policy.name
        speed = str(expected_max_khz(self.policy, self.request.max_khz))
        if self.governor == USERSPACE:
            return [WriteStep(name, "scaling_setspeed", speed, self.speed, undo=self.speed)]
        return [
            WriteStep(name, "scaling_governor", USERSPACE, self.governor, undo=self.governor),
            WriteStep(name, "scaling_setspeed", speed, self.speed, undo=None),
        ]


def _plan(
    tree: Tree, policies: Mapping[str, CpuPolicy], request: LimitRequest, floor_khz: int | None
) -> _Change:
    if request.policy not in policies:
        raise PolicyUnknown(request.policy)
    policy = present(tree, policies[request.policy])
    limits = read_limits(tree, policy)
    check_speed_request(policy, request, limits, floor_khz)
    governor = read_text(tree, policy.name, "scaling_governor")
    speed = read_text(tree, policy.name, "scaling_setspeed")
    return _Change(policy, request, limits, governor, speed)


def _outcome(tree: Tree, change: _Change) -> LimitOutcome:
    policy = change.policy
    effective_khz = read_speed(tree, policy)
    if effective_khz is None:  # somebody has switched the governor in this moment
        effective_khz = read_khz(tree, policy.name, "scaling_cur_freq")
    return LimitOutcome(
        policy=policy.name,
        requested_khz=change.request.max_khz,
        effective_khz=effective_khz,
        clamped=effective_khz != change.request.max_khz,
        effective_min_khz=read_limits(tree, policy).min_khz,
    )
