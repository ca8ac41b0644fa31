"""Adds up a hardware energy counter that wraps into a total that never does.

Pure arithmetic on values and times that were read elsewhere. A difference that no hardware can have
drawn is rejected and counted instead of added; the total then starts again from the new value, so
that it may be too low by what was lost but is never invented.
"""

HIGHEST_POWER_W = 2000.0
"""More than any package or its memory draws; a difference above it is a reset or garbage."""

REFRESH_S = 0.1
"""Counters move in steps of about 1 ms (tens of ms on some): two readings closer together than a
step may be a whole step apart, which would look like an enormous power."""


class WrappingCounter:
    """One counter of microjoules that falls to 0 after `range_uj`.

    The kernel's max_energy_range_uj is the last value before the fall (all 32 bits of the register
    set, in microjoules), so a full turn is one more than that. The register counts in units of 15
    to 61 uJ, and a real turn is longer by the rest of a unit: below 1e-9 of it, and left out.
    """

    __slots__ = ("_base", "_highest_power_w", "_period_uj", "_range_uj", "rejected", "total_uj")

    def __init__(self, range_uj: int | None, highest_power_w: float = HIGHEST_POWER_W) -> None:
        """Without a known range a counter that falls was reset, never wrapped."""
        self.total_uj = 0
        self.rejected = 0
        self._range_uj = range_uj
        self._period_uj = None if range_uj is None else range_uj + 1
        self._highest_power_w = highest_power_w
        self._base: tuple[int, float] | None = None

    def add(self, value_uj: int, now_s: float) -> None:
        """Count what the counter gained since the last value that was accepted."""
        if value_uj < 0 or (self._range_uj is not None and value_uj > self._range_uj):
            self.rejected += 1
            return
        if self._base is None:
            self._base = value_uj, now_s
            return
        base_uj, base_s = self._base
        elapsed_s = now_s - base_s
        if elapsed_s == 0:
            return
        gained_uj = self._gained_uj(value_uj - base_uj, elapsed_s)
        if gained_uj is None:
            self.rejected += 1
        else:
            self.total_uj += gained_uj
        self._base = value_uj, now_s

    def _gained_uj(self, difference_uj: int, elapsed_s: float) -> int | None:
        """None: cannot be told, because of the time or because no hardware draws that much."""
        if elapsed_s < 0:
            return None
        most_uj = self._highest_power_w * (elapsed_s + REFRESH_S) * 1e6
        if self._period_uj is not None:
            # After so long a gap the counter may have gone round more than once.
            if self._highest_power_w * elapsed_s * 1e6 >= self._period_uj:
                return None
            difference_uj %= self._period_uj
        return difference_uj if 0 <= difference_uj <= most_uj else None
