import errno
from pathlib import Path

import pytest

from energy.errors import MeterUnavailable
from energy.meters.contract import EnergyReading
from energy.meters.powercap import PowercapMeter
from energy.tree import POWERCAP, FolderTree
from tests.energy.meters.rapl_tree import RaplTree


@pytest.fixture
def rapl(tmp_path: Path) -> RaplTree:
    return RaplTree(tmp_path)


class DeniedTree(FolderTree):
    """Refuses some files, as the kernel refuses energy_uj to everybody but root."""

    def __init__(self, tree: FolderTree, *denied: str) -> None:
        super().__init__(tree.root)
        self._denied = denied

    def read(self, path: str) -> str:
        if path.endswith(self._denied):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return super().read(path)


def names(reading: EnergyReading) -> list[str]:
    return [zone.name for zone in reading.zones]


def energies(reading: EnergyReading) -> dict[str, int | None]:
    return {zone.name: zone.energy_uj for zone in reading.zones}


def test_a_two_socket_server(rapl: RaplTree) -> None:
    rapl.control_type("intel-rapl")
    rapl.control_type("dtpm")
    for socket in range(2):
        rapl.add(f"intel-rapl:{socket}", f"package-{socket}")
        rapl.add(f"intel-rapl:{socket}:0", "dram")
        rapl.add(f"intel-rapl:{socket}:1", "core")
    meter = PowercapMeter(rapl.tree)
    assert meter.poll(0.0).total_uj == 0
    for socket, (package_uj, dram_uj) in enumerate([(100, 10), (2000, 200)]):
        rapl.spend(f"intel-rapl:{socket}", package_uj)
        rapl.spend(f"intel-rapl:{socket}:0", dram_uj)
        rapl.spend(f"intel-rapl:{socket}:1", 50)
    reading = meter.poll(1.0)
    assert energies(reading) == {
        "package-0": 100,
        "package-0/dram": 10,
        "package-0/core": 50,
        "package-1": 2000,
        "package-1/dram": 200,
        "package-1/core": 50,
    }
    assert reading.total_uj == 2310
    assert reading.source == "measured"
    assert all(zone.reason is None for zone in reading.zones)


