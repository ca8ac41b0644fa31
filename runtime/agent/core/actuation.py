"""The two ways to hold a frequency down: cap it, or set the speed of the userspace governor.

Thin: what the kernel does with a value is known in `energy.cpufreq`; what may be done, and in which
order, is decided in `runtime.agent.core.frequency`.
"""

from collections.abc import Mapping, Sequence

from energy.cpufreq.attributes import read_khz
from energy.cpufreq.limits import apply_limits, check_request, expected_max_khz, read_limits
from energy.cpufreq.originals import USERSPACE, Original, Written, read_speed, save_original
from energy.cpufreq.policy import LimitOutcome, LimitRequest, Limits, Policy
from energy.cpufreq.userspace import apply_speeds
from energy.errors import ModeUnsupported
from energy.tree import Tree
from runtime.agent.service.settings import FrequencyRules


class Actuation:
    """`scaling_max_freq` (and `scaling_min_freq` where allowed), or governor and speed."""

    def __init__(self, tree: Tree, rules: FrequencyRules) -> None:
        self._tree = tree
        self._rules = rules
        self._speeds = rules.actuation == "userspace"

    def save_original(self, policy: Policy) -> Original:
        return save_original(self._tree, policy, with_governor=self._speeds)

    def seen(self, policy: Policy) -> Limits | None:
        """What is in force of what is written here; None under a governor that is not ours."""
        limits = read_limits(self._tree, policy)
        if not self._speeds:
            return limits
        speed_khz = read_speed(self._tree, policy)
        return None if speed_khz is None else Limits(limits.min_khz, speed_khz)

    def still(self, policy: Policy, seen: Limits, with_minimum: bool) -> bool:
        """Whether the policy reads as it did, at the least cost: this is asked every second.

        The lower limit counts only where we moved it; a throttle pushes anybody's down.
        """
        if self._speeds:
            return read_speed(self._tree, policy) == seen.max_khz
        if read_khz(self._tree, policy.name, "scaling_max_freq") != seen.max_khz:
            return False
        if not with_minimum:
            return True
        return read_khz(self._tree, policy.name, "scaling_min_freq") == seen.min_khz

    def check(self, policy: Policy, request: LimitRequest) -> None:
        """Raise unless the request can be carried out; reads, but writes nothing."""
        if self._speeds and USERSPACE not in policy.governors:
            raise ModeUnsupported(
                f"{policy.name}: {policy.driver} has no userspace governor, "
                f"only {', '.join(policy.governors)}"
            )
        limits = read_limits(self._tree, policy)
        may_move_minimum = self._rules.may_move_minimum and not self._speeds
        check_request(policy, request, limits, self._rules.floor_khz, may_move_minimum)

    def written(self, policy: Policy, request: LimitRequest) -> Written:
        """Everything that carrying out the request may write."""
        if self._speeds:
            speed_khz = expected_max_khz(policy, request.max_khz)
            return Written(governor_switched=True, speed_khz=(speed_khz,))
        min_khz = () if request.min_khz is None else (request.min_khz,)
        return Written(max_khz=(request.max_khz,), min_khz=min_khz)

    def apply(
        self,
        policies: Mapping[str, Policy],
        requests: Sequence[LimitRequest],
        previous: Mapping[str, LimitRequest],
    ) -> tuple[LimitOutcome, ...]:
        """All or none; `previous` is what this lease had asked of the policies before."""
        rules = self._rules
        if self._speeds:
            return apply_speeds(self._tree, policies, requests, rules.floor_khz)
        return apply_limits(
            self._tree, policies, requests, rules.floor_khz, rules.may_move_minimum, previous
        )
