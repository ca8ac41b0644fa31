"""The life of the serving process: whatever ends it, nobody hangs and nothing stays mounted."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from energy.emulation.description import HostDescription
from energy.tree import FolderTree
from tests.energy.emulation.fuse.hosts import MAXIMUM, mounted, mounts
from tests.support.fuse.handle import EmulationFailed, FuseHost

PATIENCE_S = 60
SMALL = HostDescription(cpus=1)
READER = """
import sys
try:
    while True:
        open(sys.argv[1]).read()
except OSError:
    sys.exit(7)
"""
"""Reads until it fails. Which error it gets depends on where the abort finds it."""


def wait_until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(0.02)


def ended(pid: int) -> bool:
    """Gone, or dead and not yet collected by whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def start_reader(host: FuseHost) -> subprocess.Popen[bytes]:
    path = f"{host.inside_root}{MAXIMUM}"
    return subprocess.Popen(host.command([sys.executable, "-I", "-S", "-c", READER, path]))


def namespace(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/mnt").readlink()


def test_the_tree_is_mounted_for_commands_and_for_nobody_else() -> None:
    with mounted(SMALL) as host:
        inside = f"{host.inside_root}{MAXIMUM}"
        run = subprocess.run(host.command(["cat", inside]), capture_output=True, check=True)
        assert run.stdout == b"2400000\n"
        assert str(host.inside_root) not in mounts()
        assert list(host.inside_root.iterdir()) == []
        assert FolderTree(host.root).read(MAXIMUM) == "2400000\n"


def test_a_command_keeps_process_id_folder_environment_and_status(tmp_path: Path) -> None:
    with mounted(SMALL) as host:
        program = 'echo "$$ $PWD $COLOUR"; exit 3'
        process = subprocess.Popen(
            host.command(["sh", "-c", program]),
            cwd=tmp_path,
            env={**os.environ, "COLOUR": "blue"},
            stdout=subprocess.PIPE,
            text=True,
        )
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert output.split() == [str(process.pid), str(tmp_path), "blue"]
        assert process.returncode == 3


def test_stopping_leaves_nothing_and_can_be_done_twice() -> None:
    with mounted(SMALL) as host:
        host.stop()
        assert ended(host.pid)
        assert not host.inside_root.exists()
        host.stop()
        with pytest.raises(EmulationFailed, match="gone"):
            host.snapshot()


def test_sigterm_ends_it_although_a_file_is_open() -> None:
    with mounted(SMALL) as host:
        descriptor = os.open(str(host.root) + MAXIMUM, os.O_RDONLY)
        try:
            os.kill(host.pid, signal.SIGTERM)
            wait_until(lambda: ended(host.pid))
            with pytest.raises(OSError):
                os.pread(descriptor, 10, 0)
        finally:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        with pytest.raises(EmulationFailed):
            host.snapshot()


def test_a_reader_who_waits_for_a_killed_server_gets_an_error() -> None:
    with mounted(SMALL) as host:
        # Stopped first, so that the reader surely waits for an answer that never comes.
        os.kill(host.pid, signal.SIGSTOP)
        reader = start_reader(host)
        try:
            wait_until(lambda: namespace(reader.pid) == namespace(host.pid))
            os.kill(host.pid, signal.SIGKILL)
            assert reader.wait(PATIENCE_S) == 7
        finally:
            reader.kill()
            reader.wait()
        assert str(host.inside_root) not in mounts()


def test_a_reader_at_work_survives_no_longer_than_the_server() -> None:
    with mounted(SMALL) as host:
        before = host.usage().requests.get("READ", 0)
        reader = start_reader(host)
        try:
            wait_until(lambda: host.usage().requests.get("READ", 0) > before)
            os.kill(host.pid, signal.SIGKILL)
            assert reader.wait(PATIENCE_S) == 7
        finally:
            reader.kill()
            reader.wait()
        with pytest.raises(EmulationFailed, match="gone"):
            host.snapshot()


def test_the_server_ends_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    with mounted(SMALL):
        pass  # skips where there is no FUSE
    program = (
        "import sys, time\n"
        "from energy.emulation.description import HostDescription\n"
        "from tests.support.fuse.handle import FuseHost\n"
        "host = FuseHost(HostDescription(cpus=1))\n"
        "print(host.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=Path(__file__).parents[4],
        stdout=subprocess.PIPE,
    ) as parent:
        try:
            assert parent.stdout is not None
            server = int(parent.stdout.readline())
            assert not ended(server)
        finally:
            parent.kill()
    wait_until(lambda: ended(server))
    assert str(tmp_path) not in mounts()


def test_without_the_right_to_mount_there_is_a_reason() -> None:
    program = (
        "import ctypes, os, sys\n"
        "drop, sys_admin = 24, 21\n"
        "ctypes.CDLL(None).prctl(drop, sys_admin, 0, 0, 0)\n"
        "ask = 'from tests.support.fuse.handle import fuse_unavailable as f; print(f())'\n"
        "os.execv(sys.executable, [sys.executable, '-c', ask])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "cannot unshare the mount namespace: Operation not permitted\n"
