"""Polls a set of counters into one `Reading`, whoever reads them.

The powercap and the pyRAPL meter differ in how a number is read and in nothing else: wraps,
rejected jumps, zones that cannot be read and the sum are here.
"""

from collections.abc import Callable, Sequence

from energy.meters.contract import EnergyReading, PowerSource, Zone
from energy.meters.counter import HIGHEST_POWER_W, WrappingCounter
from energy.meters.zones import RaplZone, UnreadableCount

ReadCount = Callable[[RaplZone], int]
"""The counter now; raises `UnreadableCount` with the reason."""


class ZoneTotals:
    def __init__(
        self,
        zones: Sequence[RaplZone],
        read_uj: ReadCount,
        source: PowerSource,
        highest_power_w: float = HIGHEST_POWER_W,
    ) -> None:
        self._counters = [(zone, WrappingCounter(zone.range_uj, highest_power_w)) for zone in zones]
        self._read_uj = read_uj
        self._source = source

    def poll(self, now_s: float) -> EnergyReading:
        zones = tuple(self._zone(zone, counter, now_s) for zone, counter in self._counters)
        return EnergyReading(
            at_s=now_s,
            zones=zones,
            total_uj=self._total_uj(zones),
            source=self._source,
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
