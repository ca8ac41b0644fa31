"""The installed files in the eyes of systemd: valid, and hardened as far as promised."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.agent.service.install import UNIT, carry_out, plan, service_files
from runtime.agent.service.settings import AgentFiles, Listen

LARGEST_EXPOSURE = 1.5
TOOL_TIMEOUT_S = 120
MDWE_MISSING = 77


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    carry_out(plan(service_files(Path("/usr/bin/true")), tmp_path))
    return tmp_path / "etc/systemd/system" / UNIT


@pytest.fixture
def systemd_analyze() -> Callable[..., subprocess.CompletedProcess[str]]:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [tool, *arguments], capture_output=True, text=True, timeout=TOOL_TIMEOUT_S, check=False
        )

    if "--offline" not in call("--help").stdout:
        pytest.skip("systemd-analyze is older than systemd 250, which rates files offline")
    return call


def settings(unit: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        if not line.startswith(("#", "[")) and "=" in line:
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_exposure_is_low(
    unit: Path, systemd_analyze: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    rated = systemd_analyze("security", "--offline=true", "--no-pager", str(unit))
    overall = re.search(r"Overall exposure level for \S+: ([0-9.]+)", rated.stdout)
    assert overall is not None, rated.stderr
    assert float(overall.group(1)) <= LARGEST_EXPOSURE, rated.stdout


def test_systemd_finds_no_mistake(
    unit: Path, systemd_analyze: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    verified = systemd_analyze("verify", "--man=no", "--recursive-errors=no", str(unit))
    # It also speaks about units of this machine that ours names.
    assert [line for line in verified.stderr.splitlines() if UNIT in line] == []


def test_the_unit_keeps_its_promises(unit: Path) -> None:
    found = settings(unit)
    assert found["Type"] == ["notify"]
    assert found["Restart"] == ["on-failure"]
    assert set(found["Conflicts"][0].split()) == {
        "tuned.service",
        "tlp.service",
        "power-profiles-daemon.service",
        "auto-cpufreq.service",
    }
    assert found["CapabilityBoundingSet"] == [""]
    assert found["ReadWritePaths"] == ["-/sys/devices/system/cpu/cpufreq"]


def test_the_executors_of_other_users_stay_visible(unit: Path) -> None:
    # An invisible /proc shows other users' processes to members of the group root alone.
    found = settings(unit)
    assert found["ProtectProc"] != ["invisible"] or found["SupplementaryGroups"] == ["root"]
    assert "ProcSubset" not in found


def test_the_defaults_lie_in_the_folders_of_the_unit(unit: Path) -> None:
    found = settings(unit)
    assert Path(Listen().socket).parent == Path("/run", found["RuntimeDirectory"][0])
    assert Path(AgentFiles().state) == Path("/var/lib", found["StateDirectory"][0])
    assert Path(AgentFiles().audit).parent == Path("/var/log", found["LogsDirectory"][0])


def test_sysusers_and_tmpfiles_take_their_files(unit: Path, tmp_path: Path) -> None:
    sysusers, tmpfiles = shutil.which("systemd-sysusers"), shutil.which("systemd-tmpfiles")
    if sysusers is None or tmpfiles is None:
        pytest.skip("systemd-sysusers and systemd-tmpfiles are not installed")
    if os.geteuid() != 0:
        pytest.skip("only root may give folders to a group")
    for command in ([sysusers, f"--root={tmp_path}"], [tmpfiles, f"--root={tmp_path}", "--create"]):
        done = subprocess.run(
            [*command, "foresight.conf"],
            capture_output=True,
            text=True,
            timeout=TOOL_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "etc/group").read_text().startswith("foresight:")
    modes = {
        path: (tmp_path / path).stat().st_mode & 0o777
        for path in ("etc/foresight", "var/lib/foresight", "var/log/foresight")
    }
    assert modes == {
        "etc/foresight": 0o755,
        "var/lib/foresight": 0o700,
        "var/log/foresight": 0o750,
    }


def test_the_libraries_of_the_agent_work_without_writable_executable_memory() -> None:
    """`MemoryDenyWriteExecute=yes`, by the prctl that newer systemd uses for it."""
    script = f"""
import ctypes, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:  # PR_SET_MDWE
    sys.exit({MDWE_MISSING})
import asyncio, ssl
import aiohttp.web, msgspec, prometheus_client, psutil
ssl.create_default_context()
asyncio.run(asyncio.to_thread(psutil.cpu_times))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=TOOL_TIMEOUT_S,
        check=False,
    )
    if done.returncode == MDWE_MISSING:
        pytest.skip("this kernel has no PR_SET_MDWE (Linux 6.3)")
    assert done.returncode == 0, done.stderr
