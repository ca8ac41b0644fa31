"""Virtual DVFS: the frequency of an emulated host slows real processes down, and its energy
counters integrate a power model over the CPU time they really use.

A process that a throttle holds at 60 % of a core keeps an emulated core of 60 % frequency fully
busy. So emulated CPU time is real CPU time divided by the share, and emulated CPU time multiplied
by the frequency, the cycles of a piece of work, is the same at every frequency. An emulated core
may itself be a part of a real one, so that more of them fit on a machine than it has.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from energy.emulation.dvfs.contract import Throttle, check_share
from energy.prior import PowerFunction
from energy.processes import NS_PER_S, Snapshot, TreeTime, descendants, take_snapshot

_UJ_PER_J = 1_000_000
_LOWEST_SHARE = 0.01
"""An emulated frequency slows a process down, it never stops it."""
_SETTLING = 3
"""How often to look again for children that were born while their family was taken in."""
_PACKAGE = re.compile(r"package-(\d+)(-die-\d+)?")


class ClockedHost(Protocol):
    """What is needed of an emulated host."""

    def running_khz(self, cpu: int) -> int:
        """0 for an offline CPU."""
        ...

    def add_energy_uj(self, zone: str, gained_uj: int) -> None: ...


@dataclass(slots=True)
class _Family:
    time: TreeTime
    cores: float
    cpus: tuple[int, ...]
    khz: float
    """The frequency it has run at since it was last set."""
    share: float
    throttled_to: float | None = None
    unbilled_s: float = 0.0
    """Emulated CPU time that no energy was added for yet."""
    emulated_cpu_s: float = 0.0
    real_cpu_s: float = 0.0

    def advance(self, snapshot: Snapshot) -> None:
        real_s = self.time.add(descendants(self.time.members, snapshot)) / NS_PER_S
        self.real_cpu_s += real_s
        emulated_s = real_s / self.share
        self.unbilled_s += emulated_s
        self.emulated_cpu_s += emulated_s


class VirtualDvfs:
    """Families of processes that run on the CPUs of an emulated host.

    For one thread. `tick` about once a second and after every change of a frequency: until then
    the old frequency holds, in the throttle and in the energy alike.
    """

    def __init__(
        self,
        host: ClockedHost,
        power_w: PowerFunction,
        throttle: Throttle | None,
        *,
        max_khz: int,
        cpus: Sequence[int],
        packages: Mapping[str, Sequence[int]],
        core_share: float = 1.0,
        free_cpu_s: float = 0.0,
        take: Callable[[], Snapshot] = take_snapshot,
    ) -> None:
        """`packages` are the CPUs behind each energy zone, see `package_zones`; `core_share` is
        what an emulated core has of a real one at the highest frequency, once a family has used
        `free_cpu_s` of real CPU time: a program that starts on a small share of a core takes
        minutes where a real host takes seconds.

        Without a throttle the frequency shows in the energy alone.
        """
        check_share(core_share)
        self._host = host
        self._power_w = power_w
        self._throttle = throttle
        self._max_khz = max_khz
        self._core_share = core_share
        self._free_cpu_s = free_cpu_s
        self._packages = {zone: tuple(cpus) for zone, cpus in packages.items()}
        self._cpus = tuple(cpus)
        self._take = take
        self._families: dict[str, _Family] = {}
        self._left: list[_Family] = []
        self._ticked_at_s: float | None = None
        self._package_khz = {zone: self._mean_khz(cpus) for zone, cpus in self._packages.items()}
        self._unwritten_uj = dict.fromkeys(self._packages, 0.0)
        self._billed_cpu_s = 0.0

    @property
    def attached(self) -> frozenset[str]:
        return frozenset(self._families)

    def emulated_cpu_s(self, name: str) -> float:
        """CPU time on the emulated cores since the family was attached, as of the last tick."""
        return self._families[name].emulated_cpu_s

    @property
    def ticked_at_s(self) -> float | None:
        """When time last moved on; None: it has not yet."""
        return self._ticked_at_s

    @property
    def billed_cpu_s(self) -> float:
        """CPU time on the emulated cores that the energy counters have in them."""
        return self._billed_cpu_s

    @property
    def clock_khz(self) -> float:
        """Mean over the CPUs that are online; 0 where none is."""
        return self._mean_khz(self._cpus)

    def attach(
        self, name: str, pids: Iterable[int], cores: float, cpus: Sequence[int] | None = None
    ) -> None:
        """Let processes and all that descends from them run on `cores` of these emulated CPUs."""
        if name in self._families:
            raise ValueError(f"{name} is attached already")
        if not cores > 0:
            raise ValueError(f"cores must be positive, got {cores}")
        snapshot = self._take()
        by_pid = {process.pid: process for process in snapshot}
        heads = [by_pid[pid] for pid in pids if pid in by_pid]
        time = TreeTime(descendants(heads, snapshot))
        family = _Family(time, cores, tuple(cpus or self._cpus), khz=0.0, share=1.0)
        if self._throttle is not None:
            self._throttle.attach(name, time.members, cores)
        self._families[name] = family
        try:
            self._set_speed(name, family)
            self._settle(name, family)
        except BaseException:
            self.detach(name)
            raise

    def detach(self, name: str) -> None:
        family = self._families.pop(name)
        self._left.append(family)
        family.advance(self._take())
        if self._throttle is not None:
            self._throttle.detach(name)

    def tick(self, now_s: float) -> None:
        """Add the energy since the last tick, then follow the frequencies of the host."""
        if self._ticked_at_s is not None and now_s < self._ticked_at_s:
            raise ValueError(f"now_s must be at least {self._ticked_at_s}, got {now_s}")
        if self._families:
            snapshot = self._take()
            for family in self._families.values():
                family.advance(snapshot)
        elapsed_s = 0.0 if self._ticked_at_s is None else now_s - self._ticked_at_s
        self._ticked_at_s = now_s
        if elapsed_s > 0:
            self._add_energy(elapsed_s)
        self._package_khz = {zone: self._mean_khz(cpus) for zone, cpus in self._packages.items()}
        for name, family in self._families.items():
            self._set_speed(name, family)
            if self._throttle is not None:
                self._throttle.update(name, family.time.members)

    def close(self) -> None:
        """Set all processes free; the throttle goes with it."""
        self._families.clear()
        if self._throttle is not None:
            self._throttle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _set_speed(self, name: str, family: _Family) -> None:
        online = [cpu for cpu in family.cpus if self._host.running_khz(cpu)]
        # The scheduler moves tasks off CPUs that went offline.
        family.khz = self._mean_khz(online or self._cpus)
        if self._throttle is None:
            return
        speed = min(1.0, family.khz / self._max_khz)
        core_share = 1.0 if family.real_cpu_s < self._free_cpu_s else self._core_share
        share = max(_LOWEST_SHARE, speed * core_share)
        throttled_to = share * min(1.0, max(1, len(online)) / family.cores)
        if throttled_to != family.throttled_to:
            self._throttle.set_share(name, throttled_to)
            family.throttled_to = throttled_to
        family.share = share

    def _settle(self, name: str, family: _Family) -> None:
        if self._throttle is None:
            return
        for _ in range(_SETTLING):
            known = frozenset(family.time.members)
            family.advance(self._take())
            if known.issuperset(family.time.members):
                return
            self._throttle.update(name, family.time.members)

    def _add_energy(self, elapsed_s: float) -> None:
        """A family adds what its busy cores draw at its frequency, on top of the idle host."""
        power_w = {
            zone: self._power_w(0.0, self._package_khz[zone]) * len(cpus) / len(self._cpus)
            for zone, cpus in self._packages.items()
        }
        for family in (*self._families.values(), *self._left):
            busy_cores = min(family.cores, family.unbilled_s / elapsed_s)
            family.unbilled_s = 0.0
            self._billed_cpu_s += busy_cores * elapsed_s
            added_w = self._power_w(busy_cores, family.khz) - self._power_w(0.0, family.khz)
            for zone, cpus in self._packages.items():
                part = sum(cpu in cpus for cpu in family.cpus) / len(family.cpus)
                power_w[zone] += part * added_w
        self._left.clear()
        for zone, zone_w in power_w.items():
            exact_uj = self._unwritten_uj[zone] + zone_w * elapsed_s * _UJ_PER_J
            whole_uj = int(exact_uj)
            self._unwritten_uj[zone] = exact_uj - whole_uj
            self._host.add_energy_uj(zone, whole_uj)

    def _mean_khz(self, cpus: Sequence[int]) -> float:
        """Of those that are online; 0 where none is."""
        running = [khz for cpu in cpus if (khz := self._host.running_khz(cpu))]
        return sum(running) / len(running) if running else 0.0


def package_zones(
    zones: Iterable[str], package_of: Mapping[int, int]
) -> dict[str, tuple[int, ...]]:
    """The CPUs behind each package zone of a host; dies of a package share its CPUs in order."""
    by_package: dict[int, list[str]] = {}
    for zone in zones:
        if match := _PACKAGE.fullmatch(zone):
            by_package.setdefault(int(match[1]), []).append(zone)
    found: dict[str, tuple[int, ...]] = {}
    for package, names in by_package.items():
        cpus = sorted(cpu for cpu, its_package in package_of.items() if its_package == package)
        for number, zone in enumerate(names):
            first, last = (len(cpus) * edge // len(names) for edge in (number, number + 1))
            found[zone] = tuple(cpus[first:last])
    return found
