"""Which RAPL counters a host has, and which of them add up to the host.

Works on the names and files of /sys/class/powercap alone and reads no energy beyond the question
whether it can be read. The rules of the total: all packages and their dram; core and uncore are
parts of their package; psys is the whole platform, so it stands alone or not at all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from energy.errors import AccessDenied, MeterUnavailable, attribute_fault
from energy.tree import POWERCAP, Tree

# Ids are hexadecimal: the eleventh package is intel-rapl:a. Folders without a colon are the control
# types, which count nothing. AMD hosts use the same names.
_FOLDER = re.compile(r"intel-rapl(?P<mmio>-mmio)?(?P<ids>(?::[0-9a-f]+)+)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PSYS = re.compile(r"psys(-\d+)?")
_COUNT = re.compile(r"[0-9]{1,20}")

Kind = Literal["package", "dram", "part", "psys", "unknown"]


@dataclass(frozen=True, slots=True)
class RaplZone:
    """A counter of the kernel."""

    folder: str
    """Of the kernel: "/sys/class/powercap/intel-rapl:0:1"."""
    name: str
    """Unique on the host, as in `Zone.name`."""
    kind: Kind
    range_uj: int | None
    """The last value before it wraps; None: unreadable."""
    fault: str | None = None
    """Why what it counts is unknown; None: it is known."""
    in_total: bool = False

    @property
    def energy_path(self) -> str:
        return f"{self.folder}/energy_uj"


class UnreadableCount(Exception):
    """A counter that gives no number; the message is the reason, in words for a person."""


def rapl_zones(tree: Tree) -> tuple[RaplZone, ...]:
    """Every counter once, parents before their parts, with the members of the total marked."""
    zones = _unique(tree, list(_found(tree)))
    packages = [zone for zone in zones if zone.kind == "package"]
    # What is unknown may be a package: a total without it would be a guess.
    members = [zone for zone in zones if zone.kind in {"package", "dram", "unknown"}]
    if not packages:
        members = [zone for zone in zones if zone.kind == "psys"][:1]
    return tuple(replace(zone, in_total=zone in members) for zone in zones)


def read_count(tree: Tree, path: str) -> int:
    """The number in a counter's file; raises `UnreadableCount` with the reason."""
    try:
        text = tree.read(path).strip()
    except OSError as error:
        raise UnreadableCount(fault_words(path, error)) from error
    # int() alone would take "1_000", "+5" and digits of other scripts.
    if not _COUNT.fullmatch(text):
        raise UnreadableCount(f"{path}: not a number of microjoules: {text[:40]!r}")
    return int(text)


def fault_words(path: str, error: OSError) -> str:
    fault = attribute_fault(path, "read", error)
    if isinstance(fault, AccessDenied):
        return f"{fault}; only root may read energy counters (mode 0400) since CVE-2020-8694"
    return str(fault)


def _found(tree: Tree) -> Iterator[tuple[bool, RaplZone]]:
    """Each zone with whether it is of the mmio interface."""
    try:
        entries = tree.names(POWERCAP)
    except OSError as error:
        raise MeterUnavailable(fault_words(POWERCAP, error)) from error
    folders = [match for name in entries if (match := _FOLDER.fullmatch(name))]
    names: dict[str, str] = {}
    for match in sorted(folders, key=_interface_and_ids):
        parent, _, _ = match[0].rpartition(":")
        folder = f"{POWERCAP}/{match[0]}"
        if tree.mode(f"{folder}/energy_uj") is None:
            continue
        own, fault = _zone_name(tree, folder)
        kind = _kind(own, is_top=match["ids"].count(":") == 1)
        full = own or match[0]
        if parent in names and kind != "psys":
            full = f"{names[parent]}/{full}"
        names[match[0]] = full
        yield bool(match["mmio"]), RaplZone(folder, full, kind, _range_uj(tree, folder), fault)


def _interface_and_ids(match: re.Match[str]) -> tuple[bool, list[int]]:
    return bool(match["mmio"]), [int(part, 16) for part in match["ids"].split(":")[1:]]


def _zone_name(tree: Tree, folder: str) -> tuple[str | None, str | None]:
    """The name, or why there is none."""
    path = f"{folder}/name"
    try:
        text = tree.read(path).strip()
    except OSError as error:
        return None, fault_words(path, error)
    if _NAME.fullmatch(text):
        return text, None
    return None, f"{path}: not a name of a zone: {text[:40]!r}"


def _kind(name: str | None, is_top: bool) -> Kind:
    if name is None:
        return "unknown"
    if _PSYS.fullmatch(name):
        return "psys"
    if name == "dram":
        return "dram"
    return "package" if is_top and name.startswith("package") else "part"


def _range_uj(tree: Tree, folder: str) -> int | None:
    try:
        return read_count(tree, f"{folder}/max_energy_range_uj") or None
    except UnreadableCount:
        return None


def _unique(tree: Tree, found: list[tuple[bool, RaplZone]]) -> list[RaplZone]:
    """Without what mmio says again; two counters of one name of the same interface stay two."""
    kept: dict[str, RaplZone] = {}
    for is_mmio, zone in found:
        other = kept.get(zone.name)
        if other is None:
            kept[zone.name] = zone
        elif not is_mmio:
            name = f"{zone.name} ({zone.folder.rpartition('/')[2]})"
            kept[name] = replace(zone, name=name)
        elif not _is_readable(tree, other) and _is_readable(tree, zone):
            kept[zone.name] = zone
    return list(kept.values())


def _is_readable(tree: Tree, zone: RaplZone) -> bool:
    try:
        read_count(tree, zone.energy_path)
    except UnreadableCount:
        return False
    return True
