from typing import Any

import pytest

from energy.emulation.description import AMD_RANGE_UJ, INTEL_RANGE_UJ, HostDescription
from energy.emulation.drivers import PERSONALITIES, Driver
from tests.energy.emulation.hosts import every_driver


@every_driver
def test_defaults_make_a_host_of_every_driver(driver: Driver) -> None:
    plan = HostDescription(driver=driver).plan()
    assert [policy.name for policy in plan.policies] == ["policy0", "policy1", "policy2", "policy3"]
    assert {policy.governor for policy in plan.policies} == {PERSONALITIES[driver].governor}
    assert all(
        (policy.table_khz is not None) == PERSONALITIES[driver].has_table
        for policy in plan.policies
    )


def test_policies_and_domains_share_cpus() -> None:
    plan = HostDescription(cpus=10, cpus_per_policy=2, cpus_per_domain=4).plan()
    assert [policy.number for policy in plan.policies] == [0, 2, 4, 6, 8]
    assert plan.policies[1].cpus == (2, 3)
    assert plan.policies[1].domain_cpus == (0, 1, 2, 3)
    assert plan.policies[-1].domain_cpus == (8, 9)


def test_cpus_are_spread_over_packages_in_order() -> None:
    plan = HostDescription(cpus=4, packages=2).plan()
    assert dict(plan.package_of) == {0: 0, 1: 0, 2: 1, 3: 1}


def test_a_made_up_table_has_both_ends() -> None:
    table_khz = HostDescription(min_khz=1_000_000, max_khz=1_250_000).plan().policies[0].table_khz
    assert table_khz == (1_000_000, 1_100_000, 1_200_000, 1_250_000)


def test_counters_wrap_where_the_vendor_has_it() -> None:
    assert HostDescription(driver="intel_pstate").counter_range_uj == INTEL_RANGE_UJ
    assert HostDescription(driver="amd-pstate-epp").counter_range_uj == AMD_RANGE_UJ
    assert HostDescription(range_uj=1_000).plan().range_uj == 1_000


def test_zones_name_their_packages() -> None:
    plan = HostDescription(cpus=2, packages=2, subzones=("dram",), psys=True, mmio=True).plan()
    assert [(zone.name, zone.parent, zone.duplicate) for zone in plan.zones] == [
        ("package-0", None, True),
        ("dram", "package-0", False),
        ("package-1", None, True),
        ("dram", "package-1", False),
        ("psys", None, False),
    ]
    dies = HostDescription(dies_per_package=2, subzones=()).plan().zones
    assert [zone.name for zone in dies] == ["package-0-die-0", "package-0-die-1"]
    assert HostDescription(powercap=False).plan().zones == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cpus": 0}, "cpus must be at least 1"),
        ({"driver": "longhaul"}, "driver must be one of"),
        ({"max_khz": 1_000_000}, "max_khz must be at least 1200000"),
        ({"base_khz": 9_000_000}, "base_khz must be 1200000..2400000"),
        ({"cpus_per_policy": 2, "cpus_per_domain": 3}, "multiple of 2"),
        ({"cpus_per_domain": 0}, "multiple of 1"),
        ({"packages": 5}, "packages must be at most 4"),
        ({"range_uj": 0}, "range_uj must be at least 1"),
        ({"range_uj": 10, "start_uj": 11}, "start_uj must be 0..10"),
        ({"lag_reads": -1}, "lag_reads must be at least 0"),
        ({"governor": "turbo"}, "governor must be one of"),
        ({"driver": "intel_pstate", "governor": "userspace"}, "governor must be one of"),
        ({"driver": "intel_pstate", "table_khz": (1_200_000,)}, "only for acpi-cpufreq"),
        ({"table_khz": ()}, "must ascend"),
        ({"table_khz": (1_200_000, 1_200_000)}, "must ascend"),
        ({"table_khz": (1_300_000, 2_400_000)}, "must start at 1200000"),
        ({"table_khz": (1_200_000, 2_500_000)}, "end by 2400000"),
    ],
)
def test_nonsense_is_refused_with_what_is_allowed(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HostDescription(**fields)
