"""The journal of originals: what this boot's limits were before the agent changed them.

It is made durable before the first write and an entry leaves it only after the read-back agreed,
so that it always covers at least what may be changed. The lease epoch lives in the same file. A
journal of another boot is void, since the kernel has its defaults back, but its epoch goes on. A
corrupt one is never overwritten: without it nobody knows the originals.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from energy.cpufreq.originals import Original, Written
from runtime.agent.core.state import (
    JournalCorrupt,
    JournalUnavailable,
    StateLock,
    check_private_file,
)
from runtime.agent.wire.messages import PolicyName
from runtime.files import ReplacedFile

_LONGEST = 16 * 1024 * 1024
_CHECK = b"\n%08x\n"
"""After the content: one wrong digit would otherwise be restored like any other frequency."""


@dataclass(frozen=True, slots=True)
class OriginalsEntry:
    """One policy the agent changed, or was about to change."""

    original: Original
    written: Written


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    boot_id: str
    epoch: Annotated[int, msgspec.Meta(ge=0)]
    entries: dict[PolicyName, OriginalsEntry]


@dataclass(frozen=True, slots=True)
class RecordedOriginals:
    """What an earlier start left behind."""

    epoch: int | None
    """The last epoch; None where there was no journal."""
    entries: Mapping[str, OriginalsEntry]
    void: int
    """Entries of another boot, which mean nothing any more."""


class OriginalsJournal:
    """One file, replaced whole; every save is durable when it returns.

    Only who holds the lock of the folder has a journal, so that no two processes write one.
    """

    def __init__(self, lock: StateLock, boot_id: str) -> None:
        self.path = lock.folder / "journal.json"
        self._file = ReplacedFile(self.path, durable=True)
        self._boot_id = boot_id

    def load(self) -> RecordedOriginals:
        check_private_file(self.path)
        try:
            with self.path.open("rb") as file:
                data = file.read(_LONGEST + 1)
        except FileNotFoundError:
            return RecordedOriginals(None, {}, 0)
        except OSError as error:
            raise JournalUnavailable(self.path, error) from error
        if len(data) > _LONGEST:
            raise JournalCorrupt(self.path, "too long")
        try:
            content = msgspec.json.decode(_without_checksum(data), type=_File)
        except (ValueError, msgspec.DecodeError, RecursionError) as error:
            raise JournalCorrupt(self.path, str(error)) from error
        for name, entry in content.entries.items():
            if entry.original.policy != name:
                raise JournalCorrupt(self.path, f"{name} holds the entry of another policy")
        if content.boot_id != self._boot_id:
            return RecordedOriginals(content.epoch, {}, len(content.entries))
        return RecordedOriginals(content.epoch, content.entries, 0)

    def save(self, epoch: int, entries: Mapping[str, OriginalsEntry]) -> None:
        """Replace the journal; after an error the old or the new one is there, never a mixture."""
        data = msgspec.json.encode(_File(1, self._boot_id, epoch, dict(entries)))
        try:
            self._file.replace(data + _CHECK % zlib.crc32(data))
        except OSError as error:
            raise JournalUnavailable(self.path, error) from error


def _without_checksum(data: bytes) -> bytes:
    content, check = data[: -len(_CHECK % 0)], data[-len(_CHECK % 0) :]
    if check != _CHECK % zlib.crc32(content):
        raise ValueError("the checksum does not fit")
    return content
