"""The port through which the sensor asks a source what has come by now.

A micro-batch engine learns what arrived when it begins a batch and says so when the batch ends; in
between nobody knows, unless the source itself is asked. A counter lives in the controller's
process, which need not be the application's: all it gets is what the driver's JVM knows of the
source. That is enough where rows can be counted from outside: a schedule, a folder, a topic.

Counters count what *has* come. One that told what will come would make every forecast look right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from runtime.spark.sensing.offsets import Offset


class NewestOffsets(Protocol):
    """Asks where a source ends by now, without waiting for the answer. Any call may raise."""

    def request(self, partitions: frozenset[tuple[str, ...]], /) -> None:
        """For these paths of an offset; nothing happens while an answer is under way."""
        ...

    def answer(self) -> Offset | None:
        """To the last request, once; None: it has not come yet, or nobody asked."""
        ...


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """One source of one run of a query, as the driver knows it."""

    kind: str
    """The name of its format where it is written in Python; otherwise what Spark calls it, such as
    `RateStream`, `KafkaTable` or `FileStreamSource`."""
    description: str
    """As in the query's progress."""
    options: Mapping[str, str]
    """Of the reader; keys in lower case. Empty where the driver does not keep them."""
    place: int = 0
    """Its index among the query's sources, in progress and in the checkpoint."""
    checkpoint: str | None = None
    """Folder of the query's checkpoint, a URI."""
    began_s: float | None = None
    """When the source began, seconds since 1970, where the driver knows it."""
    newest: NewestOffsets | None = None
    """Asks where it ends by now, where that can be asked from the driver's JVM."""


@dataclass(frozen=True, slots=True)
class SourceCount:
    """What a source knows at one moment."""

    arrived_rows: float
    """That have come so far, counted from any fixed beginning: only the growth means something."""
    unfinished_rows: float | None
    """Of them, those in no batch that has ended; None: not known."""


class SourceCounter(Protocol):
    """Built with a `SourceInfo`, for one run of a query. Any call may raise: the progress of the
    batches then tells, and the counter is asked again in the next step."""

    def reached(self, offset: Offset, /) -> None:
        """The batch that runs ends there. Told in every step until `count` has answered: it is
        what a query knows of its source before its first batch has ended."""
        ...

    def finished(self, offset: Offset, rows: int, /) -> None:
        """A batch has ended there; it took so many rows of this source."""
        ...

    def count(self, wall_s: float, /) -> SourceCount | None:
        """By `wall_s`, seconds since 1970. Never falls, unless the source was made anew; never
        ahead of what has come. None: it cannot be told yet."""
        ...
