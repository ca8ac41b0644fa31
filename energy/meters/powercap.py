"""The meter of the kernel's own counters: /sys/class/powercap, real or emulated."""

from energy.errors import MeterUnavailable
from energy.meters.contract import EnergyReading, MeterName, PowerSource
from energy.meters.counter import HIGHEST_POWER_W
from energy.meters.totals import ZoneTotals
from energy.meters.zones import RaplZone, rapl_zones, read_count
from energy.tree import POWERCAP, Tree


class PowercapMeter:
    """Counters that exist but cannot be read are no reason to fail: they are None with the reason,
    and count from the moment they can be read."""

    name: MeterName = "powercap"

    def __init__(
        self,
        tree: Tree,
        source: PowerSource = "measured",
        highest_power_w: float = HIGHEST_POWER_W,
    ) -> None:
        self.source: PowerSource = source
        zones = rapl_zones(tree)
        if not zones:
            raise MeterUnavailable(
                f"{POWERCAP} has no RAPL zone: a virtual machine, a CPU without the counters, or "
                "the module intel_rapl_msr is not loaded"
            )
        self._tree = tree
        self._totals = ZoneTotals(zones, self._read_uj, source, highest_power_w)

    def poll(self, now_s: float) -> EnergyReading:
        return self._totals.poll(now_s)

    def reasons_against(self) -> tuple[str, ...]:
        """Why nothing of the total can be read now; empty if something can."""
        return self._totals.reasons_against()

    def _read_uj(self, zone: RaplZone) -> int:
        return read_count(self._tree, zone.energy_path)
