"""A clock for tests, which own the time."""


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
