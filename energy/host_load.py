"""How busy a whole host has been, and at what clock its busy cores ran: what its power follows.

CPU time of everything that runs is the kernel's own count in /proc/stat. The clock is the mean over
the CPUs, each by the time it was busy since the last look: a core that sleeps shows some low
frequency that nothing runs at. Reads, never writes. One thread at a time.
"""

import os
from dataclasses import dataclass

from energy.cpufreq.attributes import parse_number
from energy.tree import CPU, Tree

_STAT = "/proc/stat"
_MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")
_CLOCKS = ("cpuinfo_avg_freq", "scaling_cur_freq")
"""The first is a mean over the last moments, on newer kernels; the other may be of one moment."""
_MOST_CPUS = 64
"""Whose clocks are read at one look, the busiest first: a host of 500 CPUs is not asked for all."""
_IDLE = (3, 4)
"""Fields of /proc/stat in which nothing ran: idle and waiting for I/O."""
_COUNTED = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already."""


@dataclass(frozen=True, slots=True)
class HostLoad:
    """Since the host started; two of them make the busy cores."""

    busy_ms: int
    clock_khz: int | None
    """None: nothing tells it."""
    at_s: float | None = None
    """When that was so, since boot; None: now."""


class LoadReader:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._last_ms: dict[int, float] = {}
        self._clock_khz: int | None = None

    def read(self) -> HostLoad | None:
        """None where the host does not say."""
        try:
            text = self._tree.read(_STAT)
        except OSError:
            return None
        busy_ms = dict(found for line in text.splitlines() if (found := _cpu(line)) is not None)
        if not busy_ms:
            return None
        gained_ms = {
            cpu: ms - self._last_ms[cpu]
            for cpu, ms in busy_ms.items()
            if ms > self._last_ms.get(cpu, ms)
        }
        self._last_ms = busy_ms
        clock_khz = self._clock_of(gained_ms)
        # While nothing runs there is no clock that matters: the last one stands.
        self._clock_khz = clock_khz or self._clock_khz
        return HostLoad(round(sum(busy_ms.values())), self._clock_khz)

    def _clock_of(self, gained_ms: dict[int, float]) -> int | None:
        busiest = sorted(gained_ms, key=lambda cpu: (-gained_ms[cpu], cpu))[:_MOST_CPUS]
        known = [(gained_ms[cpu], khz) for cpu in busiest if (khz := self._khz(cpu))]
        total_ms = sum(ms for ms, _ in known)
        return round(sum(ms * khz for ms, khz in known) / total_ms) if known else None

    def _khz(self, cpu: int) -> int | None:
        for name in _CLOCKS:
            try:
                khz = parse_number(self._tree.read(f"{CPU}/cpu{cpu}/cpufreq/{name}").strip())
            except OSError:
                continue
            if khz:
                return khz
        return None


def _cpu(line: str) -> tuple[int, float] | None:
    """The number of a CPU and its busy time, from a line of /proc/stat; None for another line."""
    name, *words = line.split()[: _COUNTED + 1] or [""]
    number = parse_number(name.removeprefix("cpu")) if name.startswith("cpu") else None
    ticks = [parse_number(word) for word in words]
    if number is None or len(ticks) <= max(_IDLE):
        return None
    busy = sum(tick or 0 for place, tick in enumerate(ticks) if place not in _IDLE)
    return number, busy * _MS_PER_TICK
