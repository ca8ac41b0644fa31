"""The two clocks of the agent, injected so that tests own the time.

Everything that expires is measured on the boot clock, which also runs while the host is suspended;
the wall clock may jump and only labels lines of the audit log.
"""

import time
from typing import Protocol


class HostClock(Protocol):
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
