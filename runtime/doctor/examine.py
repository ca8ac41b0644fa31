"""One examination: of the live host, of a sysfs tree in a folder, or of a captured one."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from energy.errors import MeterUnavailable
from energy.tree import POWERCAP, FolderTree, Tree
from runtime.doctor.captured import CapturedTree
from runtime.doctor.counters import CounterState, counter_states, energy_findings
from runtime.doctor.findings import Finding
from runtime.doctor.frequency import (
    PolicyStates,
    frequency_findings,
    permission_finding,
    read_policies,
)
from runtime.doctor.machine import (
    competitor_findings,
    emulation_findings,
    is_virtual,
    process_names,
    software_findings,
)

Kind = Literal["host", "folder", "capture"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    kind: Kind
    place: str
    """The root folder, or the file of the capture."""
    findings: tuple[Finding, ...]
    policies: PolicyStates
    counters: tuple[CounterState, ...]

    @property
    def usable(self) -> bool:
        """Whether nothing prevents capping or metering."""
        return all(finding.level != "problem" for finding in self.findings)


def examine_host() -> Diagnosis:
    return _examine_folder("host", Path("/"))


def examine_folder(root: Path) -> Diagnosis:
    """A tree below a folder: files and permissions, but no processes and no software."""
    return _examine_folder("folder", root)


def examine_capture(file: Path) -> Diagnosis:
    """What was captured; permissions and counters are known only as far as they are in it."""
    tree = CapturedTree(file.read_text(encoding="utf-8", errors="replace"))
    policies = read_policies(tree)
    findings = list(frequency_findings(policies, virtual=False))
    counters: tuple[CounterState, ...] = ()
    if tree.names(POWERCAP):
        energy, counters = _energy(tree, virtual=False, is_root=True)
        findings += energy
    else:
        findings.append(
            Finding(
                "energy",
                "warning",
                f"the capture holds nothing of {POWERCAP}, so its energy counters are unknown",
                "run `foresight doctor` on that machine, or capture the folder as well",
            )
        )
    return Diagnosis("capture", str(file), tuple(findings), policies, counters)


def _examine_folder(kind: Kind, root: Path) -> Diagnosis:
    tree = FolderTree(root)
    virtual, is_root = is_virtual(tree), os.geteuid() == 0
    policies = read_policies(tree)
    findings: list[Finding] = []
    if kind == "host":
        findings += _host(virtual, is_root)
    findings += frequency_findings(policies, virtual)
    permission = permission_finding(
        policies, is_root, lambda path: os.access(f"{root}{path}", os.W_OK)
    )
    if permission is not None:
        findings.append(permission)
    energy, counters = _energy(tree, virtual, is_root)
    findings += energy
    if kind == "host":
        findings += emulation_findings()
        findings += competitor_findings(process_names(), Path("/etc/systemd/system"))
        findings += software_findings()
    return Diagnosis(kind, str(root), tuple(findings), policies, counters)


def _host(virtual: bool, is_root: bool) -> Iterator[Finding]:
    release = os.uname()
    machine = "virtual machine" if virtual else "physical machine"
    yield Finding("host", "ok", f"{release.sysname} {release.release}, {machine}")
    if not is_root:
        yield Finding(
            "host",
            "warning",
            "not run as root: what follows holds for this user",
            "run it as root to see what the agent can do",
        )


def _energy(
    tree: Tree, virtual: bool, is_root: bool
) -> tuple[list[Finding], tuple[CounterState, ...]]:
    try:
        counters = counter_states(tree)
    except MeterUnavailable as error:
        fix = "run as root, or mount the host's /sys"
        return [Finding("energy", "problem", str(error), fix)], ()
    return list(energy_findings(counters, virtual, is_root)), counters
