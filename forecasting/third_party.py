"""What other distributions add: objects behind the entry points of a group.

One that cannot be loaded is set aside with the reason and the name of its distribution; it never
stops the others.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    @property
    def name(self) -> str: ...


Found = TypeVar("Found", bound=Named)


@dataclass(frozen=True, slots=True)
class BrokenEntryPoint:
    name: str
    reason: str
    """With the distribution that it comes from."""


@dataclass(frozen=True, slots=True)
class Discovery(Generic[Found]):
    usable: tuple[Found, ...]
    broken: tuple[BrokenEntryPoint, ...]


def discover(group: str, kind: type[Found], check: Callable[[Found], None]) -> Discovery[Found]:
    """Every entry point of the group; `check` raises for an object that cannot be used."""
    usable: list[Found] = []
    broken: list[BrokenEntryPoint] = []
    for point in entry_points(group=group):
        try:
            found = _loaded(point, kind)
            check(found)
            _require_new(found, usable)
        except Exception as error:  # whatever a stranger's module does when it is imported
            broken.append(BrokenEntryPoint(point.name, f"{_origin(point)}: {_words(error)}"))
        else:
            usable.append(found)
    return Discovery(tuple(usable), tuple(broken))


def _loaded(point: EntryPoint, kind: type[Found]) -> Found:
    found = point.load()
    if not isinstance(found, kind):
        raise TypeError(f"{point.value} is no {kind.__name__}")
    if found.name != point.name:
        raise ValueError(f"{point.value} calls itself {found.name!r}")
    return found


def _require_new(found: Named, others: Iterable[Named]) -> None:
    if any(found.name == other.name for other in others):
        raise ValueError("another distribution has one of the same name")


def _origin(point: EntryPoint) -> str:
    dist = point.dist
    return "unknown distribution" if dist is None else f"{dist.name} {dist.version}"


def _words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
