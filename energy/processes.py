"""The processes of this host as /proc shows them, and the CPU time of whole trees of them.

One read of one file gives who a process is, who started it and what it used, all of the same
moment. psutil takes two reads for that, between which a pid may change hands, and reads command
lines of any length. Nothing here stops or changes a process.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_LONGEST_STAT = 4096
_LONGEST_COMMAND_LINE = 262_144
"""A user may start a process with megabytes of arguments; a JVM has some tens of kilobytes."""

NS_PER_S = 1_000_000_000
NS_PER_TICK = NS_PER_S // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """One process of this boot: a pid alone may be used again."""

    pid: int
    start_ticks: int


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """One process at one moment."""

    process: Process
    parent_pid: int
    is_zombie: bool
    own_ns: int
    """CPU time of all its threads, living or not."""
    reaped_ns: int
    """CPU time of the children it has waited for, and of theirs."""

    @property
    def pid(self) -> int:
        return self.process.pid


Snapshot = Mapping[Process, ProcessStat]


class ProcFolder:
    def __init__(self, root: str | Path = "/proc") -> None:
        self._root = str(root)

    def pids(self) -> list[int]:
        """Ascending."""
        with os.scandir(self._root) as entries:
            return sorted([int(entry.name) for entry in entries if entry.name.isdigit()])

    def stat(self, pid: int, own_ns: int | None = None) -> ProcessStat | None:
        """None: there is no such process any more. `own_ns` replaces the coarser time of /proc."""
        text = self._read(f"{self._root}/{pid}/stat", _LONGEST_STAT)
        # The name of the program stands in parentheses and may hold parentheses and blanks itself.
        fields = text[text.rfind(b")") + 2 :].split()
        if len(fields) < 20:
            return None
        if own_ns is None:
            own_ns = (int(fields[11]) + int(fields[12])) * NS_PER_TICK
        return ProcessStat(
            process=Process(pid, int(fields[19])),
            parent_pid=int(fields[1]),
            is_zombie=fields[0] in {b"Z", b"X"},
            own_ns=own_ns,
            reaped_ns=(int(fields[13]) + int(fields[14])) * NS_PER_TICK,
        )

    def command_line(self, pid: int) -> bytes:
        """Arguments that each end with a zero byte; the end is cut off where it is too long."""
        return self._read(f"{self._root}/{pid}/cmdline", _LONGEST_COMMAND_LINE)

    @staticmethod
    def _read(path: str, longest: int) -> bytes:
        """Nothing where there is nothing; every other failure is the caller's to judge."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return os.read(descriptor, longest)
            finally:
                os.close(descriptor)
        except (FileNotFoundError, ProcessLookupError):
            return b""


def find_process(pid: int) -> Process | None:
    """The process that has this pid now; a zombie still has it."""
    try:
        stat = ProcFolder().stat(pid)
    except OSError:
        return None
    return None if stat is None else stat.process


def cpu_ns(pid: int) -> int | None:
    """CPU time of all threads of a process to the nanosecond; None once it is gone.

    The clock's number is what clock_getcpuclockid(3) computes; /proc counts in hundredths only.
    """
    try:
        return time.clock_gettime_ns(~pid << 3 | 2)
    except OSError:
        return None


def take_snapshot() -> dict[Process, ProcessStat]:
    """Every process of this host that can be read."""
    folder = ProcFolder()
    found = {}
    for pid in folder.pids():
        own_ns = cpu_ns(pid)
        try:
            stat = None if own_ns is None else folder.stat(pid, own_ns)
        except OSError:
            continue
        if stat is not None:
            found[stat.process] = stat
    return found


def descendants(heads: Iterable[Process], snapshot: Snapshot) -> tuple[ProcessStat, ...]:
    """Those of the heads that are still there, and everything that descends from them."""
    children: dict[int, list[Process]] = {}
    for process, stat in snapshot.items():
        children.setdefault(stat.parent_pid, []).append(process)
    found: dict[Process, ProcessStat] = {}
    waiting = [head for head in heads if head in snapshot]
    while waiting:
        process = waiting.pop()
        if process not in found:
            found[process] = snapshot[process]
            waiting.extend(children.get(process.pid, ()))
    return tuple(found.values())


class TreeTime:
    """CPU time of a tree of processes that come and go; it never falls and counts nothing twice.

    When a process ends, its parent's `reaped_ns` grows by all that the process had used, which was
    counted already while it lived. So what ended processes had shown is taken off the growth of
    `reaped_ns`, now or at the next look, as a parent may be read just before it reaps. What then
    remains is the time of processes too short-lived to have been seen. A process whose parent died
    first is reaped outside the tree; what it used stays counted.
    """

    __slots__ = ("_last", "_owed_ns", "used_ns")

    def __init__(self, baseline: Iterable[ProcessStat] = ()) -> None:
        """What the processes of `baseline` have used so far does not count."""
        self.used_ns = 0
        self._last: dict[Process, ProcessStat] = {stat.process: stat for stat in baseline}
        self._owed_ns = 0

    @property
    def members(self) -> tuple[Process, ...]:
        """As of the last look."""
        return tuple(self._last)

    def add(self, living: Iterable[ProcessStat]) -> int:
        """The processes of the tree now, parents before their children; returns the time gained."""
        stats = {stat.process: stat for stat in living}
        gained = reaped = 0
        for process, stat in stats.items():
            before = self._last.get(process)
            gained += max(0, stat.own_ns - (before.own_ns if before else 0))
            reaped += max(0, stat.reaped_ns - (before.reaped_ns if before else 0))
        ended = sum(
            stat.own_ns + stat.reaped_ns
            for process, stat in self._last.items()
            if process not in stats
        )
        reaped -= min(reaped, self._owed_ns)
        self._owed_ns = ended - min(reaped, ended)
        gained += max(0, reaped - ended)
        self.used_ns += gained
        self._last = stats
        return gained
