"""What CPUs really run at: governors, clock domains, boost and the settings of drivers."""

import errno

import pytest

from energy.emulation.description import HostDescription
from energy.emulation.drivers import Driver
from energy.tree import CPU, CPUFREQ
from tests.energy.emulation.hosts import GENOA, at, every_driver, host_of, limits, refused, shown
from tests.support.faulty_host import FaultyHost

NO_TURBO = f"{CPU}/intel_pstate/no_turbo"
MAX_PERCENT = f"{CPU}/intel_pstate/max_perf_pct"
MIN_PERCENT = f"{CPU}/intel_pstate/min_perf_pct"
BOOST = f"{CPUFREQ}/boost"


@every_driver
def test_a_loaded_cpu_runs_at_its_upper_limit(driver: Driver) -> None:
    host = host_of(driver)
    assert host.running_khz(0) == 3_600_000
    host.write(at("scaling_max_freq"), "1800000")
    assert host.running_khz(0) == 1_800_000
    assert shown(host, "scaling_cur_freq") == "1800000"
    assert host.running_khz(1) == 3_600_000


@every_driver
def test_powersave_is_the_lowest_only_where_the_kernel_governs(driver: Driver) -> None:
    host = host_of(driver)
    host.write(at("scaling_governor"), "powersave")
    self_governed = driver in {"intel_pstate", "amd-pstate-epp"}
    assert host.running_khz(0) == (3_600_000 if self_governed else 1_200_000)


def test_userspace_runs_what_was_set_within_the_limits() -> None:
    host = host_of("intel_cpufreq")
    host.write(at("scaling_max_freq"), "2000000")
    host.write(at("scaling_governor"), "userspace")
    assert shown(host, "scaling_setspeed") == "2000000"
    host.write(at("scaling_setspeed"), "3000000")
    assert host.running_khz(0) == 2_000_000
    host.write(at("scaling_max_freq"), "3600000")
    assert host.running_khz(0) == 3_000_000
    host.write(at("scaling_setspeed"), "7")
    assert host.running_khz(0) == 1_200_000
    with refused(errno.EINVAL):
        host.write(at("scaling_setspeed"), "fast")


def test_userspace_takes_the_next_entry_of_a_table() -> None:
    host = FaultyHost(GENOA)
    host.write(at("scaling_governor"), "userspace")
    host.write(at("scaling_setspeed"), "1600000")
    assert shown(host, "scaling_setspeed") == "2300000"
    host.write(at("scaling_max_freq"), "1500000")
    assert shown(host, "scaling_setspeed") == "1500000"


def test_a_clock_domain_runs_at_the_highest_request_of_its_members() -> None:
    host = FaultyHost(HostDescription(cpus=4, cpus_per_domain=2))
    assert shown(host, "related_cpus") == "0"
    assert shown(host, "freqdomain_cpus") == "0 1"
    host.write(at("scaling_max_freq", 0), "1300000")
    assert (host.running_khz(0), host.running_khz(1)) == (2_400_000, 2_400_000)
    host.write(at("scaling_max_freq", 1), "1500000")
    assert (host.running_khz(0), host.running_khz(1)) == (1_500_000, 1_500_000)
    assert shown(host, "scaling_cur_freq") == "1500000"
    assert host.running_khz(2) == 2_400_000
    host.unplug(1)
    assert host.running_khz(0) == 1_300_000
    assert host.running_khz(1) == 0


@pytest.mark.parametrize("driver", ["intel_pstate", "intel_cpufreq"])
def test_no_turbo_moves_the_top_down_to_the_base_frequency(driver: Driver) -> None:
    host = host_of(driver)
    before = host.snapshot()
    host.write(NO_TURBO, "1")
    assert limits(host) == (1_200_000, 2_400_000)
    assert shown(host, "cpuinfo_max_freq") == "2400000"
    assert host.running_khz(0) == 2_400_000
    host.write(NO_TURBO, "0")
    assert host.snapshot() == before


def test_performance_percents_show_in_limits_only_in_passive_mode() -> None:
    active, passive = host_of("intel_pstate"), host_of("intel_cpufreq")
    for host in (active, passive):
        host.write(MAX_PERCENT, "50")
        assert host.read(MAX_PERCENT) == "50\n"
        assert host.running_khz(0) == 1_800_000
    assert limits(active) == (1_200_000, 3_600_000)
    assert limits(passive) == (1_200_000, 1_800_000)
    passive.write(MIN_PERCENT, "40")
    assert limits(passive) == (1_440_000, 1_800_000)
    passive.write(MIN_PERCENT, "90")
    assert passive.read(MIN_PERCENT) == "50\n"
    passive.write(MIN_PERCENT, "1")
    assert passive.read(MIN_PERCENT) == "33\n"


def test_boost_off_runs_at_the_base_frequency() -> None:
    host = host_of("acpi-cpufreq")
    host.write(at("boost"), "0")
    assert (host.running_khz(0), host.running_khz(1)) == (2_400_000, 3_600_000)
    # acpi-cpufreq leaves the limits as they are, amd-pstate does not.
    assert limits(host)[1] == 3_600_000
    amd = host_of("amd-pstate-epp")
    amd.write(at("boost"), "0")
    assert limits(amd)[1] == 2_400_000


@pytest.mark.parametrize("driver", ["acpi-cpufreq", "amd-pstate", "amd-pstate-epp"])
def test_the_boost_switch_of_the_host_is_above_those_of_policies(driver: Driver) -> None:
    host = host_of(driver)
    before = host.snapshot()
    host.write(BOOST, "0")
    assert shown(host, "boost", 1) == "0"
    with refused(errno.EINVAL):
        host.write(at("boost", 1), "1")
    with refused(errno.EINVAL):
        host.write(BOOST, "2")
    host.write(BOOST, "1\n")
    assert host.snapshot() == before
    host.write(at("boost"), "0")
    host.write(BOOST, "1")
    assert shown(host, "boost") == "0"


@pytest.mark.parametrize("driver", ["intel_pstate", "amd-pstate-epp"])
def test_energy_preferences(driver: Driver) -> None:
    host = host_of(driver)
    path = at("energy_performance_preference")
    host.write(path, "power")
    assert host.read(path) == "power\n"
    with refused(errno.EINVAL):
        host.write(path, "lots")
    host.write(at("scaling_governor"), "performance")
    assert host.read(path) == "performance\n"
    with refused(errno.EBUSY):
        host.write(path, "power")
    host.write(at("scaling_governor"), "powersave")
    host.write(path, "default")
    assert host.read(path) == "balance_performance\n"
