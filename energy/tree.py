"""The one access to sysfs: every reader and writer of this package goes through a `Tree`.

Paths are the kernel's own ("/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"); a
`FolderTree` resolves them below its root, the emulated host answers them itself. A tree raises the
plain `OSError` of the kernel; `energy.errors.attribute_fault` turns it into words.
"""

import errno
import os
from pathlib import Path
from typing import Protocol

CPUFREQ = "/sys/devices/system/cpu/cpufreq"
CPU = "/sys/devices/system/cpu"
POWERCAP = "/sys/class/powercap"
THERMAL = "/sys/class/thermal"

_LONGEST_ATTRIBUTE = 65_536
"""A sysfs attribute is at most one page; this is generous and still bounded."""


class Tree(Protocol):
    """A sysfs tree: real, in a folder, or emulated."""

    def read(self, path: str) -> str:
        """The file as it is, line end included."""
        ...

    def write(self, path: str, text: str) -> None:
        """Exactly one write(2): sysfs takes a value whole or not at all."""
        ...

    def names(self, path: str) -> tuple[str, ...]:
        """What a folder holds, sorted; nothing where there is no folder."""
        ...

    def mode(self, path: str) -> int | None:
        """The permission bits of a file or folder; None where there is none."""
        ...


class FolderTree:
    """Files below a root: "/" on a host, a mounted emulation or a temporary folder in tests."""

    def __init__(self, root: str | Path = "/") -> None:
        self.root = Path(root)
        self._prefix = str(self.root).rstrip("/")

    def read(self, path: str) -> str:
        descriptor = os.open(self._place(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _LONGEST_ATTRIBUTE).decode("ascii", "replace")
        finally:
            os.close(descriptor)

    def write(self, path: str, text: str) -> None:
        # No O_CREAT: a missing attribute is an error, never a new file. O_TRUNC means nothing to
        # sysfs, and without it a shorter value in a plain folder would keep the old one's tail.
        descriptor = os.open(self._place(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            data = text.encode("ascii")
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.EIO, "short write", path)
        finally:
            os.close(descriptor)

    def names(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(entry.name for entry in Path(self._place(path)).iterdir()))
        except (FileNotFoundError, NotADirectoryError):
            return ()

    def mode(self, path: str) -> int | None:
        try:
            return Path(self._place(path)).stat().st_mode & 0o7777
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _place(self, path: str) -> str:
        return self._prefix + path
