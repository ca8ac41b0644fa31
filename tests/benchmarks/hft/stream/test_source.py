"""The reader of the quotes source on a clock that is set by hand, without Spark."""

import pickle

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from benchmarks.hft.stream.replay import Replay, parsed
from benchmarks.hft.stream.source import (
    EPOCH,
    INDEX,
    MIN_ROWS_PER_PARTITION,
    RECORD_BATCH_ROWS,
    QuotesDataSource,
    QuotesReader,
)

NOON_US = 1_700_000_000_000_000


class HandClock:
    def __init__(self, now_us: int = NOON_US) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        return self.now_us


def test_the_start_is_the_next_whole_second_and_stays() -> None:
    clock = HandClock(NOON_US + 1)
    reader = QuotesReader(Replay(), clock)
    start = reader.initialOffset()
    assert start == {INDEX: 0, EPOCH: NOON_US + 1_000_000}
    clock.now_us += 5_000_000
    assert reader.initialOffset() == start
    assert QuotesReader(Replay(epoch_us=NOON_US), clock).initialOffset()[EPOCH] == NOON_US


def test_quotes_become_due_with_the_clock() -> None:
    clock = HandClock()
    reader = QuotesReader(Replay(peak_per_s=1_000), clock)
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    clock.now_us += 2_000_000
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end == {INDEX: 2_000, EPOCH: NOON_US}


def test_a_slow_consumer_loses_nothing_and_the_backlog_is_reported() -> None:
    clock = HandClock()
    reader = QuotesReader(Replay(peak_per_s=1_000, max_rows_per_batch=300), clock)
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(300)
    offset = reader.initialOffset()
    clock.now_us += 1_000_000
    seen = []
    for expected in (300, 600, 900, 1_000, 1_000):
        end = reader.latestOffset(offset, limit)
        assert end[INDEX] == expected
        assert reader.reportLatestOffset() == {INDEX: 1_000, EPOCH: NOON_US}
        seen.extend(sequence(reader, offset, end))
        offset = end
    assert seen == list(range(1_000))


def test_a_restart_keeps_the_start_and_finds_the_backlog() -> None:
    clock = HandClock()
    first = QuotesReader(Replay(peak_per_s=1_000), clock)
    start = first.initialOffset()
    clock.now_us += 1_000_000
    saved = first.latestOffset(start, ReadAllAvailable())
    clock.now_us += 60_500_000
    restarted = QuotesReader(Replay(peak_per_s=1_000), clock)
    assert restarted.reportLatestOffset() is None
    end = restarted.latestOffset(saved, ReadAllAvailable())
    assert saved == {INDEX: 1_000, EPOCH: NOON_US}
    assert end == {INDEX: 61_500, EPOCH: NOON_US}


def test_a_first_batch_run_again_has_the_rows_of_its_first_run() -> None:
    clock = HandClock()
    first = QuotesReader(Replay(peak_per_s=1_000), clock)
    clock.now_us += 1_000_000
    start = first.initialOffset()
    clock.now_us += 1_000_000
    logged = first.latestOffset(start, ReadAllAvailable())
    before = rows(first, start, logged)
    clock.now_us += 30_000_000
    restarted = QuotesReader(Replay(peak_per_s=1_000), clock)
    asked_anew = restarted.initialOffset()
    assert asked_anew != start
    assert rows(restarted, asked_anew, logged) == before


def test_partitions_are_contiguous_and_few_when_there_is_little() -> None:
    reader = QuotesReader(Replay(partitions=4))
    for count in (0, 1, MIN_ROWS_PER_PARTITION, 3 * MIN_ROWS_PER_PARTITION + 1, 1_000_003):
        ranges = reader.partitions({INDEX: 7, EPOCH: 0}, {INDEX: 7 + count, EPOCH: 0})
        assert len(ranges) == min(4, max(count // MIN_ROWS_PER_PARTITION, min(count, 1)))
        edges = [7, *(part.last for part in ranges)]
        assert [part.first for part in ranges] == edges[:-1]
        assert edges[-1] == 7 + count


def test_a_long_range_comes_in_several_record_batches() -> None:
    reader = QuotesReader(Replay(partitions=1))
    (part,) = reader.partitions({INDEX: 0, EPOCH: 0}, {INDEX: RECORD_BATCH_ROWS + 1, EPOCH: 0})
    assert [batch.num_rows for batch in reader.read(part)] == [RECORD_BATCH_ROWS, 1]


def test_available_now_stops_at_what_was_due_then() -> None:
    clock = HandClock()
    reader = QuotesReader(Replay(peak_per_s=1_000, epoch_us=NOON_US - 1_000_000), clock)
    reader.prepareForTriggerAvailableNow()
    clock.now_us += 10_000_000
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end[INDEX] == 1_000
    assert reader.latestOffset(end, ReadAllAvailable()) == end


def test_the_stream_ends_where_it_was_told_to() -> None:
    clock = HandClock()
    reader = QuotesReader(Replay(peak_per_s=1_000, quotes=1_500), clock)
    start = reader.initialOffset()
    clock.now_us += 10_000_000
    assert reader.latestOffset(start, ReadAllAvailable())[INDEX] == 1_500


def test_a_reader_is_small_wherever_it_travels() -> None:
    reader = QuotesReader(Replay(rate="trading-day"))
    reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    travelled = pickle.dumps(reader)
    assert len(travelled) < 1_000
    part = reader.partitions({INDEX: 0, EPOCH: 0}, {INDEX: 10, EPOCH: 0})[0]
    (there,), (here,) = pickle.loads(travelled).read(part), reader.read(part)
    assert there.equals(here)


def test_options_survive_as_strings() -> None:
    replay = Replay(rate="wave", peak_per_s=123.5, quotes=7, epoch_us=NOON_US, symbols=3)
    assert parsed(replay.options()) == replay


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": "wave"}, "rates"),
        ({"rate": "sine"}, "sine"),
        ({"peak_per_s": "many"}, "peak_per_s"),
        ({"peak_per_s": "0"}, "peak_per_s must be positive"),
        ({"partitions": "0"}, "partitions must be at least 1"),
        ({"seed": "-1"}, "seed must not be negative"),
        ({"rate": "recorded"}, "needs a path"),
        ({"epoch_us": "1"}, "whole second"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parsed(options)


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="their own schema"):
        QuotesDataSource({}).streamReader(StructType().add("price", "double"))


def rows(
    reader: QuotesReader, start: dict[str, int], end: dict[str, int]
) -> list[dict[str, object]]:
    return [
        row
        for part in reader.partitions(start, end)
        for batch in reader.read(part)
        for row in batch.to_pylist()
    ]


def sequence(reader: QuotesReader, start: dict[str, int], end: dict[str, int]) -> list[object]:
    return [row["seq"] for row in rows(reader, start, end)]
