import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runtime.agent.core.audit import AuditLog
from runtime.agent.core.state import AuditUnavailable, UnsafePath
from tests.support.clock import ManualClock


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def audit(tmp_path: Path, clock: ManualClock) -> AuditLog:
    return AuditLog(tmp_path / "log" / "audit.jsonl", 1_000_000, clock)


def test_a_line_says_when_who_and_what(audit: AuditLog, clock: ManualClock) -> None:
    audit.accepted("controller", "set_frequency", max_khz=1_500_000)
    clock.advance(1.5)
    audit.event("drift", policy="policy0")
    assert lines(audit.path) == [
        {
            "at_ms": 1_700_000_000_000,
            "pid": os.getpid(),
            "event": "accepted",
            "caller": "controller",
            "action": "set_frequency",
            "max_khz": 1_500_000,
        },
        {
            "at_ms": 1_700_000_001_500,
            "pid": os.getpid(),
            "event": "drift",
            "policy": "policy0",
        },
    ]
    assert stat.S_IMODE(audit.path.stat().st_mode) == 0o640


def test_callers_cannot_forge_lines_or_write_long_ones(audit: AuditLog) -> None:
    audit.refused('x\n{"event": "accepted"}' + "y" * 10_000, "lease", "not_allowed", "\ud800" * 999)
    (line,) = lines(audit.path)
    assert line["event"] == "refused"
    assert len(line["caller"]) == 64
    assert len(line["message"]) == 400


def test_repeated_refusals_become_one_line_and_a_count(audit: AuditLog, clock: ManualClock) -> None:
    for _ in range(1000):
        audit.refused("other", "lease", "lease_held", "held")
    assert len(lines(audit.path)) == 1
    audit.flush()
    assert len(lines(audit.path)) == 1
    clock.advance(1.0)
    audit.flush()
    assert lines(audit.path)[1]["repeats"] == 999
    audit.refused("other", "lease", "lease_held", "held")
    audit.close()
    assert len(lines(audit.path)) == 3


def test_many_names_at_once_are_folded_together(audit: AuditLog) -> None:
    for number in range(5000):
        audit.refused(f"name{number}", "lease", "not_allowed", "no")
    audit.close()
    written = lines(audit.path)
    assert len(written) < 40
    assert sum(1 if "message" in line else line["repeats"] for line in written) == 5000


def test_the_log_is_rotated_and_one_older_file_kept(tmp_path: Path, clock: ManualClock) -> None:
    audit = AuditLog(tmp_path / "audit.jsonl", 1000, clock)
    for number in range(200):
        audit.event("drift", number=number)
    older = tmp_path / "audit.jsonl.1"
    assert sorted(path.name for path in tmp_path.iterdir()) == [audit.path.name, older.name]
    assert max(audit.path.stat().st_size, older.stat().st_size) <= 1000
    numbers = [line["number"] for line in lines(older) + lines(audit.path)]
    assert numbers == list(range(numbers[0], 200))


def test_a_log_taken_away_is_begun_anew(audit: AuditLog) -> None:
    audit.event("started")
    audit.path.rename(audit.path.with_name("taken"))
    audit.event("stopped")
    assert [line["event"] for line in lines(audit.path)] == ["stopped"]


def test_what_cannot_be_recorded_is_refused_but_events_go_on(audit: AuditLog) -> None:
    audit.path.mkdir()  # root may write anywhere, but nobody writes into a folder
    audit.event("drift")
    audit.refused("other", "lease", "lease_held", "held")
    with pytest.raises(AuditUnavailable, match="cannot be written"):
        audit.accepted("controller", "lease")
    assert audit.problem is not None
    audit.path.rmdir()
    audit.accepted("controller", "lease")
    assert audit.problem is None


FULL_DISK = """
import resource, sys
from pathlib import Path
from runtime.agent.core.audit import AuditLog
from tests.support.clock import ManualClock
from runtime.agent.core.state import AuditUnavailable

audit = AuditLog(Path(sys.argv[1]), 1_000_000, ManualClock())
audit.event("started")
# The kernel cuts a write off at this size, as it does when a disk becomes full within one.
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 1_000_000))
try:
    audit.accepted("controller", "lease", text="x" * 200)
except AuditUnavailable:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    audit.event("stopped")
"""


def test_a_disk_that_becomes_full_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], check=True, timeout=60)
    assert [line["event"] for line in lines(path)] == ["started", "stopped"]


def test_links_and_folders_of_others_are_refused(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePath, match="plain file"):
        AuditLog(tmp_path / "link", 1000, clock)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(UnsafePath, match="writable by its owner alone"):
        AuditLog(tmp_path / "open" / "audit.jsonl", 1000, clock)
