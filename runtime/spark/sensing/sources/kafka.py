"""Kafka: rows of the partitions that a query reads, by the newest offsets of the brokers.

An offset is not always a row: transactions leave markers, aborted ones are skipped, compaction
leaves holes. How many rows an offset stands for is learned from the batches. A partition that is
new counts from when it is first seen: a topic that a pattern picks up with all it already holds is
a backlog, and no burst of arrivals.
"""

from runtime.spark.sensing.offsets import Offset
from runtime.spark.sensing.sources.contract import NewestOffsets, SourceCount, SourceInfo

_KEPT = 0.8
"""Of what batches told of rows and offsets, when the next one ends."""


class KafkaCounter:
    """Without `SourceInfo.newest` nobody can ask the brokers, and it raises."""

    def __init__(self, source: SourceInfo) -> None:
        if source.newest is None:
            raise ValueError("the driver gives no way to ask the brokers for their newest offsets")
        self._brokers: NewestOffsets = source.newest
        self._read: dict[tuple[str, ...], int] = {}
        """Where batches have ended, by topic and partition."""
        self._newest: Offset = {}
        self._finished: Offset | None = None
        self._arrived_offsets = 0
        self._rows, self._offsets = 0.0, 0.0

    def reached(self, offset: Offset) -> None:
        for path in offset:
            self._read.setdefault(path, offset[path])

    def finished(self, offset: Offset, rows: int) -> None:
        before, self._finished = self._finished, offset
        self._read = dict(offset)
        if before is None:
            return
        advanced = sum(max(number - before.get(path, number), 0) for path, number in offset.items())
        if advanced:
            self._rows = _KEPT * self._rows + rows
            self._offsets = _KEPT * self._offsets + advanced

    def count(self, _wall_s: float) -> SourceCount | None:
        if not self._read:
            return None
        # The answer to what was asked a step ago; only a broker that is waited for can be slow.
        newest = self._brokers.answer()
        self._brokers.request(frozenset(self._read))
        if newest is None:
            newest = self._brokers.answer()
        if newest is None:
            return None
        for path, number in newest.items():
            # A topic that was made anew begins at zero; what it has by then is not known.
            self._arrived_offsets += max(number - self._newest.get(path, number), 0)
        self._newest = newest
        return SourceCount(self._arrived_offsets * self._rows_per_offset, self._unfinished())

    @property
    def _rows_per_offset(self) -> float:
        return self._rows / self._offsets if self._offsets else 1.0

    def _unfinished(self) -> float | None:
        if self._finished is None:
            return None
        waiting = sum(
            max(number - self._finished[path], 0)
            for path, number in self._newest.items()
            if path in self._finished
        )
        return waiting * self._rows_per_offset
