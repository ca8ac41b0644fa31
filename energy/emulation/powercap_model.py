"""Energy counters as powercap shows them: they only rise, and wrap at their range.

Zone ids are hexadecimal and count up in each control type; the folders stand flat in
/sys/class/powercap and once more inside their control type, as the links of sysfs have it.
"""

from energy.emulation.description import ZonePlan
from energy.emulation.files import OWNER_ONLY, EmulatedFiles
from energy.tree import POWERCAP

RAPL = "intel-rapl"
MMIO = "intel-rapl-mmio"


class Counter:
    """One energy counter of the hardware."""

    __slots__ = ("energy_uj", "range_uj")

    def __init__(self, range_uj: int, start_uj: int) -> None:
        self.range_uj = range_uj
        self.energy_uj = start_uj

    def add(self, gained_uj: int) -> None:
        self.energy_uj = (self.energy_uj + gained_uj) % (self.range_uj + 1)


class Powercap:
    """All counters of a host, by the names a meter gives them and by their sysfs ids."""

    def __init__(
        self, files: EmulatedFiles, zones: tuple[ZonePlan, ...], range_uj: int, start_uj: int
    ) -> None:
        self._counters: dict[str, Counter] = {}
        self.names: tuple[str, ...] = tuple(
            f"{zone.parent}/{zone.name}" if zone.parent else zone.name for zone in zones
        )
        if not zones:
            return
        identities: dict[str, str] = {}
        children: dict[str, int] = {}
        mmio = 0
        for zone, name in zip(zones, self.names, strict=True):
            counter = Counter(range_uj, start_uj)
            if zone.parent is None:
                identity = f"{RAPL}:{len(identities):x}"
                identities[zone.name] = identity
            else:
                parent = identities[zone.parent]
                identity = f"{parent}:{children.get(parent, 0):x}"
                children[parent] = children.get(parent, 0) + 1
            self._counters[name] = self._counters[identity] = counter
            _add_zone(files, f"{POWERCAP}/{identity}", zone.name, counter)
            if zone.parent is not None:
                files.link(f"{POWERCAP}/{parent}/{identity}", f"{POWERCAP}/{identity}")
            if zone.duplicate:
                _add_zone(files, f"{POWERCAP}/{MMIO}:{mmio:x}", zone.name, counter)
                self._counters[f"{MMIO}:{mmio:x}"] = counter
                files.link(f"{POWERCAP}/{MMIO}/{MMIO}:{mmio:x}", f"{POWERCAP}/{MMIO}:{mmio:x}")
                mmio += 1
        for identity in identities.values():
            files.link(f"{POWERCAP}/{RAPL}/{identity}", f"{POWERCAP}/{identity}")
        for control in (RAPL, "dtpm", *((MMIO,) if mmio else ())):
            files.add_text(f"{POWERCAP}/{control}/enabled", "1")

    def find(self, zone: str) -> Counter:
        counter = self._counters.get(zone)
        if counter is None:
            raise KeyError(f"no energy zone {zone!r}, there are {', '.join(self.names) or 'none'}")
        return counter


def _add_zone(files: EmulatedFiles, folder: str, name: str, counter: Counter) -> None:
    files.add_text(f"{folder}/name", name)
    files.add_text(f"{folder}/enabled", "1")
    files.add_text(f"{folder}/max_energy_range_uj", str(counter.range_uj))
    files.add(f"{folder}/energy_uj", lambda: f"{counter.energy_uj}\n", mode=OWNER_ONLY)
