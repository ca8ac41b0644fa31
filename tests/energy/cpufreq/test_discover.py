import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.cpufreq.attributes import parse_cpus
from energy.cpufreq.discover import discover, read_policy, survey
from energy.cpufreq.policy import CpuPolicy
from energy.errors import AccessDenied, AttributeMissing, HostError, PolicyInactive, ValueGarbled
from energy.tree import CPUFREQ, FolderTree
from tests.energy.cpufreq.kernel import Kernel, KernelPolicy


def captured(shared_data: Path, machine: str) -> Iterator[tuple[str, str]]:
    """The cpufreq files of a captured machine: path and value."""
    for line in (shared_data / "sysfs" / f"{machine}.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        _, path, value = line.split("|", 2)
        if "/cpu/cpufreq/" in path or "/cpu/intel_pstate/" in path:
            yield path, value


def unpacked(shared_data: Path, machine: str, root: Path) -> FolderTree:
    for path, value in captured(shared_data, machine):
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    return FolderTree(root)


def only(values: set[object]) -> object:
    assert len(values) == 1
    return values.pop()


def test_broadwell_in_passive_mode(shared_data: Path, tmp_path: Path) -> None:
    found = survey(unpacked(shared_data, "bdwep0", tmp_path))
    assert found.broken == ()
    assert [policy.name for policy in found.policies] == [f"policy{cpu}" for cpu in range(88)]
    assert [policy.cpus for policy in found.policies] == [(cpu,) for cpu in range(88)]
    assert [policy.domain_cpus for policy in found.policies] == [(cpu,) for cpu in range(88)]
    assert found.policies[9] == CpuPolicy(
        name="policy9",
        cpus=(9,),
        domain_cpus=(9,),
        driver="intel_cpufreq",
        governors=(
            "conservative",
            "ondemand",
            "userspace",
            "powersave",
            "performance",
            "schedutil",
        ),
        governor="schedutil",
        hardware_min_khz=1_200_000,
        hardware_max_khz=3_600_000,
        table_khz=None,
        boost=True,
        active=True,
        base_khz=2_400_000,
    )


@pytest.mark.parametrize(
    ("machine", "base_khz"),
    [
        ("bdwep0", 2_400_000),  # by the share of turbo P-states alone
        ("clx2s0", 2_400_000),  # base_frequency
        ("dnv0", 2_100_000),  # the entry below turbo's mark
        ("genoa0", 3_250_000),  # a table that ends below turbo
    ],
)
def test_where_turbo_begins(shared_data: Path, tmp_path: Path, machine: str, base_khz: int) -> None:
    policies = discover(unpacked(shared_data, machine, tmp_path))
    assert only({policy.base_khz for policy in policies}) == base_khz


def test_cascade_lake_in_active_mode(shared_data: Path, tmp_path: Path) -> None:
    policies = discover(unpacked(shared_data, "clx2s0", tmp_path))
    assert [policy.cpus for policy in policies] == [(cpu,) for cpu in range(96)]
    assert only({policy.driver for policy in policies}) == "intel_pstate"
    assert only({policy.governors for policy in policies}) == ("performance", "powersave")
    assert only({policy.governor for policy in policies}) == "powersave"
    assert only({(p.hardware_min_khz, p.highest_khz) for p in policies}) == (1_000_000, 3_900_000)
    assert only({policy.table_khz for policy in policies}) is None
    assert only({policy.boost for policy in policies}) is True


def test_genoa_pairs_share_a_clock_that_related_cpus_hide(
    shared_data: Path, tmp_path: Path
) -> None:
    policies = discover(unpacked(shared_data, "genoa0", tmp_path))
    assert [policy.cpus for policy in policies] == [(cpu,) for cpu in range(128)]
    pairs = [(cpu - cpu % 2, cpu - cpu % 2 + 1) for cpu in range(128)]
    assert [policy.domain_cpus for policy in policies] == pairs
    assert only({policy.driver for policy in policies}) == "acpi-cpufreq"
    assert only({policy.table_khz for policy in policies}) == (1_500_000, 2_300_000, 3_250_000)
    assert only({policy.hardware_max_khz for policy in policies}) == 3_800_241
    assert only({policy.highest_khz for policy in policies}) == 3_250_000
    assert only({policy.boost for policy in policies}) is True


def test_denverton_with_its_turbo_entry(shared_data: Path, tmp_path: Path) -> None:
    policies = discover(unpacked(shared_data, "dnv0", tmp_path))
    assert [policy.domain_cpus for policy in policies] == [(cpu,) for cpu in range(12)]
    assert only({policy.driver for policy in policies}) == "acpi-cpufreq"
    table = (*range(800_000, 2_100_001, 100_000), 2_101_000)
    assert only({policy.table_khz for policy in policies}) == table
    assert only({policy.highest_khz for policy in policies}) == 2_101_000
    assert only({policy.boost for policy in policies}) is True


def test_a_host_without_cpufreq_has_no_policies(tmp_path: Path) -> None:
    assert discover(FolderTree(tmp_path)) == ()


def test_other_folders_are_not_policies(tmp_path: Path) -> None:
    for name in ("policy", "policy01", "policy-1", "policyx", "schedutil", "policy٣"):
        (tmp_path / CPUFREQ[1:] / name).mkdir(parents=True)
    assert survey(FolderTree(tmp_path)).broken == ()


def test_inactive_policies_are_listed_and_come_back() -> None:
    kernel = Kernel(KernelPolicy(), KernelPolicy(cpu=1, online=False))
    active, inactive = discover(kernel)
    assert active.active
    assert (inactive.name, inactive.cpus, inactive.governor) == ("policy1", (1,), None)
    assert not inactive.active
    with pytest.raises(PolicyInactive, match="policy1"):
        read_policy(kernel, "policy1")
    kernel.policies["policy1"].online = True
    assert discover(kernel)[1].active


def test_an_empty_list_of_online_cpus_is_inactive() -> None:
    kernel = Kernel(KernelPolicy(extra={"affected_cpus": ""}))
    assert not discover(kernel)[0].active


def test_boost_frequencies_belong_to_the_table() -> None:
    boosted = KernelPolicy(
        table_khz=(1_000_000, 2_000_000), extra={"scaling_boost_frequencies": "3000000 "}
    )
    (policy,) = discover(Kernel(boosted))
    assert policy.table_khz == (1_000_000, 2_000_000, 3_000_000)
    boosted.hardware_max_khz = 2_500_000  # boost off: the kernel bounds the range, not the list
    assert discover(Kernel(boosted))[0].highest_khz == 2_000_000


@pytest.mark.parametrize(
    ("driver", "files", "boost"),
    [
        ("acpi-cpufreq", {}, None),
        ("acpi-cpufreq", {"policy0/boost": "0", "boost": "1"}, False),
        ("acpi-cpufreq", {"policy0/cpb": "0", "boost": "1"}, False),
        ("acpi-cpufreq", {"boost": "1"}, True),
        ("acpi-cpufreq", {"boost": "perhaps"}, None),
        ("amd-pstate-epp", {"policy0/boost": "1"}, True),
        ("intel_pstate", {"../intel_pstate/no_turbo": "0"}, True),
        ("intel_cpufreq", {"../intel_pstate/no_turbo": "1"}, False),
        ("acpi-cpufreq", {"../intel_pstate/no_turbo": "1"}, None),
    ],
)
def test_boost_wherever_a_driver_tells_it(
    tmp_path: Path, driver: str, files: dict[str, str], boost: bool | None
) -> None:
    folder = tmp_path / CPUFREQ[1:]
    attributes = KernelPolicy(driver=driver).attributes()
    texts = {**{f"policy0/{name}": text for name, text in attributes.items()}, **files}
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    assert discover(FolderTree(tmp_path))[0].boost is boost


REQUIRED = (
    "affected_cpus",
    "related_cpus",
    "cpuinfo_min_freq",
    "cpuinfo_max_freq",
    "scaling_driver",
    "scaling_governor",
    "scaling_available_governors",
)


@pytest.mark.parametrize("attribute", REQUIRED)
@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOENT, AttributeMissing), (errno.EACCES, AccessDenied)]
)
def test_a_half_missing_policy_is_reported_and_hides_no_other(
    attribute: str, number: int, kind: type[HostError]
) -> None:
    kernel = Kernel(KernelPolicy(), KernelPolicy(cpu=1))
    kernel.faults["read", f"policy0/{attribute}"] = number
    found = survey(kernel)
    assert [policy.name for policy in found.policies] == ["policy1"]
    assert [broken.name for broken in found.broken] == ["policy0"]
    assert attribute in found.broken[0].reason
    with pytest.raises(kind, match=attribute):
        read_policy(kernel, "policy0")


