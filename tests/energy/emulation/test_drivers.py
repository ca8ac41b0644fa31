"""The contract of every driver personality: one suite over all of them."""

import errno

import pytest

from energy.emulation.drivers import DRIVERS, PERSONALITIES, Driver
from energy.tree import CPU, CPUFREQ
from tests.energy.emulation.hosts import at, every_driver, host_of, limits, refused, shown
from tests.support.faulty_host import FaultyHost

WRITABLE = {
    "scaling_min_freq",
    "scaling_max_freq",
    "scaling_governor",
    "scaling_setspeed",
    "energy_performance_preference",
    "boost",
}


@pytest.fixture(params=DRIVERS)
def host(request: pytest.FixtureRequest) -> FaultyHost:
    return host_of(request.param)


def test_every_file_reads_and_ends_its_line(host: FaultyHost) -> None:
    for name in host.names(f"{CPUFREQ}/policy0"):
        text = host.read(at(name))
        assert text.endswith("\n"), name
        assert text.count("\n") == 1, name


def test_modes_are_the_kernels(host: FaultyHost) -> None:
    for name in host.names(f"{CPUFREQ}/policy0"):
        expected = 0o644 if name in WRITABLE else 0o444
        assert host.mode(at(name)) == (0o400 if name == "cpuinfo_cur_freq" else expected), name


def test_files_without_a_store_cannot_be_opened_for_writing(host: FaultyHost) -> None:
    for name in set(host.names(f"{CPUFREQ}/policy0")) - WRITABLE:
        with refused(errno.EACCES):
            host.write(at(name), "1")


def test_a_cpu_links_to_its_policy(host: FaultyHost) -> None:
    host.write(f"{CPU}/cpu1/cpufreq/scaling_max_freq", "1800000")
    assert shown(host, "scaling_max_freq", 1) == "1800000"
    assert host.names(f"{CPU}/cpu1/cpufreq") == host.names(f"{CPUFREQ}/policy1")


def test_a_fresh_policy_is_unlimited(host: FaultyHost) -> None:
    assert limits(host) == (1_200_000, 3_600_000)
    assert shown(host, "cpuinfo_min_freq") == "1200000"
    assert shown(host, "cpuinfo_max_freq") == "3600000"


def test_limits_of_one_policy_leave_the_other_alone(host: FaultyHost) -> None:
    host.write(at("scaling_max_freq"), "2000000\n")
    assert limits(host, 0) == (1_200_000, 2_000_000)
    assert limits(host, 1) == (1_200_000, 3_600_000)


@pytest.mark.parametrize("text", ["junk", "2000000 kHz", "-1", "", "\0", "2147483648", "1.8e6"])
def test_junk_changes_nothing(host: FaultyHost, text: str) -> None:
    before = host.snapshot()
    for name in ("scaling_min_freq", "scaling_max_freq", "scaling_governor"):
        if text:
            with refused(errno.EINVAL):
                host.write(at(name), text)
        else:
            host.write(at(name), text)
    assert host.snapshot() == before


@every_driver
def test_governors_are_those_of_the_driver(driver: Driver) -> None:
    host = host_of(driver)
    personality = PERSONALITIES[driver]
    assert tuple(shown(host, "scaling_available_governors").split()) == personality.governors
    assert shown(host, "scaling_governor") == personality.governor
    for governor in personality.governors:
        host.write(at("scaling_governor"), f" {governor.upper()} and junk\n")
        assert shown(host, "scaling_governor") == governor
    with refused(errno.EINVAL):
        host.write(at("scaling_governor"), "turbo")


@every_driver
def test_only_acpi_has_a_table_and_its_clock_domain(driver: Driver) -> None:
    host = host_of(driver)
    names = set(host.names(f"{CPUFREQ}/policy0"))
    for name in ("scaling_available_frequencies", "freqdomain_cpus", "bios_limit"):
        assert (name in names) == (driver == "acpi-cpufreq")
    host.write(at("scaling_max_freq"), "1999999")
    assert limits(host)[1] == (1_900_000 if driver == "acpi-cpufreq" else 1_999_999)


@every_driver
def test_setspeed_needs_the_userspace_governor(driver: Driver) -> None:
    host = host_of(driver)
    assert shown(host, "scaling_setspeed") == "<unsupported>"
    with refused(errno.EINVAL):
        host.write(at("scaling_setspeed"), "1500000")
    if "userspace" in PERSONALITIES[driver].governors:
        host.write(at("scaling_governor"), "userspace")
        host.write(at("scaling_setspeed"), "1500000 and junk")
        assert shown(host, "scaling_setspeed") == "1500000"
        assert shown(host, "scaling_cur_freq") == "1500000"


@every_driver
def test_the_driver_names_its_mode_and_keeps_it(driver: Driver) -> None:
    host = host_of(driver)
    status = PERSONALITIES[driver].status
    if status is None:
        assert host.mode(f"{CPU}/intel_pstate/status") is None
        return
    path = f"{CPU}/{status[0]}/status"
    assert host.read(path) == f"{status[1]}\n"
    host.write(path, status[1])
    with refused(errno.EBUSY):
        host.write(path, "off")
    with refused(errno.EINVAL):
        host.write(path, "fast")
