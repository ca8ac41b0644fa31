"""A stream of quotes as a function of an index range: the same rows wherever they are asked for.

The Spark source asks for the range of a partition on an executor, the single-threaded reference
for all of it; a range is made in time proportional to its length, without the quotes before it.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from benchmarks.hft.stream.schedule import QuoteSchedule
from benchmarks.hft.stream.schema import QUOTE_SCHEMA, TS
from mpc.values import IntArray


class Content(Protocol):
    def columns(self, first: int, due_us: IntArray) -> list[pa.Array]:
        """Symbol, bid, ask, bid size and ask size of as many quotes as there are due times."""
        ...


@dataclass(frozen=True, slots=True)
class QuoteStream:
    schedule: QuoteSchedule
    content: Content
    quotes: int | None
    """How many there are; None for a stream without end."""

    def due_by(self, now_us: int, epoch_us: int) -> int:
        """How many quotes are due at wall time `now_us` when the stream started at `epoch_us`."""
        due = self.schedule.due_by(now_us - epoch_us)
        return due if self.quotes is None else min(due, self.quotes)

    def record_batch(self, first: int, last: int, epoch_us: int) -> pa.RecordBatch:
        """Quotes `first` to `last` - 1 in QUOTE_SCHEMA."""
        due_us = self.schedule.due_us(first, last)
        seq = pa.array(np.arange(first, last, dtype=np.int64))
        ts = pa.array(due_us + epoch_us).cast(QUOTE_SCHEMA.field(TS).type)
        columns = [seq, ts, *self.content.columns(first, due_us)]
        return pa.RecordBatch.from_arrays(columns, schema=QUOTE_SCHEMA)
