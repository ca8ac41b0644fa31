"""Count windows per symbol: the newest 1,000 quotes, every 25 quotes (De Matteis and Mencagli 2016,
section 5.1).

One call advances all the symbols of a partition by the quotes of a micro-batch. It is pure: the
windows are behind a small store, which on Spark is the state store. Nothing is aggregated here.

State is split by how often it changes. Reading and writing one window costs a round trip each to
the JVM and tens of kilobytes, so windows are touched only every `slide` quotes of their symbol;
what came since is *pending*, small, and one value for all symbols together.

Deviation from the paper: a symbol triggers for the first time when its window is full.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmarks.hft.pipeline.records import ARRIVAL, HELD, Records, unpack, window_records
from mpc.values import IntArray


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """How many quotes a window holds, and after how many more it triggers again."""

    size: int = 1_000
    slide: int = 25

    def __post_init__(self) -> None:
        if not 1 <= self.slide <= self.size:
            raise ValueError(
                f"windows need 1 <= slide <= size, got slide {self.slide}, size {self.size}"
            )


class WindowStore(Protocol):
    """Where the quotes of the unfinished windows rest between two micro-batches."""

    def read(self, symbol: int) -> Records:
        """What was written last for the symbol; empty at first."""

    def write(self, symbol: int, quotes: Records) -> None: ...


@dataclass(frozen=True, slots=True)
class Span:
    """Every window of one symbol that a micro-batch completed.

    They overlap, so their quotes are given once: window k is quotes[k·slide : k·slide + size].
    """

    symbol: int
    quotes: Records
    end_seqs: IntArray
    """`seq` of the last quote of every window, which is its identity."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Quotes that are in no stored window yet, and how many quotes each stored window has."""

    symbols: IntArray
    """Ascending: every symbol that has a stored window."""
    stored: IntArray
    quotes: Records

    def pack(self) -> bytes:
        header = np.concatenate(([len(self.symbols)], self.symbols, self.stored)).astype("<i4")
        return bytes(header.tobytes() + self.quotes.tobytes())

    @staticmethod
    def unpacked(packed: bytes) -> "Pending":
        count = int(np.frombuffer(packed, dtype="<i4", count=1)[0])
        header = np.frombuffer(packed, dtype="<i4", count=1 + 2 * count)
        return Pending(
            symbols=header[1 : 1 + count].astype(np.int64),
            stored=header[1 + count :].astype(np.int64),
            quotes=unpack(packed[header.nbytes :], ARRIVAL),
        )


NOTHING_PENDING = Pending(
    np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=ARRIVAL)
)


def advance(
    pending: Pending, quotes: Records, store: WindowStore, options: WindowOptions
) -> tuple[Pending, tuple[Span, ...]]:
    """Take in the quotes of one micro-batch, in any order; their `seq` gives the order back."""
    waiting = np.concatenate((pending.quotes, quotes))
    waiting = waiting[np.lexsort((waiting["seq"], waiting["symbol"]))]
    present, starts, counts = np.unique(waiting["symbol"], return_index=True, return_counts=True)
    stored = _stored_counts(pending, present)
    # Before its first window is full a symbol does not trigger, but its quotes are still put
    # away every slide, so that pending stays small.
    touched = (stored + counts >= options.size) | (counts >= options.slide)
    spans: list[Span] = []
    for index in np.flatnonzero(touched):
        symbol = int(present[index])
        arrivals = waiting[starts[index] : starts[index] + counts[index]]
        kept, span = _slide(symbol, store.read(symbol), arrivals, options)
        store.write(symbol, kept)
        stored[index] = len(kept)
        if span is not None:
            spans.append(span)
    return (
        _merged(pending, present[touched], stored[touched], waiting[~np.repeat(touched, counts)]),
        tuple(spans),
    )


def windows_of(span: Span, options: WindowOptions) -> Iterator[Records]:
    """The windows of a span, oldest first, as views."""
    for index in range(len(span.end_seqs)):
        start = index * options.slide
        yield span.quotes[start : start + options.size]


def _slide(
    symbol: int, before: Records, arrivals: Records, options: WindowOptions
) -> tuple[Records, Span | None]:
    """Append, cut off the windows that are complete, keep what the next one needs."""
    joined = np.concatenate((before, window_records(arrivals)))
    complete = (len(joined) - options.size) // options.slide + 1
    if complete < 1:
        return joined, None
    end = options.size + (complete - 1) * options.slide
    # At most size - 1 quotes are ever kept, so every window ends in the arrivals.
    ends = options.size - 1 - len(before) + options.slide * np.arange(complete)
    span = Span(symbol, joined[:end], arrivals["seq"][ends].astype(np.int64))
    return joined[complete * options.slide :], span


def _stored_counts(pending: Pending, symbols: IntArray) -> IntArray:
    counts = np.zeros(len(symbols), dtype=np.int64)
    _, here, there = np.intersect1d(
        symbols, pending.symbols, assume_unique=True, return_indices=True
    )
    counts[here] = pending.stored[there]
    return counts


def _merged(pending: Pending, symbols: IntArray, stored: IntArray, quotes: Records) -> Pending:
    untouched = ~np.isin(pending.symbols, symbols, assume_unique=True)
    all_symbols = np.concatenate((pending.symbols[untouched], symbols)).astype(np.int64)
    all_stored = np.concatenate((pending.stored[untouched], stored))
    order = np.argsort(all_symbols)
    return Pending(all_symbols[order], all_stored[order], quotes)


class MemoryStore:
    """Windows in a dictionary: the store of tests and of a single process."""

    def __init__(self) -> None:
        self._windows: dict[int, Records] = {}

    def read(self, symbol: int) -> Records:
        return self._windows.get(symbol, np.empty(0, dtype=HELD))

    def write(self, symbol: int, quotes: Records) -> None:
        self._windows[symbol] = quotes
