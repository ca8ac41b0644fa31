"""The numpy records in which quotes travel between the stages and rest in the state store.

Packed records are one binary value to Spark however many quotes they hold; one row for each quote
would cost more in conversion than everything that is done with it. A price that a one-sided quote
does not have is NaN inside the records, and null or None outside.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[np.void]

ARRIVAL = np.dtype(
    [("symbol", "<i4"), ("seq", "<i8"), ("ts_us", "<i8"), ("bid", "<f8"), ("ask", "<f8")]
)
"""A quote on its way into a window."""

HELD = np.dtype([("ts_us", "<i8"), ("bid", "<f8"), ("ask", "<f8")])
"""A quote inside a window: what aggregation and fit look at, 24 bytes."""


def arrivals(
    symbol: npt.ArrayLike,
    seq: npt.ArrayLike,
    ts_us: npt.ArrayLike,
    bid: npt.ArrayLike,
    ask: npt.ArrayLike,
) -> Records:
    """Columns to records."""
    columns: dict[str, Any] = {
        "symbol": symbol,
        "seq": seq,
        "ts_us": ts_us,
        "bid": bid,
        "ask": ask,
    }
    records = np.empty(len(np.asarray(seq)), dtype=ARRIVAL)
    for name, column in columns.items():
        records[name] = column
    return records


def window_records(quotes: Records) -> Records:
    """What a window keeps of arrivals."""
    records = np.empty(len(quotes), dtype=HELD)
    for name in ("ts_us", "bid", "ask"):
        records[name] = quotes[name]
    return records


def unpack(packed: bytes, layout: np.dtype[np.void]) -> Records:
    """Read-only records over the bytes, without a copy."""
    return np.frombuffer(packed, dtype=layout)
