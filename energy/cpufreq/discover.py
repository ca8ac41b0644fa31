"""Finds the frequency policies of a host and what each of them offers. Reads, never writes.

Inactive policies are among them, with what can be known; a policy that cannot be understood is
reported by `survey` with its reason, and does not hide the others.
"""

import re
from dataclasses import dataclass

from energy.cpufreq.attributes import (
    parse_cpus,
    parse_number,
    policy_path,
    read_khz,
    read_text,
)
from energy.cpufreq.policy import CpuPolicy
from energy.cpufreq.turbo import INTEL_DRIVERS, read_base_khz
from energy.errors import (
    AttributeMissing,
    HostError,
    PolicyInactive,
    ValueGarbled,
    attribute_fault,
)
from energy.tree import CPU, CPUFREQ, Tree

_NAME = re.compile(r"policy(0|[1-9][0-9]{0,4})")


@dataclass(frozen=True, slots=True)
class Broken:
    """A policy that cannot be understood, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Survey:
    """Every policy of a host, by number: those that can be used and those that cannot."""

    policies: tuple[CpuPolicy, ...]
    broken: tuple[Broken, ...]


def discover(tree: Tree) -> tuple[CpuPolicy, ...]:
    """Every policy that can be understood, by number; the inactive ones with `active=False`."""
    return survey(tree).policies


def survey(tree: Tree) -> Survey:
    policies: list[CpuPolicy] = []
    broken: list[Broken] = []
    try:
        names = [name for name in tree.names(CPUFREQ) if _NAME.fullmatch(name)]
    except OSError as error:
        raise attribute_fault(CPUFREQ, "read", error) from error
    for name in sorted(names, key=_number):
        try:
            policies.append(read_policy(tree, name))
        except PolicyInactive:
            policies.append(_inactive(name))
        except HostError as error:
            broken.append(Broken(name, str(error)))
    return Survey(tuple(policies), tuple(broken))


def read_policy(tree: Tree, name: str) -> CpuPolicy:
    """One policy as it is now; `PolicyInactive` while all of its CPUs are offline."""
    if not _read_cpus(tree, name, "affected_cpus"):
        raise PolicyInactive(name)
    cpus = _read_cpus(tree, name, "related_cpus")
    driver = read_text(tree, name, "scaling_driver")
    hardware_min_khz = read_khz(tree, name, "cpuinfo_min_freq")
    hardware_max_khz = read_khz(tree, name, "cpuinfo_max_freq")
    if not 0 < hardware_min_khz <= hardware_max_khz:
        path = policy_path(name, "cpuinfo_max_freq")
        raise ValueGarbled(path, f"{hardware_min_khz}..{hardware_max_khz}")
    return CpuPolicy(
        name=name,
        cpus=cpus,
        domain_cpus=_domain(tree, name, cpus),
        driver=driver,
        governors=tuple(read_text(tree, name, "scaling_available_governors").split()),
        governor=read_text(tree, name, "scaling_governor"),
        hardware_min_khz=hardware_min_khz,
        hardware_max_khz=hardware_max_khz,
        table_khz=_table(tree, name),
        boost=_boost(tree, name, driver),
        active=True,
        base_khz=read_base_khz(tree, name, driver, cpus, (hardware_min_khz, hardware_max_khz)),
    )


def present(tree: Tree, policy: CpuPolicy) -> CpuPolicy:
    """The policy itself, read anew where it was inactive when it was discovered."""
    return policy if policy.active else read_policy(tree, policy.name)


def _inactive(name: str) -> CpuPolicy:
    # The kernel names a policy after one of its CPUs; every file of it answers EBUSY.
    cpus = (_number(name),)
    return CpuPolicy(
        name=name,
        cpus=cpus,
        domain_cpus=cpus,
        driver="",
        governors=(),
        governor=None,
        hardware_min_khz=0,
        hardware_max_khz=0,
        table_khz=None,
        boost=None,
        active=False,
    )


def _domain(tree: Tree, name: str, cpus: tuple[int, ...]) -> tuple[int, ...]:
    try:
        domain = _read_cpus(tree, name, "freqdomain_cpus")
    except AttributeMissing:
        return cpus
    return tuple(sorted({*domain, *cpus}))


def _table(tree: Tree, name: str) -> tuple[int, ...] | None:
    entries: set[int] = set()
    # Boost frequencies are limits like the others while boost is on, but are listed apart.
    for attribute in ("scaling_available_frequencies", "scaling_boost_frequencies"):
        try:
            text = read_text(tree, name, attribute)
        except AttributeMissing:
            continue
        for part in text.split():
            khz = parse_number(part)
            if not khz:
                raise ValueGarbled(policy_path(name, attribute), text)
            entries.add(khz)
    return tuple(sorted(entries)) or None


def _boost(tree: Tree, name: str, driver: str) -> bool | None:
    for attribute in ("boost", "cpb"):
        on = _flag(tree, policy_path(name, attribute))
        if on is not None:
            return on
    if driver in INTEL_DRIVERS:
        off = _flag(tree, f"{CPU}/intel_pstate/no_turbo")
        return None if off is None else not off
    return _flag(tree, f"{CPUFREQ}/boost")


def _flag(tree: Tree, path: str) -> bool | None:
    try:
        text = tree.read(path).strip()
    except OSError:
        return None
    return {"0": False, "1": True}.get(text)


def _read_cpus(tree: Tree, name: str, attribute: str) -> tuple[int, ...]:
    text = read_text(tree, name, attribute)
    cpus = parse_cpus(text)
    if cpus is None:
        raise ValueGarbled(policy_path(name, attribute), text)
    return cpus


def _number(name: str) -> int:
    return int(name.removeprefix("policy"))
