"""The windows in Spark's state store: the one stateful stage, through transformWithState.

One group holds all the symbols of a state partition, in two state variables: *pending*, read and
written once a micro-batch, and *windows*, a map from symbol to packed quotes of which only the
symbols that trigger are touched. A group for each symbol would cost three round trips to the JVM
for every symbol of every micro-batch.

Of Spark's two interfaces this is the one of rows: with packed quotes a group has a handful of
rows, and the other one (pandas) would take them apart one by one just the same.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.hft.pipeline.records import ARRIVAL, HELD, Records, unpack
from benchmarks.hft.pipeline.windows import NOTHING_PENDING, Pending, WindowOptions, advance

SPAN_DDL = "symbol INT, quotes BINARY, end_seqs BINARY"


class WindowProcessor(StatefulProcessor):
    """The windows of one state partition; it is the `WindowStore` of its own windows."""

    def __init__(self, options: WindowOptions) -> None:
        self._options = options

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._pending = handle.getValueState("pending", "packed BINARY")
        self._windows = handle.getMapState("windows", "symbol INT", "packed BINARY")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        packed = self._pending.get()
        pending = NOTHING_PENDING if packed is None else Pending.unpacked(bytes(packed[0]))
        quotes = np.concatenate([unpack(bytes(row.quotes), ARRIVAL) for row in rows])
        pending, spans = advance(pending, quotes, self, self._options)
        self._pending.update((pending.pack(),))
        for span in spans:
            yield Row(
                symbol=span.symbol,
                quotes=span.quotes.tobytes(),
                end_seqs=span.end_seqs.tobytes(),
            )

    def read(self, symbol: int) -> Records:
        packed = self._windows.getValue((symbol,))
        return unpack(b"" if packed is None else bytes(packed[0]), HELD)

    def write(self, symbol: int, quotes: Records) -> None:
        self._windows.updateValue((symbol,), (quotes.tobytes(),))
