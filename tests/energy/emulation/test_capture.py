"""Hosts made from captured machines: everything reads as captured, and the policies are alive."""

import errno
from pathlib import Path

import pytest

from energy.tree import CPU, CPUFREQ, POWERCAP
from runtime.doctor.captured import parse_capture
from tests.energy.emulation.hosts import at, limits, refused, shown
from tests.support.capture import host_from_capture, plan_from_capture
from tests.support.faulty_host import FaultyHost

POLICY = {
    "affected_cpus": "0",
    "related_cpus": "0 1",
    "cpuinfo_min_freq": "800000",
    "cpuinfo_max_freq": "2101000",
    "scaling_min_freq": "1000000",
    "scaling_max_freq": "1000000",
    "scaling_cur_freq": "2399999",
    "scaling_driver": "acpi-cpufreq",
    "scaling_governor": "userspace",
    "scaling_available_governors": "userspace performance ",
    "scaling_available_frequencies": "2101000 2100000 1000000 800000 ",
    "scaling_boost_frequencies": "",
    "scaling_setspeed": "1000000",
    "bios_limit": "2100000",
}
SMALL = "".join(
    (
        "# Format: <ro|rw>|<sysfs_path>|<value>\n",
        f"ro|{CPU}/present|0-2\n",
        f"ro|{CPU}/online|0,2\n",
        f"rw|{CPUFREQ}/boost|1\n",
        *(f"rw|{CPUFREQ}/policy0/{name}|{value}\n" for name, value in POLICY.items()),
        f"rw|{CPUFREQ}/policy2/affected_cpus|\n",
    )
)
"""Held down by its firmware, capped by its user, with a CPU and a policy offline."""

MACHINES = ("bdwep0", "clx2s0", "dnv0", "genoa0")


@pytest.fixture(params=MACHINES)
def text(request: pytest.FixtureRequest, shared_data: Path) -> str:
    return (shared_data / "sysfs" / f"{request.param}.txt").read_text()


def test_every_captured_value_reads_as_captured(text: str) -> None:
    host = host_from_capture(text)
    values = parse_capture(text)
    assert len(values) > 900
    assert {path: host.read(path) for path in values} == {
        path: f"{value}\n" for path, value in values.items()
    }


def test_captured_policies_are_alive_and_can_be_restored(text: str) -> None:
    host = host_from_capture(text)
    before = host.snapshot()
    captured = shown(host, "scaling_cur_freq")
    lowest_khz = int(shown(host, "cpuinfo_min_freq"))
    for policy in host.plan.policies:
        host.write(at("scaling_max_freq", policy.number), str(lowest_khz))
    assert {limits(host, policy.number)[1] for policy in host.plan.policies} == {lowest_khz}
    assert shown(host, "scaling_cur_freq") == str(lowest_khz)
    assert host.running_khz(0) == lowest_khz
    for policy in host.plan.policies:
        path = at("scaling_max_freq", policy.number)
        host.write(path, before[path])
    assert host.snapshot() == before
    assert shown(host, "scaling_cur_freq") == captured


@pytest.mark.parametrize(
    ("machine", "driver", "policies", "packages", "base_khz", "domain"),
    [
        ("bdwep0", "intel_cpufreq", 88, 2, 2_400_000, (1,)),
        ("clx2s0", "intel_pstate", 96, 2, 2_400_000, (1,)),
        ("dnv0", "acpi-cpufreq", 12, 1, 2_100_000, (1,)),
        ("genoa0", "acpi-cpufreq", 128, 2, 3_250_000, (0, 1)),
    ],
)
def test_the_machines_are_understood(
    shared_data: Path,
    machine: str,
    driver: str,
    policies: int,
    packages: int,
    base_khz: int,
    domain: tuple[int, ...],
) -> None:
    plan = plan_from_capture((shared_data / "sysfs" / f"{machine}.txt").read_text())
    assert len(plan.policies) == policies
    assert {policy.driver for policy in plan.policies} == {driver}
    assert {policy.base_khz for policy in plan.policies} == {base_khz}
    assert plan.policies[1].domain_cpus == domain
    assert len(set(plan.package_of.values())) == packages
    counters = [zone.name for zone in plan.zones if zone.parent is None]
    assert counters == [f"package-{number}" for number in range(packages)]


def test_captured_hosts_have_working_counters(text: str) -> None:
    host = host_from_capture(text)
    host.add_energy_uj("package-0", 123)
    assert host.read(f"{POWERCAP}/intel-rapl:0/energy_uj") == "123\n"


def test_a_throttled_machine_in_use_is_taken_over_as_it_was() -> None:
    host = host_from_capture(SMALL)
    for path, value in parse_capture(SMALL).items():
        if "/policy2/" not in path:
            assert host.read(path) == f"{value}\n", path
    assert host.policies == ("policy0",)
    assert host.running_khz(0) == 1_000_000
    assert host.running_khz(1) == 0
    host.write(at("scaling_max_freq"), "2101000")
    assert limits(host) == (1_000_000, 2_100_000)
    host.plug(1)
    assert shown(host, "affected_cpus") == "0 1"


def test_captured_files_that_are_not_alive_cannot_be_written() -> None:
    path = f"{CPU}/cpu0/power/energy_perf_bias"
    host = host_from_capture(f"{SMALL}rw|{path}|7\n")
    assert host.read(path) == "7\n"
    with refused(errno.EACCES):
        host.write(path, "6")


def test_packages_come_from_ids_where_they_were_captured() -> None:
    ids = "".join(
        f"ro|{CPU}/cpu{cpu}/topology/physical_package_id|{package}\n"
        for cpu, package in enumerate((0, 3, 3))
    )
    host: FaultyHost = host_from_capture(SMALL + ids)
    assert [host.package_of(cpu) for cpu in range(3)] == [0, 3, 3]
    assert host.zones == ("package-0", "package-0/dram", "package-3", "package-3/dram")


def test_values_keep_their_blanks_and_bars() -> None:
    values = parse_capture("ro|/sys/a|x | y \n\nrw|/sys/b|\n# end")
    assert values == {"/sys/a": "x | y ", "/sys/b": ""}


@pytest.mark.parametrize(
    ("capture", "words"),
    [
        ("wo|/sys/a|1", "line 1"),
        ("ro|/sys/a|1\nro /sys/b 1", "line 2"),
        ("ro|/etc/passwd|1", "line 1"),
        ("ro|/sys/a|1", "has no /sys/devices/system/cpu/present"),
        (SMALL.replace("|acpi-cpufreq", "|longhaul"), "policy0: driver must be one of"),
    ],
)
def test_what_is_no_capture_is_refused(capture: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        host_from_capture(capture)
