"""The two clocks of the agent, injected so that tests own the time.

Everything that expires is measured on the boot clock, which also runs while the host is suspended;
the wall clock may jump and only labels lines of the audit log.
"""

import time
from typing import Protocol


class Clock(Protocol):
    def boot_s(self) -> float:
        """Seconds since the host booted, suspension included; never falls."""
        ...

    def wall_s(self) -> float:
        """Seconds since 1970, for people; may jump."""
        ...


class SystemClock:
    """The clocks of the kernel."""

    def boot_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall_s(self) -> float:
        return time.time()


class ManualClock:
    """A clock that stands until it is told to go on."""

    def __init__(self, boot_s: float = 1000.0, wall_s: float = 1_700_000_000.0) -> None:
        self._boot_s = boot_s
        self._wall_s = wall_s

    def boot_s(self) -> float:
        return self._boot_s

    def wall_s(self) -> float:
        return self._wall_s

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError(f"time does not run backwards, got {seconds}")
        self._boot_s += seconds
        self._wall_s += seconds
