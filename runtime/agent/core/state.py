"""The folder that outlives the agent: safe from other users, and used by one process at a time.

StateError
├── UnsafePath          somebody else could change it
├── StateLocked         another agent, or a restore command, is at work
├── JournalCorrupt      the journal cannot be understood
├── JournalUnavailable  the journal could not be read or made durable
└── AuditUnavailable    the audit log could not be written
"""

import fcntl
import os
import stat
from pathlib import Path
from typing import Self

_LOCK = "agent.lock"
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class StateError(Exception):
    """Base of what the files of the agent can refuse."""


class UnsafePath(StateError):
    def __init__(self, path: Path, found: str, allowed: str) -> None:
        super().__init__(f"{path}: {found}, must be {allowed}")
        self.path = path


class StateLocked(StateError):
    def __init__(self, folder: Path, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{folder}: locked by {who}, stop that agent first")
        self.pid = pid


class JournalCorrupt(StateError):
    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: the journal of original limits is corrupt ({reason}); set the limits of "
            "this host as they should be, remove the file and start the agent again"
        )
        self.path = path


class _Unavailable(StateError):
    words: str

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path}: {self.words}, {error.strerror or error}")
        self.path = path


class JournalUnavailable(_Unavailable):
    words = "the journal is unavailable"


class AuditUnavailable(_Unavailable):
    words = "the audit log cannot be written"


def private_folder(folder: Path) -> Path:
    """The folder, made if need be; refused where another user could replace what is in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UnsafePath(folder, "no folder", "a folder") from None
    _check(folder, folder.stat())
    return folder


def check_private_file(path: Path) -> None:
    """Refuse a file that is a link, is no plain file, or that another user could write."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise UnsafePath(path, "no plain file", "a plain file")
    _check(path, status)


def _check(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in {0, os.geteuid()}:
        raise UnsafePath(path, f"owned by user {status.st_uid}", f"owned by 0 or {os.geteuid()}")
    if status.st_mode & _OTHERS_MAY_WRITE:
        mode = stat.S_IMODE(status.st_mode)
        raise UnsafePath(path, f"mode {mode:04o}", "writable by its owner alone")


class StateLock:
    """Held while a process may write frequencies; the kernel drops it when the process dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder)
        path = folder / _LOCK
        check_private_file(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 20).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise StateLocked(folder, int(holder) if holder.isdecimal() else None) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
