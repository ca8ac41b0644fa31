"""The throttle of both cgroup versions: a group with a CPU quota for every family.

The quota is share * cores of CPU time in every period. It bounds the family as a whole: one that
keeps fewer threads busy than it has cores is slowed only once it reaches the quota.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from energy.emulation.dvfs.cgroup import (
    GroupTree,
    Hierarchy,
    empty_group,
    group_of,
    move,
    pids_in,
)
from energy.emulation.dvfs.contract import Backend, check_share
from energy.emulation.dvfs.guard import GuardianLink
from energy.emulation.dvfs.ledger import Message, group_message, ungroup_message
from energy.errors import HostError, ThrottleUnavailable, attribute_fault
from energy.processes import Process, find_process

PERIOD_US = 10_000
"""Short: with the kernel's default of 100 ms a task of a few milliseconds may wait for 40."""
BURST_US = 2_000
"""What a group may save up. Without, a quota of a whole core costs a busy thread 3 % of it: the
kernel hands the quota out in slices, and what is left of a slice expires with the period."""
_SHORTEST_QUOTA_US = BURST_US
_LONGEST_PERIOD_US = 1_000_000

_FOLDER = re.compile(r"^foresight-(\d+)-(\d+)-\d+$")


@dataclass(frozen=True, slots=True)
class Quota:
    """CPU time in each period. The kernel refuses quotas under 1 ms or under the burst, and periods
    over 1 s."""

    quota_us: int
    period_us: int


def quota_for(cores: float) -> Quota:
    """The quota that gives this many cores, with a longer period where it would be too small."""
    if not cores > 0:
        raise ValueError(f"cores must be positive, got {cores}")
    period_us = PERIOD_US
    if cores * period_us < _SHORTEST_QUOTA_US:
        period_us = min(_LONGEST_PERIOD_US, round(_SHORTEST_QUOTA_US / cores))
    return Quota(max(_SHORTEST_QUOTA_US, round(cores * period_us)), period_us)


QuotaWriter = Callable[[GroupTree, str, Quota], None]
"""Writes the quota of a group and reads it back."""


@dataclass(slots=True)
class _Family:
    folder: str
    cores: float
    home: str
    origins: dict[Process, str]


class GroupThrottle:
    """Keeps a group of its own, below `parent`, for each family."""

    def __init__(
        self,
        backend: Backend,
        tree: GroupTree,
        hierarchy: Hierarchy,
        parent: str,
        write_quota: QuotaWriter,
    ) -> None:
        self.backend = backend
        self._tree = tree
        self._hierarchy = hierarchy
        self._parent = parent
        self._write_quota = write_quota
        self._guard = GuardianLink()
        self._families: dict[str, _Family] = {}
        self._made = 0
        self._sweep()
        self._probe()

    def attach(self, name: str, processes: Sequence[Process], cores: float) -> None:
        if name in self._families:
            raise ValueError(f"{name} is attached already")
        origins = self._origins(processes)
        home = next(iter(origins.values()), self._parent)
        folder = f"{self._parent}/{self._next_folder()}"
        self._guard.send(self._message(folder, home, origins))
        self._families[name] = _Family(folder, cores, home, origins)
        try:
            try:
                self._tree.make(folder)
            except OSError as error:
                raise attribute_fault(folder, "make", error) from error
            self._write_quota(self._tree, folder, quota_for(cores))
            self._move_in(folder, origins)
        except BaseException:
            self.detach(name)
            raise

    def set_share(self, name: str, share: float) -> None:
        check_share(share)
        family = self._families[name]
        self._write_quota(self._tree, family.folder, quota_for(share * family.cores))

    def update(self, name: str, processes: Sequence[Process]) -> None:
        self._guard.keep()
        family = self._families[name]
        try:
            inside = frozenset(pids_in(self._tree, family.folder))
        except OSError as error:
            raise attribute_fault(family.folder, "read", error) from error
        strays = self._origins([process for process in processes if process.pid not in inside])
        if strays:
            self._guard.send(self._message(family.folder, family.home, strays))
            family.origins.update(strays)
            self._move_in(family.folder, strays)

    def detach(self, name: str) -> None:
        family = self._families.pop(name)
        if empty_group(self._tree, family.folder, family.home, family.origins):
            self._guard.send(ungroup_message(family.folder))

    def close(self) -> None:
        for name in tuple(self._families):
            self.detach(name)
        self._guard.close()

    def _origins(self, processes: Sequence[Process]) -> dict[Process, str]:
        found = {}
        for process in processes:
            folder = group_of(self._tree, self._hierarchy, process.pid)
            if folder is not None and find_process(process.pid) == process:
                found[process] = folder
        return found

    def _move_in(self, folder: str, origins: dict[Process, str]) -> None:
        for process in origins:
            try:
                move(self._tree, process.pid, folder)
            except OSError as error:
                raise attribute_fault(folder, "write", error) from error

    def _message(self, folder: str, home: str, origins: dict[Process, str]) -> Message:
        return group_message(str(self._tree.root), folder, home, origins)

    def _next_folder(self) -> str:
        """Says who made it, so that it can be told from one whose owner is gone."""
        owner = find_process(os.getpid())
        start_ticks = 0 if owner is None else owner.start_ticks
        self._made += 1
        return f"foresight-{os.getpid()}-{start_ticks}-{self._made}"

    def _sweep(self) -> None:
        """Groups left behind when owner and guardian were killed together."""
        for name in self._tree.names(self._parent):
            match = _FOLDER.match(name)
            if match and find_process(int(match[1])) != Process(int(match[1]), int(match[2])):
                empty_group(self._tree, f"{self._parent}/{name}", self._parent, {})

    def _probe(self) -> None:
        """Make a group with a quota and remove it again."""
        try:
            self.attach("probe", (), 1.0)
            self.set_share("probe", 0.5)
            self.detach("probe")
        except HostError as error:
            self.close()
            raise ThrottleUnavailable(f"{self.backend}: {error}") from error
