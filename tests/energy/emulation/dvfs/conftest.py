"""Real processes to slow down, and the promise that no control group is left behind."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from energy.processes import Process, find_process

BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
BOUND_S = 60.0


class Children:
    """Starts processes and ends every one of them with the test."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE)
        self._running.append(child)
        return child

    def busy(self) -> Process:
        """A process that uses all the CPU time it gets."""
        process = find_process(self.start("-c", BUSY).pid)
        assert process is not None
        return process

    def end(self) -> None:
        for child in self._running:
            child.kill()
            child.communicate()


@pytest.fixture
def children() -> Iterator[Children]:
    started = Children()
    yield started
    started.end()


def wait_until(condition: Callable[[], bool]) -> None:
    """However slow the machine: only a minute without the condition is a failure."""
    deadline_s = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < deadline_s, "the condition did not come about"
        time.sleep(0.02)


def state(process: Process) -> str | None:
    """The letter of proc(5); None: gone."""
    try:
        text = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rfind(")") + 2] if find_process(process.pid) == process else None


def ended(process: Process) -> bool:
    return state(process) in {None, "Z", "X"}


def groups_of(pid: int) -> list[Path]:
    """The control groups that this owner has made, wherever they are mounted."""
    return list(Path("/sys/fs/cgroup").glob(f"**/foresight-{pid}-*"))


@pytest.fixture(autouse=True)
def no_group_left() -> Iterator[None]:
    yield
    assert groups_of(os.getpid()) == []
