"""Which counter counts which source, one line each; those of other distributions are found through
the entry points `foresight.sources`.

Spark's rate-micro-batch source has none: its rows come into being when a batch begins, so the batch
is who knows. Others' are told by the progress of the batches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from forecasting.third_party import Discovery, discover
from runtime.spark.sensing.sources.contract import SourceCounter, SourceInfo

GROUP = "foresight.sources"


@dataclass(frozen=True, slots=True)
class SourceEntry:
    name: str
    """`SourceInfo.kind` of the sources it counts."""
    counter: str
    """Where the function or class is that makes a counter of a `SourceInfo`,
    "package.module:Class"."""

    def build(self, source: SourceInfo) -> SourceCounter:
        module, _, attribute = self.counter.partition(":")
        builder: Callable[[SourceInfo], SourceCounter] = getattr(import_module(module), attribute)
        return builder(source)


_HERE = "runtime.spark.sensing.sources"
_OWN = (
    SourceEntry("RateStream", f"{_HERE}.rate:RateCounter"),
    SourceEntry("FileStreamSource", f"{_HERE}.files:FolderCounter"),
    SourceEntry("KafkaTable", f"{_HERE}.kafka:KafkaCounter"),
)


@cache
def third_party_sources() -> Discovery[SourceEntry]:
    return discover(GROUP, SourceEntry, check_third_party_source)


def counter_of(source: SourceInfo) -> SourceCounter | None:
    """None where nobody can count it. Raises whatever a counter raises that does not understand
    the source."""
    for entry in (*_OWN, *third_party_sources().usable):
        if entry.name == source.kind:
            return entry.build(source)
    return None


def check_third_party_source(entry: SourceEntry) -> None:
    if any(entry.name == own.name for own in _OWN):
        raise ValueError(f"{entry.name} is counted by Foresight itself")
    if ":" not in entry.counter:
        raise ValueError(f'counter must be "module:Class", got {entry.counter!r}')
