"""How many quotes of a replay have come by now: what its schedule has due since it started.

The controller knows the options of the source, and its start by any offset of the query, so it can
open the same stream in its own process. Quotes are due on the wall clock; one that is due has come,
whether a batch has read it or not.
"""

from benchmarks.hft.stream.replay import opened, parsed
from runtime.spark.sensing.offsets import Offset
from runtime.spark.sensing.sources.contract import SourceCount, SourceInfo

_INDEX = ("index",)
_EPOCH = ("epoch_us",)


class QuotesCounter:
    def __init__(self, source: SourceInfo) -> None:
        self._stream = opened(parsed(source.options))
        self._epoch_us: int | None = None
        self._finished = 0

    def reached(self, offset: Offset) -> None:
        # Of the offset and not of the option: a restarted query goes on from its checkpoint.
        self._epoch_us = offset.get(_EPOCH, self._epoch_us)

    def finished(self, offset: Offset, _rows: int) -> None:
        self.reached(offset)
        self._finished = offset.get(_INDEX, self._finished)

    def count(self, wall_s: float) -> SourceCount | None:
        if self._epoch_us is None:
            return None
        due = self._stream.due_by(int(wall_s * 1e6), self._epoch_us)
        return SourceCount(due, max(due - self._finished, 0))
