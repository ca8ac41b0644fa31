"""Files that come into a folder: their bytes are counted, and batches teach the rows of a byte.

The folder is one of the driver's own file system. Elsewhere, behind a pattern, or with more files
than can be listed in every step, there is no counter and the batches tell. Which files a batch has
read stands in the checkpoint, where Spark keeps it to read none twice.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import msgspec

from runtime.spark.sensing.offsets import Offset
from runtime.spark.sensing.sources.contract import SourceCount, SourceInfo

MOST_FILES = 20_000
"""Listing so many takes a tenth of a second on a local disk."""
LARGEST_LOG_BYTES = 16 << 20
_PATTERN = frozenset("*?[{")
_SMOOTHING = 0.5
"""Weight of the newest batch in the rows of a byte: files of a stream are alike."""


class _LogEntry(msgspec.Struct, rename="camel"):
    path: str
    batch_id: int


class FolderCounter:
    def __init__(self, source: SourceInfo) -> None:
        inside = source.description.removeprefix("FileStreamSource[").removesuffix("]")
        if _PATTERN & set(inside):
            raise ValueError(f"{inside} is a pattern, not one folder")
        self._folder = Path(_local(inside))
        self._log: Path | None = None
        if source.checkpoint is not None:
            self._log = Path(_local(source.checkpoint), "sources", str(source.place))
        self._sizes: dict[Path, int] = {}
        """Of every file that was seen and is still there."""
        self._taken: set[Path] = set()
        """Of those, the ones that batches which have ended have read."""
        self._read_batch: int | None = None
        self._arrived_bytes = 0
        self._arrived_rows = 0.0
        self._rows_per_byte: float | None = None

    def reached(self, _offset: Offset) -> None:
        """The number of a batch, whose files may not be read yet."""

    def finished(self, offset: Offset, rows: int) -> None:
        batch = offset.get(("logOffset",))
        if batch is None or self._log is None or batch == self._read_batch:
            return
        taken = dict(_entries(self._log, batch, self._read_batch))
        self._read_batch = batch
        self._taken |= taken.keys()
        read_bytes = sum(_size(path) for path, taken_by in taken.items() if taken_by == batch)
        if rows and read_bytes:
            learned = rows / read_bytes
            before = learned if self._rows_per_byte is None else self._rows_per_byte
            self._rows_per_byte = before + _SMOOTHING * (learned - before)

    def count(self, _wall_s: float) -> SourceCount | None:
        self._look()
        if self._rows_per_byte is None:
            return None
        # Growth is priced when it is seen, so that a better price never takes rows back.
        self._arrived_rows += self._arrived_bytes * self._rows_per_byte
        self._arrived_bytes = 0
        waiting = sum(size for path, size in self._sizes.items() if path not in self._taken)
        return SourceCount(self._arrived_rows, waiting * self._rows_per_byte)

    def _look(self) -> None:
        sizes: dict[Path, int] = {}
        for path in _files(self._folder):
            # A file may be written while it is there, and may be replaced by a shorter one.
            sizes[path] = max(_size(path), self._sizes.get(path, 0))
            if len(sizes) > MOST_FILES:
                raise ValueError(f"more than {MOST_FILES} files in {self._folder}")
        self._arrived_bytes += sum(size - self._sizes.get(path, 0) for path, size in sizes.items())
        self._sizes = sizes
        self._taken &= sizes.keys()


def _files(folder: Path) -> Iterator[Path]:
    """Those that Spark would read: in folders of partitions too, and no hidden ones."""
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _hidden(name)]
        yield from (Path(at, name) for name in names if not _hidden(name))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # moved away since it was listed, as cleanSource does
        return 0


def _entries(log: Path, newest: int, known: int | None) -> Iterator[tuple[Path, int]]:
    """Files by the batch that took them, from the newest batch down to the last one known.

    A compacted file has those of all batches before it too.
    """
    for batch in range(newest, -1 if known is None else known, -1):
        compacted = log / f"{batch}.compact"
        is_compacted = compacted.exists()
        yield from _read(compacted if is_compacted else log / str(batch))
        if is_compacted:
            return


def _read(path: Path) -> Iterator[tuple[Path, int]]:
    if path.stat().st_size > LARGEST_LOG_BYTES:
        raise ValueError(f"{path} is too large to be read at a step")
    for line in path.read_bytes().splitlines()[1:]:  # the first is the version
        entry = msgspec.json.decode(line, type=_LogEntry)
        yield Path(unquote(_local(entry.path))), entry.batch_id


def _local(uri: str) -> str:
    """The path in the driver's own file system; `ValueError` for another."""
    scheme, separator, path = uri.partition(":")
    if not separator:
        return uri
    if scheme != "file" or (path.startswith("//") and not path.startswith("///")):
        raise ValueError(f"{uri} is not in the driver's own file system")
    return "/" + path.lstrip("/")
