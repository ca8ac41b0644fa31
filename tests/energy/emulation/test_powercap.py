import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.description import HostDescription
from energy.tree import POWERCAP
from tests.support.faulty_host import FaultyHost


def energy_uj(host: FaultyHost, zone: str) -> int:
    return int(host.read(f"{POWERCAP}/{zone}/energy_uj"))


@given(
    st.integers(1, 1_000_000),
    st.data(),
    st.lists(st.integers(0, 3_000_000), min_size=1, max_size=6),
)
def test_counters_wrap_after_their_range(
    range_uj: int, data: st.DataObject, gains_uj: list[int]
) -> None:
    start_uj = data.draw(st.integers(0, range_uj))
    host = FaultyHost(HostDescription(cpus=1, range_uj=range_uj, start_uj=start_uj))
    for gained_uj in gains_uj:
        host.add_energy_uj("package-0", gained_uj)
        assert 0 <= energy_uj(host, "intel-rapl:0") <= range_uj
    expected_uj = (start_uj + sum(gains_uj)) % (range_uj + 1)
    assert energy_uj(host, "intel-rapl:0") == expected_uj
    assert host.read(f"{POWERCAP}/intel-rapl:0/max_energy_range_uj") == f"{range_uj}\n"


def test_zones_have_names_and_hexadecimal_ids() -> None:
    host = FaultyHost(HostDescription(cpus=11, packages=11, subzones=("core", "dram"), psys=True))
    assert host.read(f"{POWERCAP}/intel-rapl:a/name") == "package-10\n"
    assert host.read(f"{POWERCAP}/intel-rapl:a:1/name") == "dram\n"
    assert host.read(f"{POWERCAP}/intel-rapl:b/name") == "psys\n"
    assert host.zones[-3:] == ("package-10/core", "package-10/dram", "psys")


def test_control_types_stand_beside_their_zones_without_a_counter() -> None:
    host = FaultyHost(HostDescription(mmio=True))
    assert host.names(POWERCAP) == (
        "dtpm",
        "intel-rapl",
        "intel-rapl-mmio",
        "intel-rapl-mmio:0",
        "intel-rapl:0",
        "intel-rapl:0:0",
        "intel-rapl:0:1",
    )
    assert host.names(f"{POWERCAP}/dtpm") == ("enabled",)
    assert host.mode(f"{POWERCAP}/intel-rapl/energy_uj") is None


def test_each_zone_is_also_where_the_links_of_sysfs_lead() -> None:
    host = FaultyHost(HostDescription(mmio=True))
    host.add_energy_uj("package-0/dram", 7)
    assert energy_uj(host, "intel-rapl/intel-rapl:0/intel-rapl:0:1") == 7
    assert energy_uj(host, "intel-rapl:0/intel-rapl:0:1") == 7
    host.add_energy_uj("package-0", 9)
    assert energy_uj(host, "intel-rapl-mmio:0") == energy_uj(host, "intel-rapl:0") == 9
    assert energy_uj(host, "intel-rapl-mmio/intel-rapl-mmio:0") == 9


def test_a_zone_gains_nothing_from_another() -> None:
    host = FaultyHost(HostDescription(cpus=2, packages=2, psys=True))
    host.add_energy_uj("intel-rapl:1", 5)
    assert [energy_uj(host, f"intel-rapl:{number}") for number in range(3)] == [0, 5, 0]
    assert energy_uj(host, "intel-rapl:1:0") == 0


def test_unknown_zones_and_negative_energy_are_refused() -> None:
    host = FaultyHost(HostDescription())
    with pytest.raises(KeyError, match="package-0/dram"):
        host.add_energy_uj("package-7", 1)
    with pytest.raises(ValueError, match="at least 0"):
        host.add_energy_uj("package-0", -1)


def test_a_host_without_counters() -> None:
    host = FaultyHost(HostDescription(powercap=False))
    assert host.names(POWERCAP) == ()
    assert host.zones == ()
