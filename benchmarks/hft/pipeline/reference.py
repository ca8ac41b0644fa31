"""The trading pipeline as plainly as it can be written: one thread, one quote after the other.

It is what the output of the distributed pipeline must equal. Windows and aggregation are written
anew, with lists and dictionaries; the regression is the same, and has its own tests.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.hft.pipeline.fit import FitOptions, Points, fit
from benchmarks.hft.pipeline.windows import WindowOptions


@dataclass(frozen=True, slots=True)
class Quote:
    seq: int
    ts_us: int
    symbol: int
    bid: float | None
    ask: float | None


@dataclass(frozen=True, slots=True)
class ExpectedPrediction:
    """One window: who, which, due when, and the prices it predicts."""

    symbol: int
    end_seq: int
    due_us: int
    bid: float | None
    ask: float | None


def reference(
    quotes: Iterable[Quote], windows: WindowOptions, fitting: FitOptions
) -> tuple[ExpectedPrediction, ...]:
    """The windows of quotes in stream order, in the order in which they trigger."""
    newest: dict[int, deque[Quote]] = {}
    seen: dict[int, int] = {}
    found = []
    for quote in quotes:
        window = newest.setdefault(quote.symbol, deque(maxlen=windows.size))
        window.append(quote)
        count = seen[quote.symbol] = seen.get(quote.symbol, 0) + 1
        if count >= windows.size and (count - windows.size) % windows.slide == 0:
            target = quote.ts_us // fitting.interval_us + fitting.ahead_intervals
            found.append(
                ExpectedPrediction(
                    symbol=quote.symbol,
                    end_seq=quote.seq,
                    due_us=quote.ts_us,
                    bid=_predicted([(q.ts_us, q.bid) for q in window], target, fitting),
                    ask=_predicted([(q.ts_us, q.ask) for q in window], target, fitting),
                )
            )
    return tuple(found)


def _predicted(
    prices: list[tuple[int, float | None]], target: int, fitting: FitOptions
) -> float | None:
    by_interval: dict[int, list[float]] = {}
    for ts_us, price in prices:
        if price is not None:
            by_interval.setdefault(ts_us // fitting.interval_us, []).append(price)
    if not by_interval:
        return None
    points = Points(
        interval=np.array(list(by_interval), dtype=np.int64),
        price=np.array([sum(values) / len(values) for values in by_interval.values()]),
    )
    return fit(points, fitting.degree).at(target)
