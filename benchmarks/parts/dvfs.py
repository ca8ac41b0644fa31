"""Whether virtual DVFS does what a frequency does: throughput and energy of real processes.

A family of counting processes is attached to an emulated host whose frequency changes between the
highest and a lower one, again and again in the same run, so that whatever else the machine does
falls on both. Throughput is what the processes counted; energy is what the host's counter gained,
beside what the power model says for the CPU time that /proc shows.
"""

import mmap
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

from energy.emulation.description import HostDescription
from energy.emulation.dvfs.choose import BACKENDS
from energy.emulation.dvfs.contract import Backend, Throttle
from energy.emulation.dvfs.dvfs import VirtualDvfs, package_zones
from energy.emulation.host import EmulatedHost
from energy.errors import ThrottleUnavailable
from energy.power import prior_power
from energy.prior import prior_watts
from energy.tree import CPUFREQ, POWERCAP

MAX_KHZ = 2_000_000
CASES = ((1, 1_600_000), (1, 1_200_000), (1, 600_000), (2, 1_200_000))
"""Processes and frequency; the highest of all is the reference."""
FULL_POWER_W = 100.0
WINDOW_S = 0.6
TICK_S = 0.2

_SLOT_BYTES = 8
# Nobody counts on after the one that started it.
_COUNTING = """
import mmap, os, sys, time
slots, parent, head = int(sys.argv[2]), os.getppid(), os.getpid()
with open(sys.argv[1], "r+b") as file:
    counts = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
for slot in range(slots):
    if os.fork() == 0:
        while os.getppid() == head:
            for _ in range(1000):
                pass
            counts[slot] += 1
        os._exit(0)
while os.getppid() == parent:
    time.sleep(0.5)
"""


@dataclass(frozen=True, slots=True)
class DvfsRow:
    backend: Backend
    processes: int
    share_asked: float
    """Frequency over the highest."""
    share_measured: float | None
    """Throughput over that at the highest frequency; None: see `unavailable`."""
    reference_cores: float | None
    """CPU seconds a second and process at the highest frequency; under 1, others were running."""
    speed_ratio: float | None
    """Throughput of a CPU second over that at the highest frequency; far from 1, something else
    on the machine, such as the other thread of a core, disturbed the measurement."""
    energy_j: float | None
    """Of the emulated host's counter, at the lower frequency."""
    expected_j: float | None
    """Of the power model, from the measured CPU time."""
    unavailable: str | None = None


@dataclass(frozen=True, slots=True)
class _Window:
    elapsed_s: float
    counted: int
    """At least 1, and `cpu_s` one tick: ratios exist even where others left it nothing."""
    cpu_s: float
    energy_j: float


def dvfs_rows(rounds: int, begin: Callable[[str], None]) -> list[DvfsRow]:
    """Every backend, some ten seconds a round; `begin` gets the name of each row as it starts."""
    rows = []
    for backend in BACKENDS:
        for processes, khz in CASES:
            begin(f"{backend}, {processes} at {khz / MAX_KHZ:.0%}")
            rows.append(measure(backend, processes, khz, rounds))
            if rows[-1].unavailable is not None:
                break
    return rows


def measure(backend: Backend, processes: int, khz: int, rounds: int) -> DvfsRow:
    try:
        throttle = BACKENDS[backend]()
    except ThrottleUnavailable as error:
        missing = None, None, None, None, None
        return DvfsRow(backend, processes, khz / MAX_KHZ, *missing, unavailable=str(error))
    host = EmulatedHost(HostDescription(cpus=processes, min_khz=100_000, max_khz=MAX_KHZ))
    with _dvfs(host, throttle, processes) as dvfs, _counting(processes) as family:
        dvfs.attach("family", [family.pid], cores=processes)
        pairs = [
            (_run(host, dvfs, family, MAX_KHZ), _run(host, dvfs, family, khz))
            for _ in range(rounds)
        ]
    model = prior_power(processes, MAX_KHZ, FULL_POWER_W)
    share = khz / MAX_KHZ
    expected_j = 0.0
    for _, window in pairs:
        busy_cores = min(processes, window.cpu_s / share / window.elapsed_s)
        expected_j += float(model.power_w(busy_cores, khz)) * window.elapsed_s
    return DvfsRow(
        backend=backend,
        processes=processes,
        share_asked=share,
        share_measured=statistics.median(
            (lower.counted / lower.elapsed_s) / (full.counted / full.elapsed_s)
            for full, lower in pairs
        ),
        reference_cores=statistics.median(
            full.cpu_s / full.elapsed_s / processes for full, _ in pairs
        ),
        speed_ratio=statistics.median(
            (lower.counted / lower.cpu_s) / (full.counted / full.cpu_s) for full, lower in pairs
        ),
        energy_j=sum(lower.energy_j for _, lower in pairs),
        expected_j=expected_j,
    )


@dataclass(frozen=True, slots=True)
class _Family:
    pid: int
    counts: memoryview

    def counted(self) -> int:
        return sum(self.counts)

    def cpu_s(self) -> float:
        head = psutil.Process(self.pid)
        times = [process.cpu_times() for process in (head, *head.children(recursive=True))]
        return sum(used.user + used.system for used in times)


@contextmanager
def _dvfs(host: EmulatedHost, throttle: Throttle, cores: int) -> Iterator[VirtualDvfs]:
    with VirtualDvfs(
        host,
        prior_watts(cores, MAX_KHZ, FULL_POWER_W),
        throttle,
        max_khz=MAX_KHZ,
        cpus=range(cores),
        packages=package_zones(host.zones, host.plan.package_of),
    ) as dvfs:
        yield dvfs


@contextmanager
def _counting(processes: int) -> Iterator[_Family]:
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(processes * _SLOT_BYTES)
        with mmap.mmap(file.fileno(), 0) as memory, memoryview(memory) as raw:
            counts = raw.cast("Q")
            head = subprocess.Popen(
                [sys.executable, "-c", _COUNTING, file.name, str(processes)],
                start_new_session=True,
            )
            try:
                while not all(counts):
                    if head.poll() is not None:
                        raise ChildProcessError(f"the counting processes ended: {head.returncode}")
                    time.sleep(0.01)
                yield _Family(head.pid, counts)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(head.pid, signal.SIGKILL)
                head.wait()
                counts.release()


def _run(host: EmulatedHost, dvfs: VirtualDvfs, family: _Family, khz: int) -> _Window:
    for policy in host.policies:
        host.write(f"{CPUFREQ}/{policy}/scaling_max_freq", str(khz))
    dvfs.tick(time.monotonic())
    counted, cpu_s, energy_j = family.counted(), family.cpu_s(), _energy_j(host)
    start_s = now_s = time.monotonic()
    while now_s < start_s + WINDOW_S:
        time.sleep(TICK_S)
        now_s = time.monotonic()
        dvfs.tick(now_s)
    return _Window(
        elapsed_s=now_s - start_s,
        counted=max(1, family.counted() - counted),
        cpu_s=max(0.01, family.cpu_s() - cpu_s),
        energy_j=_energy_j(host) - energy_j,
    )


def _energy_j(host: EmulatedHost) -> float:
    return int(host.read(f"{POWERCAP}/intel-rapl:0/energy_uj")) / 1e6