@given(
    st.sampled_from(
        (*REQUIRED, "freqdomain_cpus", "scaling_available_frequencies", "boost", "bios_limit")
    ),
    st.text(max_size=30),
)
def test_garbage_is_understood_or_reported_but_never_a_crash(attribute: str, text: str) -> None:
    found = survey(Kernel(KernelPolicy(extra={attribute: text})))
    assert len(found.policies) + len(found.broken) == 1


@pytest.mark.parametrize(
    "extra",
    [
        {"cpuinfo_max_freq": "three"},
        {"cpuinfo_max_freq": "-1"},
        {"cpuinfo_max_freq": "9" * 40},
        {"cpuinfo_min_freq": "0"},
        {"cpuinfo_min_freq": "4000000"},
        {"related_cpus": "0-"},
        {"related_cpus": "0-99999999"},
        {"freqdomain_cpus": "a b"},
        {"scaling_available_frequencies": "3000000 none"},
        {"scaling_available_frequencies": "3000000 0"},
    ],
)
def test_what_no_kernel_writes_is_named_with_its_file(extra: dict[str, str]) -> None:
    with pytest.raises(ValueGarbled, match=r"/policy0/[a-z_]+: holds "):
        read_policy(Kernel(KernelPolicy(extra=extra)), "policy0")


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", ()),
        ("0", (0,)),
        ("0 1", (0, 1)),
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("8,0-1", (0, 1, 8)),
        ("0-3 2-4", (0, 1, 2, 3, 4)),
        ("3-1", None),
        ("0-70000", None),
        ("+1", None),
        ("0x1", None),
        ("1.0", None),
    ],
)
def test_cpu_lists(text: str, cpus: tuple[int, ...] | None) -> None:
    assert parse_cpus(text) == cpus


@given(st.sets(st.integers(0, 5_000)))
def test_cpu_lists_of_both_kinds_mean_the_same(cpus: set[int]) -> None:
    words = [str(cpu) for cpu in sorted(cpus)]
    assert parse_cpus(" ".join(words)) == parse_cpus(",".join(words)) == tuple(sorted(cpus))
