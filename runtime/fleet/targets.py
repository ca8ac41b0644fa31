"""What a host should run at, within what it can do. Pure."""

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
class FrequencyRange:
    """The caps that every policy of a host takes."""

    lowest_khz: int
    highest_khz: int

    @classmethod
    def of(cls, hello: Hello) -> Self | None:
        """None: there is no frequency to set."""
        policies = [policy for policy in hello.policies if policy.active]
        if not policies:
            return None
        lowest_khz = max(policy.hardware_min_khz for policy in policies)
        highest_khz = min(policy.hardware_max_khz for policy in policies)
        return cls(min(max(lowest_khz, hello.floor_khz or 0), highest_khz), highest_khz)

    def target_khz(self, target: HostTarget) -> int | None:
        if target.frequency_khz is None:
            return None
        if not target.busy:
            return self.lowest_khz
        return min(max(target.frequency_khz, self.lowest_khz), self.highest_khz)
