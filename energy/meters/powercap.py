"""The meters of RAPL counters: wraps, rejected jumps, zones that cannot be read, and the sum.

`RaplMeter` polls a set of counters into one reading, whoever reads them; `PowercapMeter` reads the
kernel's own files in /sys/class/powercap, real or emulated.
"""

from abc import abstractmethod
from collections.abc import Sequence

from energy.errors import MeterUnavailable
from energy.meters.contract import EnergyReading, MeterName, PowerSource, Zone
from energy.meters.counter import WrappingCounter
from energy.meters.zones import RaplZone, UnreadableCount, rapl_zones, read_count
from energy.tree import POWERCAP, Tree


class RaplMeter:
    """Counters that exist but cannot be read are no reason to fail: they are None with the reason,
    and count from the moment they can be read."""

    name: MeterName

    def __init__(self, zones: Sequence[RaplZone], source: PowerSource) -> None:
        self.source: PowerSource = source
        self._counters = [(zone, WrappingCounter(zone.range_uj)) for zone in zones]

    @abstractmethod
    def _read_uj(self, zone: RaplZone) -> int:
        """The counter now; raises `UnreadableCount` with the reason."""

    def poll(self, now_s: float) -> EnergyReading:
        zones = tuple(self._zone(zone, counter, now_s) for zone, counter in self._counters)
        return EnergyReading(
            at_s=now_s,
            zones=zones,
            total_uj=self._total_uj(zones),
            source=self.source,
            rejected_jumps=sum(counter.rejected for _, counter in self._counters),
        )

    def reasons_against(self) -> tuple[str, ...]:
        """Why none of the zones that make the total can be read now; empty if one can."""
        reasons = []
        for zone, _ in self._counters:
            if not zone.in_total:
                continue
            try:
                self._value_uj(zone)
            except UnreadableCount as error:
                reasons.append(f"{zone.name}: {error}")
            else:
                return ()
        return tuple(reasons) or ("no zone counts the whole host",)

    def _value_uj(self, zone: RaplZone) -> int:
        if zone.fault is not None:
            raise UnreadableCount(zone.fault)
        return self._read_uj(zone)

    def _zone(self, zone: RaplZone, counter: WrappingCounter, now_s: float) -> Zone:
        try:
            value_uj = self._value_uj(zone)
        except UnreadableCount as error:
            return Zone(zone.name, None, str(error))
        counter.add(value_uj, now_s)
        return Zone(zone.name, counter.total_uj)

    def _total_uj(self, zones: Sequence[Zone]) -> int | None:
        members = [
            read.energy_uj
            for (zone, _), read in zip(self._counters, zones, strict=True)
            if zone.in_total
        ]
        known = [energy_uj for energy_uj in members if energy_uj is not None]
        return sum(known) if members and len(known) == len(members) else None


class PowercapMeter(RaplMeter):
    name: MeterName = "powercap"

    def __init__(self, tree: Tree, source: PowerSource = "measured") -> None:
        zones = rapl_zones(tree)
        if not zones:
            raise MeterUnavailable(
                f"{POWERCAP} has no RAPL zone: a virtual machine, a CPU without the counters, or "
                "the module intel_rapl_msr is not loaded"
            )
        super().__init__(zones, source)
        self._tree = tree

    def _read_uj(self, zone: RaplZone) -> int:
        return read_count(self._tree, zone.energy_path)
