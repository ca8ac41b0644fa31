import errno

import pytest

from energy.emulation.description import HostDescription
from energy.tree import THERMAL
from tests.energy.emulation.hosts import at, limits, refused, shown
from tests.support.faulty_host import FaultyHost


def states(host: FaultyHost) -> list[str]:
    return [
        host.read(f"{THERMAL}/{name}/cur_state").strip()
        for name in sorted(host.names(THERMAL), key=lambda name: int(name.split("device")[1]))
    ]


def test_a_cap_shows_at_the_processors_of_its_policy() -> None:
    host = FaultyHost(HostDescription(cpus=4, cpus_per_policy=2, max_khz=2_000_000))
    assert states(host) == ["0"] * 4
    assert host.read(f"{THERMAL}/cooling_device3/type") == "Processor\n"
    host.thermal_cap("policy2", 1_600_000)
    assert states(host) == ["0", "0", "1", "1"]
    assert limits(host, 2)[1] == 1_600_000
    host.thermal_cap("policy2", None)
    assert states(host) == ["0"] * 4


def test_cooling_can_be_of_a_policy() -> None:
    host = FaultyHost(HostDescription(cpus=4, cpus_per_policy=2, cooling="cpufreq"))
    assert host.read(f"{THERMAL}/cooling_device1/type") == "cpufreq-cpu2\n"
    host.thermal_cap("policy0", 2_399_999)
    assert states(host) == ["1", "0"]


def test_a_host_may_have_no_cooling_devices() -> None:
    host = FaultyHost(HostDescription(cooling=None))
    assert host.names(THERMAL) == ()
    host.thermal_cap("policy0", 1_300_000)
    assert limits(host)[1] == 1_300_000


@pytest.mark.parametrize(("state", "max_khz"), [(0, 2_000_000), (1, 1_600_000), (2, 1_200_000)])
def test_writing_a_state_takes_a_fifth_each(state: int, max_khz: int) -> None:
    host = FaultyHost(
        HostDescription(driver="intel_pstate", cpus=1, min_khz=1_000_000, max_khz=2_000_000)
    )
    path = f"{THERMAL}/cooling_device0/cur_state"
    host.write(path, f"{state}\n")
    assert limits(host)[1] == max_khz
    assert host.read(path) == f"{state}\n"
    with refused(errno.EINVAL):
        host.write(path, "4")


def test_the_firmware_limit_shows_only_with_acpi() -> None:
    host = FaultyHost(HostDescription())
    assert shown(host, "bios_limit") == "2400000"
    host.bios_limit("policy0", 1_800_000)
    assert shown(host, "bios_limit") == "1800000"
    assert limits(host) == (1_200_000, 1_800_000)
    host.bios_limit("policy0", None)
    assert limits(host)[1] == 2_400_000
    other = FaultyHost(HostDescription(driver="intel_pstate"))
    other.bios_limit("policy0", 1_800_000)
    assert limits(other)[1] == 1_800_000
    assert other.mode(at("bios_limit")) is None
