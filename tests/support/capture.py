"""Emulated hosts from captured sysfs trees: lines of `ro|/path|value`, as read on a real machine.

Everything is served as captured; frequency policies, hot-plug and driver settings are alive. What a
capture leaves out and no kernel does (packages, energy counters) is made up from the topology.
"""

from collections.abc import Iterable, Mapping

from energy.emulation.cpufreq_files import CHANGING, CURRENT
from energy.emulation.description import (
    AMD_RANGE_UJ,
    INTEL_RANGE_UJ,
    HostPlan,
    PolicyPlan,
    ZonePlan,
)
from energy.emulation.drivers import DRIVERS
from energy.emulation.kernel_text import parse_cpu_list
from energy.tree import CPU, CPUFREQ
from runtime.doctor.captured import parse_capture
from tests.support.faulty_host import FaultyHost

_POLICY = f"{CPUFREQ}/policy"
_PSTATE = f"{CPU}/intel_pstate"
_UNCORE = f"{CPU}/intel_uncore_frequency/package_"
_NODE = "/sys/devices/system/node/node"
_TURBO_MARK_KHZ = 1_000
"""acpi-cpufreq shows turbo as one more entry, this much above the nominal frequency."""


def host_from_capture(text: str) -> FaultyHost:
    return FaultyHost(plan_from_capture(text))


def plan_from_capture(text: str) -> HostPlan:
    values = parse_capture(text)
    present = parse_cpu_list(_required(values, f"{CPU}/present"))
    online = parse_cpu_list(values.get(f"{CPU}/online", values[f"{CPU}/present"]))
    package_of = _packages(values, present)
    policies = _policies(values)
    amd = any(policy.driver.startswith("amd") or "cpb" in policy.attributes for policy in policies)
    percents = (values.get(f"{_PSTATE}/min_perf_pct"), values.get(f"{_PSTATE}/max_perf_pct"))
    return HostPlan(
        policies=policies,
        package_of=package_of,
        zones=_zones(package_of.values(), "core" if amd else "dram"),
        range_uj=AMD_RANGE_UJ if amd else INTEL_RANGE_UJ,
        no_turbo=values.get(f"{_PSTATE}/no_turbo") == "1",
        performance_percent=(int(percents[0]), int(percents[1]))
        if percents[0] and percents[1]
        else None,
        offline=frozenset(present) - frozenset(online),
        texts={path: value for path, value in values.items() if not path.startswith(_POLICY)},
    )


def _policies(values: Mapping[str, str]) -> tuple[PolicyPlan, ...]:
    folders: dict[int, dict[str, str]] = {}
    for path, value in values.items():
        if path.startswith(_POLICY):
            number, _, name = path.removeprefix(_POLICY).partition("/")
            folders.setdefault(int(number), {})[name] = value
    # The files of an inactive policy cannot be read, so that a capture has nothing of it.
    return tuple(
        _policy(number, files, values)
        for number, files in sorted(folders.items())
        if "cpuinfo_max_freq" in files
    )


def _policy(number: int, files: Mapping[str, str], values: Mapping[str, str]) -> PolicyPlan:
    driver = files["scaling_driver"]
    if driver not in DRIVERS:
        raise ValueError(
            f"policy{number}: driver must be one of {', '.join(DRIVERS)}, got {driver}"
        )
    table = files.get("scaling_available_frequencies")
    table_khz = tuple(sorted(int(word) for word in table.split())) if table else None
    cpus = parse_cpu_list(files["related_cpus"])
    max_khz = int(files["cpuinfo_max_freq"])
    highest_khz = table_khz[-1] if table_khz else max_khz
    shown_max_khz = int(files["scaling_max_freq"])
    firmware_khz = int(files.get("bios_limit", highest_khz))
    setspeed = files.get("scaling_setspeed", "")
    return PolicyPlan(
        number=number,
        cpus=cpus,
        domain_cpus=parse_cpu_list(files.get("freqdomain_cpus", files["related_cpus"])),
        driver=driver,
        min_khz=int(files["cpuinfo_min_freq"]),
        max_khz=max_khz,
        base_khz=_base_khz(files, values, table_khz),
        table_khz=table_khz,
        governors=tuple(files["scaling_available_governors"].split()),
        governor=files["scaling_governor"],
        attributes=tuple(name for name in files if name in CHANGING),
        fixed={name: text for name, text in files.items() if name not in CHANGING},
        observed={name: text for name, text in files.items() if name in CURRENT},
        user_min_khz=int(files["scaling_min_freq"]),
        # At the top there was no request, or one that would not be noticed.
        user_max_khz=shown_max_khz if shown_max_khz < highest_khz else None,
        firmware_khz=firmware_khz if firmware_khz < highest_khz else None,
        setspeed_khz=int(setspeed) if setspeed.isdigit() else None,
        boost=files.get("boost", "1") == "1",
        preference=files.get("energy_performance_preference", "balance_performance"),
    )


def _base_khz(
    files: Mapping[str, str], values: Mapping[str, str], table_khz: tuple[int, ...] | None
) -> int:
    if "base_frequency" in files:
        return int(files["base_frequency"])
    min_khz, max_khz = int(files["cpuinfo_min_freq"]), int(files["cpuinfo_max_freq"])
    if table_khz is not None:
        marked = len(table_khz) > 1 and table_khz[-1] - table_khz[-2] == _TURBO_MARK_KHZ
        return table_khz[-2] if marked else table_khz[-1]
    states = int(values.get(f"{_PSTATE}/num_pstates", "1"))
    turbo_percent = int(values.get(f"{_PSTATE}/turbo_pct", "0"))
    if states < 2:
        return max_khz
    without_turbo = round(states * (100 - turbo_percent) / 100)
    return min_khz + (without_turbo - 1) * (max_khz - min_khz) // (states - 1)


def _packages(values: Mapping[str, str], present: tuple[int, ...]) -> dict[int, int]:
    """By id where it was captured; else dies, if there are as many as packages; else NUMA nodes."""
    identities = {
        cpu: values.get(f"{CPU}/cpu{cpu}/topology/physical_package_id") for cpu in present
    }
    if all(identities.values()):
        return {cpu: int(identity or 0) for cpu, identity in identities.items()}
    dies = {
        cpus: None
        for cpu in present
        if (cpus := values.get(f"{CPU}/cpu{cpu}/topology/die_cpus_list"))
    }
    uncores = {path.split("/")[6] for path in values if path.startswith(_UNCORE)}
    nodes = [
        value
        for path, value in sorted(values.items())
        if path.startswith(_NODE) and path.endswith("/cpulist")
    ]
    groups = list(dies) if len(dies) == len(uncores) else nodes
    package_of = {
        cpu: package for package, cpus in enumerate(groups) for cpu in parse_cpu_list(cpus)
    }
    return {cpu: package_of.get(cpu, 0) for cpu in present}


def _zones(packages: Iterable[int], subzone: str) -> tuple[ZonePlan, ...]:
    zones: list[ZonePlan] = []
    for package in sorted(set(packages)):
        zones.append(ZonePlan(f"package-{package}"))
        zones.append(ZonePlan(subzone, parent=f"package-{package}"))
    return tuple(zones)


def _required(values: Mapping[str, str], path: str) -> str:
    if path not in values:
        raise ValueError(f"the capture has no {path}")
    return values[path]
