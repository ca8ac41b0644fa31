"""One frequency policy as the kernel keeps it: requests from several sides, and what they come to.

The user's limits are one request among others (thermal, firmware, driver); reading a limit gives
what all of them come to. Nothing here knows paths or text; `cpufreq_files` puts it into a tree.
"""

import errno
from bisect import bisect_left, bisect_right
from typing import Literal

from energy.emulation.description import PolicyPlan
from energy.emulation.drivers import PERSONALITIES
from energy.emulation.kernel_text import KernelRefusal

Side = Literal["user", "thermal", "firmware", "driver"]

_UNLIMITED_KHZ = (1 << 31) - 1


class PolicyModel:
    """Requests, governor and effective limits of one policy."""

    def __init__(self, plan: PolicyPlan, lag_reads: int = 0) -> None:
        self.plan = plan
        self.sets_policy = PERSONALITIES[plan.driver].sets_policy
        self.online_cpus = set(plan.cpus)
        self.governor = plan.governor
        self.preference = plan.preference
        self.boost = plan.boost
        self.ceiling_khz = plan.max_khz
        self.performance_khz = plan.max_khz
        """What max_perf_pct of active intel_pstate leaves; limits do not show it."""
        self._min_khz: dict[Side, int] = {}
        self._max_khz: dict[Side, int] = {}
        _ask(self._min_khz, "user", plan.user_min_khz)
        _ask(self._max_khz, "user", plan.user_max_khz)
        _ask(self._max_khz, "firmware", plan.firmware_khz)
        self._setspeed_khz = plan.max_khz if plan.setspeed_khz is None else plan.setspeed_khz
        self._lag_reads = lag_reads
        self._stale_reads = 0
        self.limits_khz = self._resolved_khz()
        """The effective (min, max)."""
        self._stale_khz = self.limits_khz

    def request_min(self, side: Side, khz: int | None) -> None:
        """Ask for at least this frequency; None: withdraw what this side asked for."""
        _ask(self._min_khz, side, khz)
        self._update()

    def request_max(self, side: Side, khz: int | None) -> None:
        _ask(self._max_khz, side, khz)
        self._update()

    def set_ceiling(self, khz: int) -> None:
        """The upper end of the hardware's range: lower than the plan's without turbo."""
        self.ceiling_khz = khz
        self._update()

    def capped_khz(self, side: Side) -> int | None:
        return self._max_khz.get(side)

    def shown_limits_khz(self) -> tuple[int, int]:
        """What a read gives. The kernel applies a request from a work item, a moment after the
        write has returned, and until then shows the limits of before."""
        if self._stale_reads > 0:
            self._stale_reads -= 1
            return self._stale_khz
        return self.limits_khz

    def settle(self) -> None:
        """Let the kernel's work item run now."""
        self._stale_reads = 0

    def set_governor(self, name: str) -> None:
        wanted = name.lower()
        if wanted not in self.plan.governors:
            raise KernelRefusal(errno.EINVAL)
        if wanted == "userspace" and self.governor != "userspace":
            self._setspeed_khz = self.requested_khz()
        self.governor = wanted

    def set_speed(self, khz: int) -> None:
        """Takes any value: the kernel drops the driver's answer and keeps within the limits."""
        self._setspeed_khz = khz

    def requested_khz(self) -> int:
        """What a loaded CPU of this policy asks the hardware for."""
        min_khz, max_khz = self.limits_khz
        khz = max_khz
        if self.governor == "powersave" and not self.sets_policy:
            khz = min_khz
        elif self.governor == "userspace":
            khz = _clamp(self._setspeed_khz, min_khz, max_khz)
            if self.plan.table_khz is not None:
                khz = min(_at_least(self.plan.table_khz, khz), max_khz)
        if not self.boost:
            khz = min(khz, self.plan.base_khz)
        return max(min(khz, self.performance_khz), self.plan.min_khz)

    def state(self) -> tuple[object, ...]:
        """Equal as long as the policy is governed as before."""
        return (self.limits_khz, self.governor, self.boost, self.performance_khz)

    def _update(self) -> None:
        before_khz, self.limits_khz = self.limits_khz, self._resolved_khz()
        if self.limits_khz == before_khz:
            return
        if self._stale_reads == 0:
            self._stale_khz = before_khz
        self._stale_reads = self._lag_reads

    def _resolved_khz(self) -> tuple[int, int]:
        """Requests, then the range of the hardware, then the driver's table."""
        low_khz, high_khz = self.plan.min_khz, self.ceiling_khz
        max_khz = _clamp(min(self._max_khz.values(), default=_UNLIMITED_KHZ), low_khz, high_khz)
        min_khz = _clamp(max(self._min_khz.values(), default=0), low_khz, max_khz)
        table_khz = self.plan.table_khz
        if table_khz is None:
            return min_khz, max_khz
        if not min_khz <= _at_least(table_khz, min_khz) <= max_khz:
            # No entry lies between the limits: the kernel lifts the upper one to the next entry,
            # so a maximum below a user's minimum can end above what was asked for.
            max_khz = _clamp(_at_least(table_khz, max_khz), low_khz, high_khz)
        max_khz = _at_most(table_khz, max_khz)
        return min(_at_least(table_khz, min_khz), max_khz), max_khz


def _ask(requests: dict[Side, int], side: Side, khz: int | None) -> None:
    if khz is None:
        requests.pop(side, None)
    else:
        requests[side] = khz


def _clamp(khz: int, low_khz: int, high_khz: int) -> int:
    return min(max(khz, low_khz), high_khz)


def _at_most(table_khz: tuple[int, ...], khz: int) -> int:
    """The highest entry that is not above, or else the lowest."""
    return table_khz[max(bisect_right(table_khz, khz) - 1, 0)]


def _at_least(table_khz: tuple[int, ...], khz: int) -> int:
    """The lowest entry that is not below, or else the highest."""
    return table_khz[min(bisect_left(table_khz, khz), len(table_khz) - 1)]
