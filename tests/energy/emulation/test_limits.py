"""Limits: what several requests come to, and what holds for any sequence of writes."""

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.description import HostDescription
from energy.emulation.drivers import DRIVERS
from tests.energy.emulation.hosts import GENOA, at, limits
from tests.support.faulty_host import FaultyHost

MIN_KHZ, MAX_KHZ = 1_200_000, 2_400_000

frequencies_khz = st.integers(0, 5_000_000)
texts = st.one_of(
    frequencies_khz.map(str),
    frequencies_khz.map(hex),
    st.sampled_from(["junk", "-5", "1200000x", "99999999999", "", "0", "4294967295"]),
)
writes = st.lists(
    st.tuples(st.sampled_from(["scaling_min_freq", "scaling_max_freq"]), texts), max_size=8
)


@st.composite
def hosts(draw: st.DrawFn) -> FaultyHost:
    driver = draw(st.sampled_from(DRIVERS))
    description = HostDescription(driver=driver, cpus=1)
    if driver == "acpi-cpufreq":
        entries = draw(st.sets(st.integers(MIN_KHZ + 1, MAX_KHZ), max_size=6))
        table_khz = (MIN_KHZ, *sorted(entries))
        description = replace(description, table_khz=table_khz)
    return FaultyHost(description)


def write_all(host: FaultyHost, changes: list[tuple[str, str]]) -> None:
    for name, text in changes:
        with contextlib.suppress(OSError):
            host.write(at(name), text)


@given(hosts(), writes, st.none() | frequencies_khz, st.none() | frequencies_khz)
def test_limits_stay_within_the_hardware_and_in_order(
    host: FaultyHost,
    changes: list[tuple[str, str]],
    thermal_khz: int | None,
    firmware_khz: int | None,
) -> None:
    host.thermal_cap("policy0", thermal_khz)
    host.bios_limit("policy0", firmware_khz)
    write_all(host, changes)
    min_khz, max_khz = limits(host)
    assert MIN_KHZ <= min_khz <= max_khz <= MAX_KHZ
    table_khz = host.plan.policies[0].table_khz
    if table_khz is not None:
        assert {min_khz, max_khz} <= set(table_khz)
    assert min_khz <= host.running_khz(0) <= max_khz


@given(hosts(), writes)
def test_writing_back_what_was_read_restores_every_file(
    host: FaultyHost, changes: list[tuple[str, str]]
) -> None:
    before = host.snapshot()
    write_all(host, changes)
    for path in (at("scaling_max_freq"), at("scaling_min_freq")):
        host.write(path, before[path])
    assert host.snapshot() == before


@given(hosts(), writes, frequencies_khz)
def test_a_thermal_cap_leaves_no_trace(
    host: FaultyHost, changes: list[tuple[str, str]], cap_khz: int
) -> None:
    write_all(host, changes)
    before = host.snapshot()
    host.thermal_cap("policy0", cap_khz)
    host.thermal_cap("policy0", None)
    assert host.snapshot() == before


@given(hosts(), writes)
def test_what_is_refused_changes_nothing(host: FaultyHost, changes: list[tuple[str, str]]) -> None:
    for name, text in changes:
        before = host.snapshot()
        try:
            host.write(at(name), text)
        except OSError:
            assert host.snapshot() == before


def test_clamping_is_silent() -> None:
    host = FaultyHost(HostDescription(driver="intel_pstate"))
    host.write(at("scaling_max_freq"), "9000000")
    assert limits(host) == (MIN_KHZ, MAX_KHZ)
    host.write(at("scaling_max_freq"), "1")
    assert limits(host) == (MIN_KHZ, MIN_KHZ)


def test_octal_is_accepted() -> None:
    host = FaultyHost(HostDescription(driver="intel_pstate"))
    host.write(at("scaling_max_freq"), "07502200")
    assert limits(host)[1] == 2_000_000


def test_a_maximum_below_the_minimum_lowers_it_until_it_is_raised_again() -> None:
    host = FaultyHost(HostDescription(driver="intel_cpufreq"))
    host.write(at("scaling_min_freq"), "2000000")
    host.write(at("scaling_max_freq"), "1500000")
    assert limits(host) == (1_500_000, 1_500_000)
    host.write(at("scaling_max_freq"), "2400000")
    assert limits(host) == (2_000_000, 2_400_000)


def test_a_table_resolves_the_maximum_down_and_the_minimum_up() -> None:
    host = FaultyHost(GENOA)
    assert limits(host) == (1_500_000, 3_250_000)
    host.write(at("scaling_max_freq"), "3800241")
    assert limits(host)[1] == 3_250_000
    host.write(at("scaling_max_freq"), "3249999")
    assert limits(host)[1] == 2_300_000
    host.write(at("scaling_min_freq"), "1500001")
    assert limits(host) == (2_300_000, 2_300_000)


def test_without_an_entry_between_the_limits_the_next_higher_one_is_taken() -> None:
    host = FaultyHost(GENOA)
    host.write(at("scaling_min_freq"), "1600000")
    host.write(at("scaling_max_freq"), "2000000")
    assert limits(host) == (2_300_000, 2_300_000)


def test_the_users_limit_survives_a_thermal_cap() -> None:
    host = FaultyHost(HostDescription(driver="intel_pstate"))
    host.thermal_cap("policy0", 1_400_000)
    host.write(at("scaling_max_freq"), "2000000")
    assert limits(host)[1] == 1_400_000
    host.thermal_cap("policy0", None)
    assert limits(host)[1] == 2_000_000


def test_the_default_request_withdraws_the_users_limit() -> None:
    host = FaultyHost(HostDescription(driver="intel_pstate"))
    host.write(at("scaling_max_freq"), "1500000")
    host.write(at("scaling_max_freq"), "4294967295")
    assert limits(host)[1] == MAX_KHZ


@pytest.mark.parametrize("reads", [1, 3])
def test_a_limit_may_come_into_force_after_the_write(reads: int) -> None:
    host = FaultyHost(HostDescription(lag_reads=reads))
    path = at("scaling_max_freq")
    assert host.read(path) == "2400000\n"
    host.write(path, "1500000")
    assert [host.read(path) for _ in range(reads)] == ["2400000\n"] * reads
    assert host.read(path) == "1500000\n"
    host.write(path, "1800000")
    assert host.snapshot()[path] == "1800000\n"
