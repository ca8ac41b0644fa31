"""What the live machine adds to its sysfs: control groups, competing daemons, Java and Spark.

It changes nothing, and starts nothing but `java -version`.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from energy.emulation.dvfs.cgroup import GroupTree, find_hierarchy, group_of
from energy.tree import Tree
from runtime.doctor.findings import Finding

OLDEST_JAVA = 17
LIMITERS = ("tuned", "tlp", "power-profiles-daemon", "auto-cpufreq")
"""They write the same limits; the unit conflicts with each of them."""
_COOLER = "thermald"
_JAVA_VERSION = re.compile(r'version "(?:1\.)?([0-9]+)')
_TOOL_TIMEOUT_S = 60


def is_virtual(tree: Tree) -> bool:
    """Whether the processor says that a hypervisor runs it."""
    try:
        text = tree.read("/proc/cpuinfo")
    except OSError:
        return False
    return re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE) is not None


def process_names() -> set[str]:
    """Names of all processes, with those of scripts that an interpreter runs."""
    names: set[str] = set()
    for process in psutil.process_iter(["name", "cmdline"]):
        names.add(process.info["name"] or "")
        names |= {Path(word).name for word in (process.info["cmdline"] or [])[:3]}
    return names


def competitor_findings(running: Collection[str], units: Path) -> Iterator[Finding]:
    """`units` is where enabled services are linked, /etc/systemd/system."""
    enabled = {link.name.removesuffix(".service") for link in units.glob("*.wants/*")}
    found = False
    for name in LIMITERS:
        if name in running or name in enabled:
            found = True
            yield Finding(
                "competitors",
                "warning",
                f"{name} {'runs' if name in running else 'is enabled'} and writes frequency "
                "limits too",
                f"systemctl disable --now {name}; the agent's unit stops it, but not for good",
            )
    if _COOLER in running:
        yield Finding(
            "competitors",
            "ok",
            f"{_COOLER} runs; limits that it lowers against heat are reported and left alone",
        )
    if not found:
        yield Finding("competitors", "ok", f"none of {', '.join(LIMITERS)} runs or is enabled")


def emulation_findings(root: Path = Path("/")) -> Iterator[Finding]:
    """How an emulated host could slow executors down; only of interest for development."""
    tree = GroupTree(root)
    backends = []
    for label, controller in (("cgroup-v1", "cpu"), ("cgroup-v2", None)):
        hierarchy = find_hierarchy(tree, controller)
        folder = None if hierarchy is None else group_of(tree, hierarchy)
        if folder is None or not os.access(root / folder.lstrip("/"), os.W_OK):
            continue
        if controller is None and "cpu" not in _subtree(tree, folder):
            continue
        backends.append(f"{label} (below {folder})")
    yield Finding(
        "emulation",
        "ok",
        f"an emulated host would throttle by {backends[0]}"
        if backends
        else "no writable control group: an emulated host would throttle by stopping and "
        "continuing processes",
    )


def software_findings() -> Iterator[Finding]:
    yield _java()
    yield _spark()


def _java() -> Finding:
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    fix = f"install a Java runtime of version {OLDEST_JAVA} or newer, which Spark 4 needs"
    text = None if command is None else _output(command, "-version")
    if text is None:
        return Finding("software", "warning", "no Java", fix)
    found = _JAVA_VERSION.search(text)
    if found is None:
        return Finding("software", "warning", f"{command}: no version to be had", fix)
    major = int(found.group(1))
    if major < OLDEST_JAVA:
        return Finding("software", "warning", f"Java {major} at {command} is too old", fix)
    return Finding("software", "ok", f"Java {major} at {command}")


def _spark() -> Finding:
    places = []
    with suppress(PackageNotFoundError):
        places.append(f"pyspark {version('pyspark')}")
    if home := os.environ.get("SPARK_HOME"):
        places.append(f"SPARK_HOME {home}")
    if submit := shutil.which("spark-submit"):
        places.append(submit)
    if places:
        return Finding("software", "ok", f"Spark: {', '.join(places)}")
    return Finding(
        "software",
        "warning",
        "no Spark: neither pyspark, SPARK_HOME nor spark-submit",
        "install pyspark 4, or set SPARK_HOME; the agent itself needs neither",
    )


def _subtree(tree: GroupTree, folder: str) -> list[str]:
    try:
        return tree.read(f"{folder}/cgroup.subtree_control").split()
    except OSError:
        return []


def _output(*command: str) -> str | None:
    """What a program prints, on either stream; None if it cannot be run."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr
