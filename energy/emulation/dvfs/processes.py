"""Which processes there are, who started them and the CPU time they used, from /proc.

A process is its pid together with its start time, so that a pid used again is another process.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_NS_PER_S = 1_000_000_000
_LONGEST_STAT = 4096


@dataclass(frozen=True, slots=True)
class Process:
    """One process of this boot."""

    pid: int
    start_ticks: int


@dataclass(frozen=True, slots=True)
class Times:
    """What one process has used so far."""

    parent_pid: int
    own_s: float
    """All of its threads, those that ended included."""
    waited_s: float
    """Its children that ended and that it waited for, with theirs."""


Snapshot = Mapping[Process, Times]


def find_process(pid: int) -> Process | None:
    """The process that has this pid now; a zombie still has it."""
    fields = _stat_fields(pid)
    return None if fields is None else Process(pid, int(fields[19]))


def take_snapshot() -> dict[Process, Times]:
    """Every process of this host."""
    found = {}
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    for pid in pids:
        fields, own_s = _stat_fields(pid), cpu_seconds(pid)
        if fields is not None and own_s is not None:
            waited_s = (int(fields[13]) + int(fields[14])) / _TICKS_PER_S
            found[Process(pid, int(fields[19]))] = Times(int(fields[1]), own_s, waited_s)
    return found


def cpu_seconds(pid: int) -> float | None:
    """CPU time of all threads of a process to the nanosecond; None once it is gone.

    The clock's number is what clock_getcpuclockid(3) computes; /proc counts in hundredths only.
    """
    try:
        return time.clock_gettime_ns(~pid << 3 | 2) / _NS_PER_S
    except OSError:
        return None


def family(heads: Iterable[Process], snapshot: Snapshot) -> tuple[Process, ...]:
    """Those of the heads that are still there, and everything that descends from them."""
    children: dict[int, list[Process]] = {}
    for process, times in snapshot.items():
        children.setdefault(times.parent_pid, []).append(process)
    found: dict[Process, None] = {}
    waiting = [head for head in heads if head in snapshot]
    while waiting:
        process = waiting.pop()
        if process not in found:
            found[process] = None
            waiting.extend(children.get(process.pid, ()))
    return tuple(found)


def _stat_fields(pid: int) -> list[bytes] | None:
    """The fields after the command name: state, ppid, ...; counted from 0, as in proc(5) from 3."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(descriptor, _LONGEST_STAT)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    # The name stands in parentheses and may hold blanks and parentheses itself.
    return text[text.rfind(b")") + 1 :].split()
