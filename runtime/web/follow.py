"""Reads a journal beside its writer: what is in it, and then what is added.

Follows the change of files when one has grown to its size. A line that is still being written is
left for the next look.
"""

import os
from collections import deque
from pathlib import Path

import msgspec

from runtime.control.journal import NAME, OLDER_NAME, StepRecord, decode


class JournalTail:
    """`poll` gives the records that are new since the last call."""

    def __init__(self, folder: Path, first: int | None = None) -> None:
        """`first`: how many of the last lines the first call reads; None: all."""
        self._current = folder / NAME
        self._older = folder / OLDER_NAME
        self._first = first
        self._inode: int | None = None
        self._offset = 0

    def poll(self) -> list[StepRecord]:
        lines: deque[bytes] = deque(maxlen=self._first)
        self._first = None
        try:
            inode = self._current.stat().st_ino
        except FileNotFoundError:
            inode = None
        if inode != self._inode:
            # Its rest is in the older file now, unless that has been replaced as well.
            started_with = self._inode
            if started_with is None or _inode(self._older) == started_with:
                self._read(self._older, lines)
            self._inode, self._offset = inode, 0
        if inode is not None:
            self._offset = self._read(self._current, lines)
        return [record for line in lines if (record := _record(line)) is not None]

    def _read(self, path: Path, lines: deque[bytes]) -> int:
        """Whole lines from the offset on; returns the offset after them."""
        offset = self._offset
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return offset
        with file:
            if os.fstat(file.fileno()).st_size < offset:
                offset = 0
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                offset += len(line)
                lines.append(line)
        return offset


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _record(line: bytes) -> StepRecord | None:
    try:
        return decode(line)
    except (msgspec.DecodeError, ValueError, TypeError):
        return None
