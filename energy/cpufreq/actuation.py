"""The two ways to lower a frequency behind one interface: cap it, or set the userspace speed.

What may be done, and in which order, is decided by the caller; nothing here remembers anything.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from energy.cpufreq.attributes import read_khz
from energy.cpufreq.limits import apply_limits, check_request, read_limits
from energy.cpufreq.originals import Original, Written, read_speed, save_original
from energy.cpufreq.policy import (
    CpuPolicy,
    FrequencyLimits,
    LimitOutcome,
    LimitRequest,
    expected_max_khz,
)
from energy.cpufreq.userspace import apply_speeds, check_speed_request
from energy.tree import Tree

ActuationMode = Literal["cap", "userspace"]


class FrequencyActuator:
    """`scaling_max_freq` (and `scaling_min_freq` where allowed), or governor and speed."""

    def __init__(
        self, tree: Tree, mode: ActuationMode, floor_khz: int | None, may_move_minimum: bool
    ) -> None:
        self._tree = tree
        self._userspace = mode == "userspace"
        self._floor_khz = floor_khz
        self._may_move_minimum = may_move_minimum

    def save_original(self, policy: CpuPolicy) -> Original:
        return save_original(self._tree, policy, with_governor=self._userspace)

    def read(self, policy: CpuPolicy) -> FrequencyLimits | None:
        """The values in force of what is written here (the speed as the upper one under userspace);
        None under a governor that somebody else chose."""
        limits = read_limits(self._tree, policy)
        if not self._userspace:
            return limits
        speed_khz = read_speed(self._tree, policy)
        return None if speed_khz is None else FrequencyLimits(limits.min_khz, speed_khz)

    def is_unchanged(self, policy: CpuPolicy, last: FrequencyLimits, with_minimum: bool) -> bool:
        """Whether the policy reads as it did, at the least cost: this is asked every second.

        The lower limit counts only where it was moved from here; a throttle pushes any other down.
        """
        if self._userspace:
            return read_speed(self._tree, policy) == last.max_khz
        if read_khz(self._tree, policy.name, "scaling_max_freq") != last.max_khz:
            return False
        if not with_minimum:
            return True
        return read_khz(self._tree, policy.name, "scaling_min_freq") == last.min_khz

    def check(self, policy: CpuPolicy, request: LimitRequest) -> None:
        """Raise unless the request can be carried out; reads, but writes nothing."""
        limits = read_limits(self._tree, policy)
        if self._userspace:
            check_speed_request(policy, request, limits, self._floor_khz)
        else:
            check_request(policy, request, limits, self._floor_khz, self._may_move_minimum)

    def writes_of(self, policy: CpuPolicy, request: LimitRequest) -> Written:
        """Everything that carrying out the request may write."""
        if self._userspace:
            speed_khz = expected_max_khz(policy, request.max_khz)
            return Written(governor_switched=True, speed_khz=(speed_khz,))
        min_khz = () if request.min_khz is None else (request.min_khz,)
        return Written(max_khz=(request.max_khz,), min_khz=min_khz)

    def apply(
        self,
        policies: Mapping[str, CpuPolicy],
        requests: Sequence[LimitRequest],
        previous: Mapping[str, LimitRequest],
    ) -> tuple[LimitOutcome, ...]:
        """All or none; `previous` is what the caller had asked of the policies before."""
        if self._userspace:
            return apply_speeds(self._tree, policies, requests, self._floor_khz)
        return apply_limits(
            self._tree, policies, requests, self._floor_khz, self._may_move_minimum, previous
        )
