"""Single checks that depend on who asks or on what runs, with that given to them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.tree import FolderTree
from runtime.doctor.captured import CapturedTree
from runtime.doctor.counters import CounterState, energy_findings
from runtime.doctor.findings import ranges
from runtime.doctor.frequency import permission_finding, read_policies
from runtime.doctor.machine import (
    competitor_findings,
    emulation_findings,
    process_names,
    software_findings,
)
from tests.runtime.doctor.trees import add_policies

CLOSED = CounterState("package-0", True, 262_143_328_850, "energy_uj: permission denied")
OPEN = CounterState("package-1", True, 262_143_328_850, None)
CLOSED_PART = CounterState("package-1/core", False, 262_143_328_850, "the device failed")


def test_counters_closed_to_a_user_are_a_warning() -> None:
    (finding,) = energy_findings([CLOSED], virtual=False, is_root=False)
    assert (finding.level, finding.area) == ("warning", "energy")
    assert "permission denied" in finding.message


@pytest.mark.parametrize(("closed", "level"), [(CLOSED, "problem"), (CLOSED_PART, "warning")])
def test_counters_closed_to_root_are_a_problem_where_they_count(
    closed: CounterState, level: str
) -> None:
    findings = list(energy_findings([closed, OPEN], virtual=False, is_root=True))
    assert next(each.level for each in findings if closed.name in each.message) == level
    assert all(finding.fix for finding in findings if finding.level != "ok")


def test_who_may_write_the_caps(tmp_path: Path) -> None:
    add_policies(tmp_path)
    policies = read_policies(FolderTree(tmp_path))
    nobody = permission_finding(policies, is_root=False, is_writable=lambda path: False)
    root = permission_finding(
        policies, is_root=True, is_writable=lambda path: "policy1" not in path
    )
    allowed = permission_finding(policies, is_root=True, is_writable=lambda path: True)
    assert nobody is not None
    assert root is not None
    assert allowed is not None
    assert [nobody.level, root.level, allowed.level] == ["warning", "problem", "ok"]
    assert "policy1/scaling_max_freq" in root.message
    without = read_policies(FolderTree(tmp_path / "nothing"))
    assert permission_finding(without, True, lambda path: False) is None


def test_competitors_are_found_by_process_and_by_unit(tmp_path: Path) -> None:
    wants = tmp_path / "multi-user.target.wants"
    wants.mkdir()
    (wants / "tlp.service").symlink_to("/usr/lib/systemd/system/tlp.service")
    findings = list(competitor_findings({"bash", "tuned", "thermald"}, tmp_path))
    assert [(finding.level, finding.message.split()[0]) for finding in findings] == [
        ("warning", "tuned"),
        ("warning", "tlp"),
        ("ok", "thermald"),
    ]
    assert findings[0].message == "tuned runs and writes frequency limits too"
    assert findings[1].message == "tlp is enabled and writes frequency limits too"
    assert str(findings[1].fix).startswith("systemctl disable --now tlp")
    (alone,) = competitor_findings({"bash"}, tmp_path / "nothing")
    assert alone.level == "ok"


def test_the_live_checks_answer_here() -> None:
    assert any("python" in name or "pytest" in name for name in process_names())
    (emulation,) = emulation_findings()
    assert "an emulated host would throttle by" in emulation.message
    assert [finding.message.split()[0] for finding in software_findings()]


@pytest.mark.parametrize(
    ("banner", "level", "words"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok", "Java 17 at"),
        ('java version "1.8.0_392"', "warning", "Java 8 at"),
        ("something else", "warning", "no version to be had"),
    ],
)
def test_the_version_of_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, banner: str, level: str, words: str
) -> None:
    java = tmp_path / "bin/java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = next(iter(software_findings()))
    assert found.level == level
    assert words in found.message


def test_no_java_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert next(iter(software_findings())).message == "no Java"


@given(st.sets(st.integers(0, 300)))
def test_ranges_say_each_number_once(numbers: set[int]) -> None:
    said: list[int] = []
    for part in filter(None, ranges(numbers).split(",")):
        first, _, last = part.partition("-")
        said += range(int(first), int(last or first) + 1)
    assert said == sorted(numbers)


def test_a_capture_is_a_tree() -> None:
    tree = CapturedTree("ro|/sys/a/b|1 \nrw|/sys/a/c/d|2|3\n\n# a comment\n")
    assert tree.names("/sys/a") == ("b", "c")
    assert tree.names("/sys") == ("a",)
    assert tree.names("/nothing") == ()
    assert (tree.read("/sys/a/b"), tree.read("/sys/a/c/d")) == ("1 \n", "2|3\n")
    assert (tree.mode("/sys/a"), tree.mode("/sys/a/b"), tree.mode("/x")) == (0o555, 0o444, None)
    with pytest.raises(FileNotFoundError):
        tree.read("/sys/a/c")
    with pytest.raises(OSError, match="takes no"):
        tree.write("/sys/a/b", "2")
