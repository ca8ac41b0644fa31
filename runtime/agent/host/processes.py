"""Processes of this host, read from /proc as cheaply as it goes, and the CPU time of whole trees.

One read of one file gives who a process is, who started it and what it used, all of the same
moment. psutil takes two reads for that, between which a pid may change hands, and reads command
lines of any length.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_LONGEST_STAT = 4096
_LONGEST_COMMAND_LINE = 262_144
"""A user may start a process with megabytes of arguments; a JVM has some tens of kilobytes."""

TICKS_PER_S = os.sysconf("SC_CLK_TCK")

Identity = tuple[int, int]
"""Pid and start time: a pid alone may be used again."""


@dataclass(frozen=True, slots=True)
class ProcessStat:
    pid: int
    parent_pid: int
    is_zombie: bool
    started_ticks: int
    own_ticks: int
    """CPU time of all its threads, living or not."""
    reaped_ticks: int
    """CPU time of the children it has waited for, and of theirs."""

    @property
    def identity(self) -> Identity:
        return self.pid, self.started_ticks


class ProcFolder:
    def __init__(self, root: str | Path = "/proc") -> None:
        self._root = str(root)

    def pids(self) -> list[int]:
        """Ascending."""
        with os.scandir(self._root) as entries:
            return sorted([int(entry.name) for entry in entries if entry.name.isdigit()])

    def stat(self, pid: int) -> ProcessStat | None:
        """None: there is no such process any more."""
        text = self._read(f"{self._root}/{pid}/stat", _LONGEST_STAT)
        # The name of the program stands in brackets and may hold brackets and blanks itself.
        fields = text[text.rfind(b")") + 2 :].split()
        if len(fields) < 20:
            return None
        return ProcessStat(
            pid=pid,
            parent_pid=int(fields[1]),
            is_zombie=fields[0] in {b"Z", b"X"},
            started_ticks=int(fields[19]),
            own_ticks=int(fields[11]) + int(fields[12]),
            reaped_ticks=int(fields[13]) + int(fields[14]),
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


class TreeTime:
    """CPU time of a tree of processes that come and go; it never falls and counts nothing twice.

    When a process ends, its parent's `reaped_ticks` grow by all that the process had used, which
    was counted already while it lived. So what ended processes had shown is taken off the growth
    of `reaped_ticks`, now or at the next look, as a parent may be read just before it reaps. What
    then remains is the time of processes too short-lived to have been seen. A process whose parent
    died first is reaped outside the tree; what it used stays counted.
    """

    __slots__ = ("_last", "_owed_ticks", "ticks")

    def __init__(self) -> None:
        self.ticks = 0
        self._last: dict[Identity, ProcessStat] = {}
        self._owed_ticks = 0

    def add(self, living: Iterable[ProcessStat]) -> None:
        """The processes of the tree now, parents before their children."""
        stats = {stat.identity: stat for stat in living}
        reaped = 0
        for identity, stat in stats.items():
            before = self._last.get(identity)
            self.ticks += max(0, stat.own_ticks - (before.own_ticks if before else 0))
            reaped += max(0, stat.reaped_ticks - (before.reaped_ticks if before else 0))
        ended = sum(
            stat.own_ticks + stat.reaped_ticks
            for identity, stat in self._last.items()
            if identity not in stats
        )
        reaped -= min(reaped, self._owed_ticks)
        self._owed_ticks = ended - min(reaped, ended)
        self.ticks += max(0, reaped - ended)
        self._last = stats
