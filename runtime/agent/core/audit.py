"""The audit log: one JSON line for every command, accepted or refused, and for every event.

A command that cannot be audited is not carried out; restoring a host never waits for the log.
Refusals that repeat within a second are counted into one line, so that a flood of them neither
fills the disk nor pushes the history out of it. The file is opened for each line, which lets
anybody rotate it.
"""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from runtime.agent.core.state import AuditUnavailable, check_private_file, private_folder
from runtime.agent.wire.refusals import Code
from runtime.clock import HostClock

_FOLD_S = 1.0
_MOST_FOLDS = 32
_LONGEST_NAME = 64
_LONGEST_TEXT = 400
_MODE = 0o640

Detail = str | int | bool | None


@dataclass(slots=True)
class _Fold:
    """Refusals of one kind since the line that reported the first of them."""

    since_s: float
    more: int = 0


class AuditLog:
    """Appends lines of bounded length to a file of bounded size; one older file is kept."""

    def __init__(self, path: Path, max_bytes: int, clock: HostClock) -> None:
        private_folder(path.parent)
        check_private_file(path)
        self.path = path
        self._older = path.with_name(path.name + ".1")
        self._max_bytes = max_bytes
        self._clock = clock
        self._folds: dict[tuple[str, str, Code], _Fold] = {}
        self.problem: str | None = None
        """Why the last line could not be written; None once one could."""

    def accepted(self, caller: str, action: str, **details: Detail) -> None:
        """Must be on record before the command is carried out: raises `AuditUnavailable`."""
        self._append(
            "accepted", {"caller": _bounded(caller, _LONGEST_NAME), "action": action, **details}
        )

    def refused(self, caller: str, action: str, code: Code, message: str) -> None:
        """Never raises: what was refused changes nothing, recorded or not."""
        now_s = self._clock.boot_s()
        self._settle(now_s)
        key = (_bounded(caller, _LONGEST_NAME), action, code)
        if key not in self._folds and len(self._folds) >= _MOST_FOLDS:
            key = ("*", "*", code)
        fold = self._folds.get(key)
        if fold is not None:
            fold.more += 1
            return
        self._folds[key] = _Fold(now_s)
        self._try_append(
            "refused", {"caller": key[0], "action": key[1], "code": code, "message": message}
        )

    def event(self, name: str, **details: Detail) -> None:
        """Something that happened; never raises, since restoring goes on without a log."""
        self._try_append(name, details)

    def flush(self) -> None:
        """Report the repeats whose second is over; called with every tick."""
        self._settle(self._clock.boot_s())

    def close(self) -> None:
        """Report all repeats."""
        self._settle(float("inf"))

    def _settle(self, now_s: float) -> None:
        over = [key for key, fold in self._folds.items() if now_s - fold.since_s >= _FOLD_S]
        for key in over:
            more = self._folds.pop(key).more
            if more:
                caller, action, code = key
                self._try_append(
                    "refused", {"caller": caller, "action": action, "code": code, "repeats": more}
                )

    def _try_append(self, event: str, details: Mapping[str, Detail]) -> None:
        try:
            self._append(event, details)
        except AuditUnavailable:
            return  # `problem` tells; there is nowhere else to write it

    def _append(self, event: str, details: Mapping[str, Detail]) -> None:
        line: dict[str, Detail] = {
            "at_ms": round(self._clock.wall_s() * 1000),
            "pid": os.getpid(),
            "event": event,
        }
        for key, value in details.items():
            line[key] = _bounded(value, _LONGEST_TEXT) if isinstance(value, str) else value
        try:
            self._write(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            unavailable = AuditUnavailable(self.path, error)
            self.problem = str(unavailable)
            raise unavailable from error
        self.problem = None

    def _write(self, line: bytes) -> None:
        size = self._size()
        if size and size + len(line) > self._max_bytes:
            self.path.replace(self._older)
            size = 0
        # No link is followed: the log never writes anywhere else.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, _MODE)
        try:
            if not size:
                os.fchmod(descriptor, _MODE)
            if os.write(descriptor, line) != len(line):
                os.ftruncate(descriptor, size)  # half a line would spoil the next one too
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)

    def _size(self) -> int:
        try:
            return self.path.lstat().st_size
        except FileNotFoundError:
            return 0


def _bounded(text: str, longest: int) -> str:
    """Short, and free of the lone surrogates that JSON cannot carry."""
    return text[:longest].encode("utf-8", "replace").decode()
