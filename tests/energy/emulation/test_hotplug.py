import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.description import HostDescription
from energy.emulation.drivers import DRIVERS, Driver
from energy.tree import CPU, CPUFREQ
from tests.energy.emulation.hosts import at, every_driver, host_of, limits, refused, shown
from tests.support.faulty_host import FaultyHost


@every_driver
def test_a_policy_without_cpus_is_busy_until_one_is_back(driver: Driver) -> None:
    host = host_of(driver)
    host.write(at("scaling_max_freq", 1), "1800000")
    before = host.snapshot()
    host.unplug(1)
    for name in host.names(f"{CPUFREQ}/policy1"):
        with refused(errno.EBUSY):
            host.read(at(name, 1))
    for name in ("scaling_max_freq", "scaling_governor"):
        with refused(errno.EBUSY):
            host.write(at(name, 1), "1500000")
    assert at("scaling_max_freq", 1) not in host.snapshot()
    assert limits(host, 0) == (1_200_000, 3_600_000)
    host.plug(1)
    assert host.snapshot() == before


@given(
    st.sampled_from(DRIVERS),
    st.integers(0, 5_000_000),
    st.integers(0, 5_000_000),
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12),
)
def test_limits_survive_any_plugging(
    driver: Driver, min_khz: int, max_khz: int, changes: list[tuple[int, bool]]
) -> None:
    host = FaultyHost(HostDescription(driver=driver, cpus=5, cpus_per_policy=2))
    host.write(at("scaling_min_freq", 0), str(min_khz))
    host.write(at("scaling_max_freq", 2), str(max_khz))
    before = host.snapshot()
    for cpu, plugged in changes:
        if plugged:
            host.plug(cpu)
        else:
            host.unplug(cpu)
    for cpu in range(5):
        host.plug(cpu)
    assert host.snapshot() == before


def test_affected_cpus_shrink_and_related_cpus_do_not() -> None:
    host = FaultyHost(HostDescription(cpus=4, cpus_per_policy=2))
    host.unplug(3)
    assert shown(host, "affected_cpus", 2) == "2"
    assert shown(host, "related_cpus", 2) == "2 3"
    assert host.read(f"{CPU}/online") == "0-2\n"
    assert host.read(f"{CPU}/offline") == "3\n"
    assert host.read(f"{CPU}/present") == host.read(f"{CPU}/possible") == "0-3\n"


def test_cpus_go_and_come_by_their_files() -> None:
    host = FaultyHost(HostDescription(cpus=3))
    assert host.mode(f"{CPU}/cpu0/online") is None
    host.write(f"{CPU}/cpu2/online", "0\n")
    assert host.read(f"{CPU}/cpu2/online") == "0\n"
    assert host.read(f"{CPU}/online") == "0-1\n"
    host.write(f"{CPU}/cpu2/online", "1")
    assert host.read(f"{CPU}/online") == "0-2\n"
    with refused(errno.EINVAL):
        host.write(f"{CPU}/cpu2/online", "2")


def test_the_last_cpu_and_unknown_cpus_are_refused() -> None:
    host = FaultyHost(HostDescription(cpus=1))
    with refused(errno.EBUSY):
        host.unplug(0)
    with refused(errno.ENODEV):
        host.plug(7)


def test_every_cpu_knows_its_package() -> None:
    host = FaultyHost(HostDescription(cpus=4, packages=2))
    packages = [host.read(f"{CPU}/cpu{cpu}/topology/physical_package_id") for cpu in range(4)]
    assert packages == ["0\n", "0\n", "1\n", "1\n"]
    assert [host.package_of(cpu) for cpu in range(4)] == [0, 0, 1, 1]
    with pytest.raises(KeyError):
        host.package_of(4)
