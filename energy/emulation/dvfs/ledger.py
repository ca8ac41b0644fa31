"""What a throttle holds at a moment, in the words its owner tells the guardian, and how to let all
of it go. Owner and guardian keep the same ledger, so that a guardian that was lost can be replaced.
"""

import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from energy.emulation.dvfs.cgroup import GroupTree, empty_group
from energy.processes import Process, find_process

Message = dict[str, Any]


@dataclass(slots=True)
class ThrottledGroup:
    """A control group that was made, and where those in it came from."""

    root: str
    """Below which the folders are: "/" but in tests."""
    home: str
    origins: dict[Process, str] = field(default_factory=dict)


def group_message(root: str, folder: str, home: str, origins: Mapping[Process, str]) -> Message:
    """The group is about to be made, or these are about to be moved into it."""
    came_from = [[process.pid, process.start_ticks, origin] for process, origin in origins.items()]
    return {"group": folder, "root": root, "home": home, "origins": came_from}


def ungroup_message(folder: str) -> Message:
    return {"ungroup": folder}


def stops_message(processes: Iterable[Process]) -> Message:
    """These are about to be stopped, any number of times."""
    return {"stops": [[process.pid, process.start_ticks] for process in processes]}


def unstops_message(processes: Iterable[Process]) -> Message:
    return {"unstops": [[process.pid, process.start_ticks] for process in processes]}


class ThrottleLedger:
    def __init__(self) -> None:
        self.groups: dict[str, ThrottledGroup] = {}
        self.stops: set[Process] = set()

    def note(self, message: Message) -> None:
        match message:
            case {"group": folder, "root": root, "home": home, "origins": origins}:
                group = self.groups.setdefault(folder, ThrottledGroup(root, home))
                group.origins.update(
                    {Process(pid, start): origin for pid, start, origin in origins}
                )
            case {"ungroup": folder}:
                self.groups.pop(folder, None)
            case {"stops": processes}:
                self.stops.update(Process(pid, start) for pid, start in processes)
            case {"unstops": processes}:
                self.stops.difference_update(Process(pid, start) for pid, start in processes)

    def messages(self) -> Iterator[Message]:
        """All of it once more, for a guardian that knows nothing."""
        for folder, group in self.groups.items():
            yield group_message(group.root, folder, group.home, group.origins)
        if self.stops:
            yield stops_message(self.stops)

    def release(self) -> None:
        let_run(tuple(self.stops))
        for folder, group in self.groups.items():
            empty_group(GroupTree(group.root), folder, group.home, group.origins)


def let_run(processes: Sequence[Process]) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            descriptor = os.pidfd_open(process.pid)
            try:
                # Only then is the descriptor known to mean this process and not a later one.
                if find_process(process.pid) == process:
                    signal.pidfd_send_signal(descriptor, signal.SIGCONT)
            finally:
                os.close(descriptor)
