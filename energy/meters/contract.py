"""What every energy meter promises, whatever it reads."""

from dataclasses import dataclass
from typing import Literal, Protocol

MeterName = Literal["powercap", "pyrapl", "modelled"]
PowerSource = Literal["measured", "modelled", "emulated"]


@dataclass(frozen=True, slots=True)
class Zone:
    """One energy counter, added up since the meter was made; it never falls and never wraps."""

    name: str
    """Unique on the host: "package-0", "package-0/dram", "package-0-die-1", "psys"."""
    energy_uj: int | None
    """None: unreadable, see `reason`."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class EnergyReading:
    """All counters of a host at one moment."""

    at_s: float
    """The clock that was given to `poll`."""
    zones: tuple[Zone, ...]
    total_uj: int | None
    """The host: all packages (with their dram), psys never added to them; None if any of the
    zones that make the total is unreadable."""
    source: PowerSource
    rejected_jumps: int
    """Implausible differences that were not counted, since the meter was made."""


class Meter(Protocol):
    """Made with a tree or a model; raises `MeterUnavailable` on making when there is nothing."""

    name: MeterName
    source: PowerSource

    def poll(self, now_s: float) -> EnergyReading:
        """Read the counters and add what they gained; called about once a second."""
        ...
