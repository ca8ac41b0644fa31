"""Control groups as both versions have them: where they are mounted, who is in them, how to empty
one. Used by the throttles and, after their owner's death, by the guardian; only the standard
library below it.
"""

import errno
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from energy.processes import Process, find_process
from energy.tree import FolderTree

PROCS = "cgroup.procs"

_OCTAL = re.compile(r"\\([0-7]{3})")
_EMPTYING_ATTEMPTS = 200
_EMPTYING_PAUSE_S = 0.02


class GroupTree(FolderTree):
    """Files of the cgroup file system; there, making a folder makes a group with its files."""

    def read(self, path: str) -> str:
        # Unlike sysfs, lists in /proc and cgroup.procs come in pieces of a page.
        return Path(self._place(path)).read_text(encoding="utf-8", errors="surrogateescape")

    def make(self, folder: str) -> None:
        Path(self._place(folder)).mkdir()

    def remove(self, folder: str) -> None:
        Path(self._place(folder)).rmdir()


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted cgroup hierarchy."""

    mount: str
    """Where it is mounted: "/sys/fs/cgroup/cpu"."""
    root: str
    """Which of its groups is mounted there: "/" but in a container."""
    controller: str | None
    """None: version 2, which has one hierarchy for all controllers."""


def find_hierarchy(tree: GroupTree, controller: str | None) -> Hierarchy | None:
    """The mount of a version 1 controller, or with None that of version 2."""
    for line in _lines(tree, "/proc/self/mountinfo"):
        mount, _, source = line.partition(" - ")
        fields, (kind, _, options) = mount.split(), source.split(maxsplit=2)
        if kind == ("cgroup2" if controller is None else "cgroup") and (
            controller is None or controller in options.split(",")
        ):
            return Hierarchy(_unescaped(fields[4]), _unescaped(fields[3]), controller)
    return None


def group_of(tree: GroupTree, hierarchy: Hierarchy, pid: int | None = None) -> str | None:
    """The folder of the group a process (by default this one) is in; None: gone or not visible."""
    try:
        lines = _lines(tree, f"/proc/{pid or 'self'}/cgroup")
    except (FileNotFoundError, ProcessLookupError):
        return None
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if (hierarchy.controller or "") in controllers.split(","):
            return _below(hierarchy, PurePosixPath(group))
    return None


def pids_in(tree: GroupTree, folder: str) -> tuple[int, ...]:
    return tuple(int(line) for line in _lines(tree, f"{folder}/{PROCS}"))


def move(tree: GroupTree, pid: int, folder: str) -> bool:
    """Move a process with all its threads; False: it is gone. Later children follow it."""
    try:
        tree.write(f"{folder}/{PROCS}", str(pid))
    except ProcessLookupError:
        return False
    return True


def empty_group(tree: GroupTree, folder: str, home: str, origins: Mapping[Process, str]) -> bool:
    """Send everyone in a group back to where they came from, and remove it; True: it is gone.

    Whoever is not in `origins` was born in the group and goes `home`. Processes fork and end
    meanwhile, and a group stays busy for a moment after its last one left, hence the attempts.
    """
    for _ in range(_EMPTYING_ATTEMPTS):
        try:
            for pid in pids_in(tree, folder):
                _send_back(tree, pid, home, origins)
            tree.remove(folder)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY:
                return False
            time.sleep(_EMPTYING_PAUSE_S)
        else:
            return True
    return False


def _send_back(tree: GroupTree, pid: int, home: str, origins: Mapping[Process, str]) -> None:
    process = find_process(pid)
    if process is None:
        return
    # Its old group may have been removed meanwhile: then up, to the first that takes it.
    for folder in (origins.get(process, home), home, str(PurePosixPath(home).parent)):
        with suppress(OSError):
            move(tree, pid, folder)
            return


def _below(hierarchy: Hierarchy, group: PurePosixPath) -> str | None:
    # Groups above that of the container show as "/..".
    if not group.is_relative_to(hierarchy.root) or ".." in group.parts:
        return None
    return str(hierarchy.mount / group.relative_to(hierarchy.root))


def _lines(tree: GroupTree, path: str) -> list[str]:
    return tree.read(path).splitlines()


def _unescaped(field: str) -> str:
    """mountinfo writes blanks, tabs, line ends and backslashes in octal."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)
