"""What is known about the worker hosts at a moment: each of them, and all of them together.

Pure values. What is not known is None, and a total over hosts is None as soon as one of them is
not known: half of the power of a cluster is not its power.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mpc.values import PowerSource

_WORST_FIRST: tuple[PowerSource, ...] = ("emulated", "modelled", "measured")


@dataclass(frozen=True, slots=True)
class ExecutorUse:
    """A Spark executor on a host and the CPU time of its whole process tree."""

    application: str
    executor_id: str
    cores: int | None
    cpu_s: float
    """Never falls while the executor lives, also when its agent restarts."""


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
    lowest_khz: int | None = None
    highest_khz: int | None = None
    age_s: float | None = None
    """Since the last reading; None: there was none."""
    power_w: float | None = None
    source: PowerSource | None = None
    executors: tuple[ExecutorUse, ...] | None = None
    problem: str | None = None


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

    def host(self, name: str) -> HostState:
        return next(host for host in self.hosts if host.name == name)
