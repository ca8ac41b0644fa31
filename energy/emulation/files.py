"""The files of an emulated tree: which paths there are, and what reading or writing one does.

One file may stand under several paths, as symbolic links make it in sysfs; the first path it got is
its own, the one that snapshots name.
"""

import errno
from collections.abc import Callable
from typing import Literal

from energy.emulation.kernel_text import KernelRefusal

FileAction = Literal["read", "write"]
READ_ONLY = 0o444
READ_WRITE = 0o644
OWNER_ONLY = 0o400
FOLDER_MODE = 0o755


class EmulatedFile:
    """One attribute: `read` gives its text, `write` takes one; None where there is no store."""

    __slots__ = ("mode", "path", "read", "write")

    def __init__(
        self,
        path: str,
        read: Callable[[], str],
        write: Callable[[str], None] | None = None,
        mode: int | None = None,
    ) -> None:
        self.path = path
        self.read = read
        self.write = write
        self.mode = mode if mode is not None else (READ_ONLY if write is None else READ_WRITE)


class EmulatedFiles:
    """Paths, folders and links of the tree."""

    def __init__(self) -> None:
        self._files: dict[str, EmulatedFile] = {}
        self._folders: dict[str, set[str]] = {"": {"sys"}, "/sys": set()}

    def add(
        self,
        path: str,
        read: Callable[[], str],
        write: Callable[[str], None] | None = None,
        mode: int | None = None,
    ) -> None:
        self._place(path, EmulatedFile(path, read, write, mode))

    def add_text(self, path: str, text: str) -> None:
        """A file that never changes; a line end is added, as sysfs files have one."""
        line = f"{text}\n"
        self._place(path, EmulatedFile(path, lambda: line))

    def link(self, path: str, folder: str) -> None:
        """`path` is another way to `folder` and everything below it, as it is now."""
        for name in tuple(self._folders[folder]):
            inner = f"{folder}/{name}"
            if inner in self._folders:
                self.link(f"{path}/{name}", inner)
            else:
                self._place(f"{path}/{name}", self._files[inner])

    def find(self, path: str) -> EmulatedFile:
        found = self._files.get(path)
        if found is None:
            raise KernelRefusal(errno.EISDIR if path.rstrip("/") in self._folders else errno.ENOENT)
        return found

    def names(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(self._folders.get(path.rstrip("/"), ())))

    def mode(self, path: str) -> int | None:
        found = self._files.get(path)
        if found is not None:
            return found.mode
        return FOLDER_MODE if path.rstrip("/") in self._folders else None

    def writable(self) -> list[EmulatedFile]:
        """The files that a writer can change, each once, by their own paths."""
        return [
            file
            for path, file in sorted(self._files.items())
            if file.write is not None and file.path == path
        ]

    def _place(self, path: str, file: EmulatedFile) -> None:
        self._files[path] = file
        parent, _, name = path.rpartition("/")
        while parent:
            known = parent in self._folders
            self._folders.setdefault(parent, set()).add(name)
            if known:
                return
            parent, _, name = parent.rpartition("/")
