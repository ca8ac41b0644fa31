"""What every throttle promises, whatever the kernel offers it to slow processes down with."""

from collections.abc import Sequence
from typing import Literal, Protocol

from energy.processes import Process

Backend = Literal["cgroup-v1", "cgroup-v2", "duty-cycle"]


def check_share(share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}")


class Throttle(Protocol):
    """Bounds the CPU time of families of processes to a share of their cores.

    Making one raises `ThrottleUnavailable` where it cannot work; a command that the kernel refuses
    raises an `AttributeFault`. Processes that are gone are passed over. Whatever happens to the
    owner, SIGKILL included, a guardian sets its processes free.
    """

    backend: Backend

    def attach(self, name: str, processes: Sequence[Process], cores: float) -> None:
        """Take in a family under a new name, at full speed: all of its cores, and no more."""
        ...

    def set_share(self, name: str, share: float) -> None:
        """Give the family `share` (above 0, at most 1) of its cores from now on."""
        ...

    def update(self, name: str, processes: Sequence[Process]) -> None:
        """Who belongs to the family now; only those that are new to it are taken in."""
        ...

    def detach(self, name: str) -> None:
        """Let a family run free, where it was before."""
        ...

    def close(self) -> None:
        """Detach all; the throttle is of no further use."""
        ...
