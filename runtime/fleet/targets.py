"""What a host should run at, within what it can do. Pure."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Self

from runtime.agent.wire.messages import Hello


@dataclass(frozen=True, slots=True)
class HostTarget:
    """What the controller asks of a host."""

    frequency_khz: int | None = None
    """For hosts that run executors; None: nothing was requested yet, leave it as it is."""
    busy: bool = False
    """Whether it runs executors; one that does not goes to its floor."""


@dataclass(frozen=True, slots=True)
class HostFrequencies:
    """The caps that every policy of a host takes."""

    lowest_khz: int
    highest_khz: int
    base_khz: int | None = None
    """The highest without turbo; None: turbo cannot be told apart."""
    table_khz: tuple[int, ...] | None = None
    """Ascending, within the range; None: any frequency."""
    turbo: bool | None = None
    """Whether turbo is on; None: the host does not say."""

    @classmethod
    def of(cls, hello: Hello) -> Self | None:
        """None: there is no frequency to set."""
        policies = [policy for policy in hello.policies if policy.active]
        if not policies:
            return None
        highest_khz = min(policy.highest_khz for policy in policies)
        lowest_khz = max(policy.hardware_min_khz for policy in policies)
        lowest_khz = min(max(lowest_khz, hello.floor_khz or 0), highest_khz)
        bases_khz = [policy.base_khz for policy in policies if policy.base_khz is not None]
        tables = [set(policy.table_khz) for policy in policies if policy.table_khz is not None]
        table_khz: tuple[int, ...] | None = None
        if tables:
            # Policies of one host with different tables (hybrid CPUs) take what all of them have.
            common = set.intersection(*tables) or tables[0]
            within = sorted(khz for khz in common if lowest_khz <= khz <= highest_khz)
            table_khz = tuple(within) or None
        boosts = {policy.boost for policy in policies} - {None}
        return cls(
            lowest_khz,
            highest_khz,
            min(bases_khz) if len(bases_khz) == len(policies) else None,
            table_khz,
            any(boosts) if boosts else None,
        )

    def target_khz(self, target: HostTarget) -> int | None:
        """The host's own frequency for a target: of a table the next at or above it, so that no
        host is slower than the plan counts on. The kernel alone would take the one below."""
        if target.frequency_khz is None:
            return None
        if not target.busy:
            return self.lowest_khz
        khz = min(max(target.frequency_khz, self.lowest_khz), self.highest_khz)
        if self.table_khz is None:
            return khz
        place = bisect_left(self.table_khz, khz)
        return self.table_khz[min(place, len(self.table_khz) - 1)]
