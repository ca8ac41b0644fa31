"""What a frequency policy of the kernel is, as values, and what the kernel makes of a number.

The `expected_...` functions are the arithmetic of cpufreq_set_policy() for one request when nothing
else limits: clamped to the hardware's range, then moved to the table. Nothing reads or writes.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Literal, Self

Attribute = Literal["scaling_max_freq", "scaling_min_freq", "scaling_governor", "scaling_setspeed"]


@dataclass(frozen=True, slots=True)
class CpuPolicy:
    """One `policyN`: CPUs that are set together, and what their driver offers."""

    name: str
    cpus: tuple[int, ...]
    """The CPUs the kernel lists for it (`related_cpus`)."""
    domain_cpus: tuple[int, ...]
    """The CPUs whose clock really moves together: `freqdomain_cpus` where there is one."""
    driver: str
    governors: tuple[str, ...]
    governor: str | None
    """None while the policy is inactive."""
    hardware_min_khz: int
    hardware_max_khz: int
    """Both are 0 while the policy is inactive: the kernel shows and accepts nothing then."""
    table_khz: tuple[int, ...] | None
    """The frequencies of the driver's table with those of boost, ascending; None for a continuous
    range."""
    boost: bool | None
    """Whether boost is on; None where the driver does not say."""
    active: bool
    base_khz: int | None = None
    """The highest frequency without turbo; None where nothing tells it apart."""

    @property
    def highest_khz(self) -> int:
        """What an unlimited policy reads back: a table can end below `cpuinfo_max_freq`."""
        if self.table_khz is None:
            return self.hardware_max_khz
        return self.table_khz[max(bisect_right(self.table_khz, self.hardware_max_khz) - 1, 0)]


@dataclass(frozen=True, slots=True)
class FrequencyLimits:
    """The effective limits of a policy: what the kernel reads back, throttling included."""

    min_khz: int
    max_khz: int


@dataclass(frozen=True, slots=True)
class LimitRequest:
    """A cap for one policy; `min_khz` only where the operator allows moving the lower limit."""

    policy: str
    max_khz: int
    min_khz: int | None = None


@dataclass(frozen=True, slots=True)
class LimitOutcome:
    """What became of a request: asked, really in force, and whether the kernel changed it."""

    policy: str
    requested_khz: int
    effective_khz: int
    clamped: bool
    effective_min_khz: int

    @classmethod
    def of(cls, request: LimitRequest, effective: FrequencyLimits) -> Self:
        clamped = effective.max_khz != request.max_khz
        return cls(request.policy, request.max_khz, effective.max_khz, clamped, effective.min_khz)


def expected_max_khz(policy: CpuPolicy, khz: int) -> int:
    """What an unthrottled kernel reads back after `khz` was written to `scaling_max_freq`."""
    clamped_khz = _clamp(khz, policy.hardware_min_khz, policy.hardware_max_khz)
    table_khz = policy.table_khz
    if table_khz is None:
        return clamped_khz
    return table_khz[max(bisect_right(table_khz, clamped_khz) - 1, 0)]


def expected_min_khz(policy: CpuPolicy, khz: int, max_khz: int) -> int:
    """The same for `scaling_min_freq`; it never reads above the upper limit in force."""
    clamped_khz = _clamp(khz, policy.hardware_min_khz, max_khz)
    table_khz = policy.table_khz
    if table_khz is None:
        return clamped_khz
    place = min(bisect_left(table_khz, clamped_khz), len(table_khz) - 1)
    return min(table_khz[place], max_khz)


def expected_speed_khz(policy: CpuPolicy, khz: int, min_khz: int, max_khz: int) -> int:
    """Where the userspace governor goes for `khz` within these limits: up to the next entry."""
    clamped_khz = _clamp(khz, min_khz, max_khz)
    table_khz = policy.table_khz
    if table_khz is None:
        return clamped_khz
    within = [entry for entry in table_khz if min_khz <= entry <= max_khz]
    above = (entry for entry in within if entry >= clamped_khz)
    return min(above, default=max(within, default=max_khz))


def _clamp(khz: int, low_khz: int, high_khz: int) -> int:
    return min(max(khz, low_khz), high_khz)
