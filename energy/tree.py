"""The one access to sysfs: every reader and writer of this package goes through a `Tree`.

Paths are the kernel's own ("/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"); a
`FolderTree` resolves them below its root, the emulated host answers them itself. A tree raises the
plain `OSError` of the kernel; `energy.errors.attribute_fault` turns it into words.
"""

import errno
import os
import threading
from pathlib import Path
from typing import Protocol

CPUFREQ = "/sys/devices/system/cpu/cpufreq"
CPU = "/sys/devices/system/cpu"
POWERCAP = "/sys/class/powercap"
THERMAL = "/sys/class/thermal"

_LONGEST_ATTRIBUTE = 65_536
"""A sysfs attribute is at most one page; this is generous and still bounded."""

_POLLED = frozenset({"scaling_max_freq", "scaling_min_freq", "energy_uj"})
_MOST_OPEN = 512
"""Half of the descriptors that a process usually may have."""


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
    """Files below a root: "/" on a host, a mounted emulation or a temporary folder in tests.

    The files that are read every second stay open, which more than halves the cost of reading them
    on sysfs. May be used from several threads.
    """

    def __init__(self, root: str | Path = "/") -> None:
        self._open_files: dict[str, int] = {}
        self._lock = threading.Lock()
        self.root = Path(root)
        self._prefix = str(self.root).rstrip("/")

    def read(self, path: str) -> str:
        if path.rpartition("/")[2] in _POLLED:
            with self._lock:
                return self._read_open(path)
        descriptor = self._open(path)
        try:
            return _read_all(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close what is kept open; the tree can still be used."""
        with self._lock:
            while self._open_files:
                os.close(self._open_files.popitem()[1])

    def __del__(self) -> None:
        self.close()

    def _read_open(self, path: str) -> str:
        descriptor = self._open_files.get(path)
        if descriptor is not None:
            try:
                # A file that was removed or replaced has no links left; in sysfs it answers ENODEV.
                if os.fstat(descriptor).st_nlink:
                    return _read_all(descriptor)
            except OSError:
                pass  # the file may be there again under the same name: what counts is that one
            del self._open_files[path]
            os.close(descriptor)
        descriptor = self._open(path)
        try:
            text = _read_all(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        if len(self._open_files) < _MOST_OPEN:
            self._open_files[path] = descriptor
        else:
            os.close(descriptor)
        return text

    def _open(self, path: str) -> int:
        return os.open(self._place(path), os.O_RDONLY | os.O_CLOEXEC)

    def write(self, path: str, text: str) -> None:
        # No O_CREAT: a missing attribute is an error, never a new file. O_TRUNC means nothing to
        # sysfs, and without it a shorter value in a plain folder would keep the old one's tail.
        if not text.isascii():
            raise OSError(errno.EINVAL, "not ASCII", path)
        data = text.encode("ascii")
        descriptor = os.open(self._place(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
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


def _read_all(descriptor: int) -> str:
    return os.pread(descriptor, _LONGEST_ATTRIBUTE, 0).decode("ascii", "replace")
