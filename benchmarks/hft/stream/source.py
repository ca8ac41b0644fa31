"""`spark.readStream.format("quotes")`: quotes that become due on the wall clock.

An offset is a quote index beside the wall time at which the stream started. That start is chosen
once and lives in every checkpointed offset, so a restarted query finds the backlog of the time it
was away; a slow one gets the quotes late, and none is skipped. The source reports what is due as
its latest offset: the difference to the end offset of a batch is the true backlog.
"""

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from benchmarks.hft.stream.replay import Replay, opened, parsed
from benchmarks.hft.stream.schedule import MICROSECONDS_PER_S
from benchmarks.hft.stream.schema import QUOTE_DDL, QUOTE_SCHEMA

INDEX = "index"
EPOCH = "epoch_us"
RECORD_BATCH_ROWS = 100_000
"""Larger ones leave the processor's cache while they are made, smaller ones cost more calls."""
MIN_ROWS_PER_PARTITION = 5_000
"""Below, a task costs more than its quotes."""

Offset = dict[str, Any]


def wall_clock_us() -> int:
    return time.time_ns() // 1_000


class QuotesDataSource(DataSource):
    """Register once per session: `spark.dataSource.register(QuotesDataSource)`.

    The options are the fields of `replay.Replay`.
    """

    @classmethod
    def name(cls) -> str:
        return "quotes"

    def schema(self) -> str:
        return QUOTE_DDL

    def streamReader(self, schema: StructType) -> "QuotesReader":
        if schema.names != QUOTE_SCHEMA.names:
            raise ValueError(f"quotes have their own schema, {QUOTE_DDL}; do not give another")
        replay = parsed(self.options)
        opened(replay)  # what is wrong with it is said here, not by a task
        return QuotesReader(replay)


class QuoteRange(InputPartition):
    """Quotes `first` to `last` - 1 of a stream that started at `epoch_us`."""

    def __init__(self, first: int, last: int, epoch_us: int) -> None:
        super().__init__((first, last, epoch_us))
        self.first = first
        self.last = last
        self.epoch_us = epoch_us


class QuotesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Travels to executors with every batch, so it holds the replay and not the stream."""

    def __init__(self, replay: Replay, now_us: Callable[[], int] = wall_clock_us) -> None:
        self._replay = replay
        self._now_us = now_us
        self._epoch_us: int | None = None
        self._until_us: int | None = None

    def initialOffset(self) -> Offset:
        # Asked again before every batch until one is logged: the first answer must stay.
        if self._epoch_us is None:
            next_second_us = -(-self._now_us() // MICROSECONDS_PER_S) * MICROSECONDS_PER_S
            chosen_us = self._replay.epoch_us
            self._epoch_us = next_second_us if chosen_us is None else chosen_us
        return {INDEX: 0, EPOCH: self._epoch_us}

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self._replay.max_rows_per_batch
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        self._epoch_us = int(start[EPOCH])
        first = int(start[INDEX])
        last = max(first, self._due(self._epoch_us))
        if isinstance(limit, ReadMaxRows):
            last = min(last, first + limit.max_rows)
        return {INDEX: last, EPOCH: self._epoch_us}

    def reportLatestOffset(self) -> Offset | None:
        if self._epoch_us is None:
            return None
        return {INDEX: self._due(self._epoch_us), EPOCH: self._epoch_us}

    def prepareForTriggerAvailableNow(self) -> None:
        self._until_us = self._now_us()

    def partitions(self, start: Offset, end: Offset) -> list[QuoteRange]:
        # Of the end: a first batch that is run again after a crash has its start asked anew.
        first, last, epoch_us = int(start[INDEX]), int(end[INDEX]), int(end[EPOCH])
        rows = last - first
        count = max(1, min(self._replay.partitions, rows // MIN_ROWS_PER_PARTITION))
        edges = [first + rows * part // count for part in range(count + 1)]
        return [QuoteRange(low, high, epoch_us) for low, high in pairwise(edges) if low < high]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, QuoteRange):
            raise TypeError(f"expected a QuoteRange, got {partition!r}")
        stream = opened(self._replay)
        for first in range(partition.first, partition.last, RECORD_BATCH_ROWS):
            last = min(first + RECORD_BATCH_ROWS, partition.last)
            yield stream.record_batch(first, last, partition.epoch_us)

    def _due(self, epoch_us: int) -> int:
        now_us = self._now_us() if self._until_us is None else self._until_us
        return opened(self._replay).due_by(now_us, epoch_us)
