"""The journal: one JSON line for every control step, from which each decision can be replayed.

Measurement and decision read back exactly as they were. A line is handed to the kernel before the
next step begins, so that a crash of the driver loses none; a file that has grown to its size
becomes the older one, and the older one before it goes.
"""

import fcntl
import math
import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
import numpy as np

from mpc.bounds import Bounds
from mpc.events import Event
from mpc.values import Applied, Configuration, Decision, Measurement
from runtime.control.cluster import StartUpSamples

NAME = "journal.jsonl"
OLDER_NAME = "journal.1.jsonl"
LOCK_NAME = "lock"


class JournalInUse(Exception):
    """Another controller writes here; two would make one history of two applications."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"journal folder {folder} is in use by another controller: give this application "
            "another name or another journal.folder"
        )


@dataclass(frozen=True, slots=True)
class Resumption:
    """How the controller came to its first step after a restart."""

    records: int
    """Of the journal, which it learned from."""
    saved_step: int | None
    """The step after which its policy had been saved; None: all the records were replayed."""
    missed: int
    """Steps that nobody measured."""
    remembered: bool = False
    """It also knew other days, from a file that has seen more than the journal holds."""


@dataclass(frozen=True, slots=True, eq=False)
class StepRecord:
    """One step: what was known, allowed, decided, requested and running."""

    at_s: float
    """Wall clock, seconds since 1970."""
    mode: Literal["control", "advise"]
    measurement: Measurement
    bounds: Bounds
    """What could be chosen."""
    decision: Decision
    """The policy's own."""
    target: Configuration
    """What could be applied of it."""
    applied: Applied
    dead_time_s: float
    """What the policy planned with."""
    took_s: float | None = None
    """Time from the start of the step until everything was applied."""
    events: tuple[Event, ...] = ()
    queries: tuple[Mapping[str, Any], ...] = ()
    """Figures of each streaming query, for people."""
    start_up: StartUpSamples = field(default_factory=StartUpSamples)
    resumption: Resumption | None = None
    """In the first record after a restart."""
    consulted: bool = True
    """False: the controller was not there yet; it learned from the measurement afterwards."""


class StepJournal:
    """Appends to the journal of one folder; raises `JournalInUse` where somebody else does."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / NAME
        self._older = folder / OLDER_NAME
        self._max_bytes = max_bytes
        # The kernel drops the lock with the process, however it ends.
        self._lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise JournalInUse(folder) from None
        try:
            self._file = self._open()
        except OSError:
            os.close(self._lock)
            raise

    def append(self, record: StepRecord) -> None:
        """Raises `OSError` where the line cannot be written; the next one may succeed."""
        line = encode(record) + b"\n"
        size = os.fstat(self._file).st_size
        if size and size + len(line) > self._max_bytes:
            self.path.replace(self._older)
            os.close(self._file)
            self._file = self._open()
            size = 0
        if os.write(self._file, line) != len(line):
            os.ftruncate(self._file, size)  # half a line would spoil the next one too
            raise OSError("no space left for a whole line")

    def recent(self, count: int) -> tuple[StepRecord, ...]:
        """The records of the last `count` lines, oldest first."""
        return recent(self.path.parent, count)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            os.close(self._lock)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> int:
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        # A machine that lost power may leave half a line; it must not swallow the next one.
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            os.write(descriptor, b"\n")
        return descriptor


def recent(folder: Path, count: int) -> tuple[StepRecord, ...]:
    """Those of the last `count` lines that are records, oldest first; for readers beside the
    writer too."""
    if count <= 0:
        return ()
    lines = deque(_lines(folder), maxlen=count)
    return tuple(record for line in lines if (record := _decoded(line)) is not None)


def read(folder: Path) -> Iterator[StepRecord]:
    """Every record, oldest first. Torn and foreign lines are skipped."""
    for line in _lines(folder):
        record = _decoded(line)
        if record is not None:
            yield record


def read_lines(folder: Path) -> Iterator[StepRecord | None]:
    """Every line, oldest first; None for one that is no record."""
    return (_decoded(line) for line in _lines(folder))


def _lines(folder: Path) -> Iterator[bytes]:
    for path in (folder / OLDER_NAME, folder / NAME):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            continue
        with file:
            yield from file


def encode(record: StepRecord) -> bytes:
    """Without a line end."""
    return msgspec.json.encode(_finite(msgspec.to_builtins(record, enc_hook=_plain)))


def decode(line: bytes) -> StepRecord:
    """Raises `msgspec.DecodeError` for anything but a record."""
    document = msgspec.json.decode(line)
    # Not strict, so that the text "inf" is a float again.
    return msgspec.convert(document, StepRecord, strict=False, dec_hook=_array)


def _decoded(line: bytes) -> StepRecord | None:
    try:
        return decode(line)
    except (msgspec.DecodeError, ValueError, TypeError):
        return None


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        plain: object = value.tolist()
        return plain
    raise TypeError(f"no JSON form for {type(value).__name__}")


def _finite(value: object) -> object:
    """JSON has no infinity; msgspec would silently write null."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def _array(kind: Any, value: object) -> object:
    """An array of the declared element type: `NDArray[np.float64]` or `NDArray[np.int64]`."""
    if getattr(kind, "__origin__", None) is not np.ndarray:
        raise TypeError(f"no such field {kind!r}")
    (_, element) = kind.__args__
    return np.asarray(value, dtype=np.dtype(element.__args__[0]))
