"""A captured sysfs tree, as it was and nothing more: no model answers for what was not captured."""

import errno
import os


class CapturedTree:
    """Lines of `ro|/path|value`, as a tree that nobody can write."""

    def __init__(self, text: str) -> None:
        self._values = parse_capture(text)
        self._folders: dict[str, set[str]] = {}
        for path in self._values:
            self._enter(path)

    def read(self, path: str) -> str:
        if path not in self._values:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._values[path] + "\n"

    def write(self, path: str, text: str) -> None:
        raise OSError(errno.EROFS, f"a capture takes no {text!r}", path)

    def names(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(self._folders.get(path, ())))

    def mode(self, path: str) -> int | None:
        if path in self._folders:
            return 0o555
        return 0o444 if path in self._values else None

    def _enter(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        if parent not in self._folders and parent:
            self._enter(parent)
        self._folders.setdefault(parent, set()).add(name)


def parse_capture(text: str) -> dict[str, str]:
    """Values by path, without line ends; blanks at their ends are part of them."""
    values: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        access, path, value = (*line.split("|", 2), "", "")[:3]
        if access not in {"ro", "rw"} or not path.startswith("/sys/"):
            raise ValueError(f"line {number}: must be ro|/sys/...|value or rw|..., got {line!r}")
        values[path] = value
    return values