def test_psys_is_never_added_to_packages(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl:1", "psys")
    meter = PowercapMeter(rapl.tree)
    meter.poll(0.0)
    rapl.spend("intel-rapl:0", 7)
    rapl.spend("intel-rapl:1", 1000)
    reading = meter.poll(1.0)
    assert energies(reading) == {"package-0": 7, "psys": 1000}
    assert reading.total_uj == 7


def test_psys_alone_is_the_host(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "psys")
    rapl.add("intel-rapl:1", "psys-1")
    meter = PowercapMeter(rapl.tree)
    meter.poll(0.0)
    rapl.spend("intel-rapl:0", 1000)
    rapl.spend("intel-rapl:1", 1)
    assert meter.poll(1.0).total_uj == 1000


def test_dies_and_hexadecimal_ids(rapl: RaplTree) -> None:
    for number in range(12):
        rapl.add(f"intel-rapl:{number:x}", f"package-{number // 2}-die-{number % 2}")
        rapl.add(f"intel-rapl:{number:x}:0", "dram")
    meter = PowercapMeter(rapl.tree)
    reading = meter.poll(0.0)
    assert names(reading)[-2:] == ["package-5-die-1", "package-5-die-1/dram"]
    for number in range(12):
        rapl.spend(f"intel-rapl:{number:x}", 1)
    assert meter.poll(1.0).total_uj == 12


def test_what_mmio_says_again_is_dropped(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl-mmio:0", "package-0")
    rapl.add("intel-rapl-mmio:0:0", "dram")
    meter = PowercapMeter(rapl.tree)
    meter.poll(0.0)
    rapl.spend("intel-rapl:0", 5)
    rapl.spend("intel-rapl-mmio:0", 6)
    rapl.spend("intel-rapl-mmio:0:0", 1)
    reading = meter.poll(1.0)
    assert energies(reading) == {"package-0": 5, "package-0/dram": 1}
    assert reading.total_uj == 6


def test_mmio_alone_is_used(rapl: RaplTree) -> None:
    rapl.add("intel-rapl-mmio:0", "package-0")
    meter = PowercapMeter(rapl.tree)
    meter.poll(0.0)
    rapl.spend("intel-rapl-mmio:0", 6)
    assert meter.poll(1.0).total_uj == 6


def test_mmio_stands_in_for_a_counter_that_cannot_be_read(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl-mmio:0", "package-0")
    rapl.hide("intel-rapl:0")
    meter = PowercapMeter(rapl.tree)
    meter.poll(0.0)
    rapl.spend("intel-rapl-mmio:0", 6)
    assert energies(meter.poll(1.0)) == {"package-0": 6}


def test_two_counters_of_one_name_stay_two(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl:1", "package-0")
    meter = PowercapMeter(rapl.tree)
    meter.poll(0.0)
    rapl.spend("intel-rapl:0", 5)
    rapl.spend("intel-rapl:1", 6)
    reading = meter.poll(1.0)
    assert energies(reading) == {"package-0": 5, "package-0 (intel-rapl:1)": 6}
    assert reading.total_uj == 11


def test_a_counter_for_root_only_is_none_with_the_reason(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl:0:0", "core")
    tree = DeniedTree(rapl.tree, "intel-rapl:0/energy_uj")
    meter = PowercapMeter(tree)
    reading = meter.poll(0.0)
    package, core = reading.zones
    assert package.energy_uj is None
    assert package.reason is not None
    for words in ("permission denied", "root", "0400", "CVE-2020-8694", "intel-rapl:0/energy_uj"):
        assert words in package.reason
    assert core.energy_uj == 0
    assert reading.total_uj is None
    assert len(meter.reasons_against()) == 1


def test_one_unreadable_part_of_the_total_leaves_no_total(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl:0:0", "dram")
    meter = PowercapMeter(DeniedTree(rapl.tree, "intel-rapl:0:0/energy_uj"))
    reading = meter.poll(0.0)
    assert energies(reading) == {"package-0": 0, "package-0/dram": None}
    assert reading.total_uj is None
    assert meter.reasons_against() == ()


def test_a_zone_that_goes_and_comes_back(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl:1", "package-1")
    meter = PowercapMeter(rapl.tree)
    meter.poll(0.0)
    rapl.spend("intel-rapl:1", 40)
    assert meter.poll(1.0).total_uj == 40
    rapl.remove("intel-rapl:1")
    reading = meter.poll(2.0)
    assert energies(reading) == {"package-0": 0, "package-1": None}
    assert "no such file" in str(reading.zones[1].reason)
    assert reading.total_uj is None
    rapl.add("intel-rapl:1", "package-1", energy_uj=100)
    assert meter.poll(3.0).total_uj == 100


@pytest.mark.parametrize("text", ["", "\n", "12 34\n", "-5\n", "1_000\n", "0x10\n", "nan\n", "٣\n"])
def test_garbage_in_a_counter_is_none_with_the_reason(rapl: RaplTree, text: str) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.put("intel-rapl:0", "energy_uj", text)
    reading = PowercapMeter(rapl.tree).poll(0.0)
    assert reading.zones[0].energy_uj is None
    assert "not a number" in str(reading.zones[0].reason)


@pytest.mark.parametrize("text", ["", "garbage\n", "0\n"])
def test_without_a_range_a_fall_is_a_reset(rapl: RaplTree, text: str) -> None:
    rapl.add("intel-rapl:0", "package-0", energy_uj=1000)
    rapl.put("intel-rapl:0", "max_energy_range_uj", text)
    meter = PowercapMeter(rapl.tree)
    meter.poll(0.0)
    rapl.put("intel-rapl:0", "energy_uj", "5\n")
    reading = meter.poll(1.0)
    assert (reading.total_uj, reading.rejected_jumps) == (0, 1)


@pytest.mark.parametrize("name", [None, "", "../../etc", "a" * 65])
def test_a_counter_of_something_unknown_leaves_no_total(rapl: RaplTree, name: str | None) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl:1", name)
    reading = PowercapMeter(rapl.tree).poll(0.0)
    assert energies(reading) == {"package-0": 0, "intel-rapl:1": None}
    assert "name" in str(reading.zones[1].reason)
    assert reading.total_uj is None


def test_control_types_and_strangers_are_no_zones(rapl: RaplTree) -> None:
    for name in ("intel-rapl", "intel-rapl-mmio", "dtpm", "intel-rapl:", "intel-rapl:g"):
        rapl.control_type(name)
    rapl.add("arm-scmi:0", "package-0")
    with pytest.raises(MeterUnavailable, match=f"{POWERCAP} has no RAPL zone"):
        PowercapMeter(rapl.tree)


def test_an_emulated_host_says_so(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    meter = PowercapMeter(rapl.tree, source="emulated")
    assert meter.source == "emulated"
    assert meter.poll(0.0).source == "emulated"
