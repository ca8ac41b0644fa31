"""What is known about the worker hosts at a moment: each of them, and all of them together.

Pure values. What is not known is None, and a total over hosts is None as soon as one of them is
not known: half of the power of a cluster is not its power.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mpc.values import HostReading, PowerSource
from runtime.fleet.targets import HostFrequencies

_WORST_FIRST: tuple[PowerSource, ...] = ("emulated", "modelled", "measured")


@dataclass(frozen=True, slots=True)
class ExecutorUse:
    """A Spark executor on a host and the CPU time of its whole process tree."""

    application: str
    executor_id: str
    cores: int | None
    cpu_s: float
    """Never falls while the executor lives, also when its agent restarts."""
    busy_cores: float | None = None
    """Cores it kept busy between the last two reports; None: there was one."""


@dataclass(frozen=True, slots=True)
class HostState:
    """One host as its agent last reported it, blanked once that is too old to be true."""

    name: str
    reachable: bool
    controlled: bool = False
    """Whether this controller holds the lease."""
    requested_khz: int | None = None
    """What it was asked to run at, within what it can do."""
    effective_khz: int | None = None
    """In force, as read back by the agent; the mean over its policies."""
    age_s: float | None = None
    """Since the last reading; None: there was none."""
    power_w: float | None = None
    source: PowerSource | None = None
    executors: tuple[ExecutorUse, ...] | None = None
    busy_cores: float | None = None
    """Of everything on the host, between the last two reports."""
    clock_khz: int | None = None
    """What its busy cores ran at."""
    problem: str | None = None
    greeted: bool = False
    """Whether it has ever said what it offers."""
    frequencies: HostFrequencies | None = None
    """What it offers; None: no frequency can be set, or nothing was said yet."""


@dataclass(frozen=True, slots=True)
class FleetState:
    """All hosts at one moment."""

    hosts: tuple[HostState, ...]
    busy_hosts: frozenset[str] = frozenset()
    """Those that run executors, as last requested."""

    @property
    def unserved(self) -> tuple[str, ...]:
        """Busy hosts that have no agent: neither their frequency nor their power is known."""
        return tuple(sorted(self.busy_hosts - {host.name for host in self.hosts}))

    @property
    def power_w(self) -> float | None:
        """Of all hosts together, those without executors included."""
        powers_w = [host.power_w for host in self.hosts if host.power_w is not None]
        complete = len(powers_w) == len(self.hosts) and not self.unserved
        return sum(powers_w) if powers_w and complete else None

    @property
    def sources(self) -> tuple[PowerSource, ...]:
        """Where the parts of the power come from, the least trustworthy first."""
        present = {host.source for host in self.hosts}
        return tuple(source for source in _WORST_FIRST if source in present)

    @property
    def source(self) -> PowerSource | None:
        """The label of the total: that of its least trustworthy part."""
        return self.sources[0] if self.power_w is not None and self.sources else None

    @property
    def cpu_s(self) -> Mapping[tuple[str, str], float]:
        """CPU time of every executor that an agent sees, by application and executor id."""
        return {
            (executor.application, executor.executor_id): executor.cpu_s
            for host in self.hosts
            for executor in host.executors or ()
        }

    @property
    def frequency_khz(self) -> int | None:
        """The lowest of the busy hosts, since a stage ends with its slowest task; None unless the
        frequencies of all of them are known."""
        if not self.busy_hosts or self.unserved:
            return None
        effective = [host.effective_khz for host in self.hosts if host.name in self.busy_hosts]
        known = [khz for khz in effective if khz is not None]
        return min(known) if len(known) == len(effective) else None

    def readings(self, application: str | None) -> tuple[HostReading, ...]:
        """What each host did for this application (Spark's id; None: for any) and besides."""
        return tuple(_reading(host, application) for host in self.hosts)

    def host(self, name: str) -> HostState:
        return next(host for host in self.hosts if host.name == name)


def _reading(host: HostState, application: str | None) -> HostReading:
    own = [
        executor
        for executor in host.executors or ()
        if application is None or executor.application == application
    ]
    executor_cores: float | None = None
    if host.executors is not None and all(each.busy_cores is not None for each in own):
        executor_cores = sum(each.busy_cores or 0.0 for each in own)
    other_cores = None
    if host.busy_cores is not None and executor_cores is not None:
        # Two counters with ticks of their own: the whole is what the energy was counted for.
        executor_cores = min(executor_cores, host.busy_cores)
        other_cores = host.busy_cores - executor_cores
    return HostReading(
        name=host.name,
        power_w=host.power_w,
        power_source=host.source or "modelled",
        executor_cores=executor_cores,
        other_cores=other_cores,
        frequency_khz=host.effective_khz,
        clock_khz=host.clock_khz,
        executors=None if host.executors is None else len(own),
        executor_slots=None if host.executors is None else sum(each.cores or 1 for each in own),
    )
