"""What a frequency policy of the kernel is, as values. Nothing here reads or writes."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

Attribute = Literal["scaling_max_freq", "scaling_min_freq", "scaling_governor", "scaling_setspeed"]


@dataclass(frozen=True, slots=True)
class Policy:
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
    """Both are 0 while the policy is inactive: the kernel then tells nothing, and takes nothing."""
    table_khz: tuple[int, ...] | None
    """The frequencies of the driver's table with those of boost, ascending; None for a continuous
    range."""
    boost: bool | None
    """Whether boost is on; None where the driver does not say."""
    active: bool

    @property
    def highest_khz(self) -> int:
        """What an unlimited policy reads back: a table can end below `cpuinfo_max_freq`."""
        if self.table_khz is None:
            return self.hardware_max_khz
        return self.table_khz[max(bisect_right(self.table_khz, self.hardware_max_khz) - 1, 0)]


@dataclass(frozen=True, slots=True)
class Limits:
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
