"""Files that are replaced whole: whoever looks finds the old content or the new, never a mixture.

The new content is written beside the file and renamed over it. Nobody else can have prepared that
second file: it is made anew, and no link is followed.
"""

import os
from pathlib import Path


class ReplacedFile:
    """One such file. A `durable` one is on the disk, with its name, when `replace` returns."""

    def __init__(self, path: Path, mode: int = 0o600, durable: bool = False) -> None:
        self._path = path
        self._new = path.with_name(f"{path.name}.new")
        self._mode = mode
        self._durable = durable

    def replace(self, data: bytes) -> None:
        """Raises `OSError`; the old or the new content is there then."""
        self._write(data)
        self._rename()
        if self._durable:
            self._sync_folder()

    def _write(self, data: bytes) -> None:
        self._new.unlink(missing_ok=True)  # left by a crash
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._new, flags, self._mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, self._mode)  # whatever the umask is
                file.write(data)
                file.flush()
                if self._durable:
                    os.fsync(descriptor)
        except OSError:
            self._new.unlink(missing_ok=True)
            raise

    def _rename(self) -> None:
        self._new.replace(self._path)

    def _sync_folder(self) -> None:
        descriptor = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_file(path: Path, data: bytes, mode: int = 0o600, durable: bool = False) -> None:
    ReplacedFile(path, mode, durable).replace(data)
