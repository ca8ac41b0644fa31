"""What every counter of a source promises, and a bench for each: a source whose rows a test knows.

Real queries of all three are in `tests/end_to_end/spark/test_asked_sources.py`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from benchmarks.hft.stream.counter import QuotesCounter
from benchmarks.hft.stream.replay import Replay
from runtime.spark.sensing.offsets import Offset
from runtime.spark.sensing.sources.contract import SourceCount, SourceCounter, SourceInfo
from runtime.spark.sensing.sources.files import FolderCounter
from runtime.spark.sensing.sources.kafka import KafkaCounter
from runtime.spark.sensing.sources.rate import RateCounter

EPOCH_S = 1_700_000_000.0


class SourceBench(Protocol):
    """A source in a time that the test owns."""

    wall_s: float
    slack_rows: float
    """A counter may be so many rows behind, and of a guess so many ahead."""

    def counter(self) -> SourceCounter:
        """For a new run of the query."""
        ...

    def advance(self, seconds: float) -> None: ...

    def arrived(self) -> int:
        """Rows that have truly come by now."""
        ...

    def finish(self, *counters: SourceCounter) -> None:
        """A batch has taken everything that has come by now, and has ended."""
        ...


class QuotesBench:
    slack_rows = 0.0

    def __init__(self, _folder: Path) -> None:
        self.wall_s = EPOCH_S + 0.25
        self._replay = Replay(rate="wave", peak_per_s=300, trough_per_s=20, period_s=30)
        self._stream = self._replay.stream()

    def counter(self) -> SourceCounter:
        made = QuotesCounter(SourceInfo("quotes", "Python", self._replay.options()))
        made.reached(self._offset())
        return made

    def advance(self, seconds: float) -> None:
        self.wall_s += seconds

    def arrived(self) -> int:
        """From the due times of the rows themselves, which the counter does not look at."""
        due_us = self._stream.schedule.due_us(0, 50_000)
        return int((due_us <= (self.wall_s - EPOCH_S) * 1e6).sum())

    def finish(self, *counters: SourceCounter) -> None:
        for counter in counters:
            counter.finished(self._offset(), 0)

    def _offset(self) -> Offset:
        return {("index",): self.arrived(), ("epoch_us",): int(EPOCH_S * 1e6)}


class RateBench:
    """Ten rows a second after a ramp, with the timestamps that Spark gives them."""

    slack_rows = 1.0

    def __init__(self, _folder: Path) -> None:
        self.wall_s = EPOCH_S + 0.25
        seconds = [0, 2, 4, 6, 8, *([10] * 300)]
        self._times_s = [
            EPOCH_S + second + number / rows
            for second, rows in enumerate(seconds[1:])
            for number in range(rows)
        ]

    def counter(self) -> SourceCounter:
        description = "RateStreamV2[rowsPerSecond=10, rampUpTimeSeconds=4, numPartitions=default"
        return RateCounter(SourceInfo("RateStream", description, {}, began_s=EPOCH_S))

    def advance(self, seconds: float) -> None:
        self.wall_s += seconds

    def arrived(self) -> int:
        return sum(time_s <= self.wall_s for time_s in self._times_s)

    def finish(self, *counters: SourceCounter) -> None:
        second = int(self.wall_s - EPOCH_S)
        self.wall_s = EPOCH_S + second  # it takes whole seconds only
        for counter in counters:
            counter.finished({(): second}, 0)


class FilesBench:
    """Lines of the same length in files of several lengths; a log as Spark writes it, with a
    compacted file at every third batch."""

    slack_rows = 0.5

    def __init__(self, folder: Path) -> None:
        self.wall_s = EPOCH_S
        self._folder, self._log = folder / "in", folder / "checkpoint" / "sources" / "0"
        (self._folder / "day=1").mkdir(parents=True)
        self._log.mkdir(parents=True)
        (self._folder / "_temporary").write_text("not a line\n" * 100)
        self._rows: dict[Path, int] = {}
        self._entries: list[bytes] = []
        self._read: set[Path] = set()
        self._batch = -1
        self.advance(1.0)
        self.finish()

    def counter(self) -> SourceCounter:
        checkpoint = self._log.parents[1].as_uri()
        made = FolderCounter(
            SourceInfo(
                "FileStreamSource", f"FileStreamSource[file:{self._folder}]", {}, 0, checkpoint
            )
        )
        self._teach(made)
        return made

    def advance(self, seconds: float) -> None:
        self.wall_s += seconds
        for number in range(int(seconds)):
            path = self._folder / "day=1" / f"{self.wall_s:.0f} {number}.txt"
            self._rows[path] = 5 + (len(self._rows) * 7) % 20
            path.write_text("1234567\n" * self._rows[path])

    def arrived(self) -> int:
        return sum(self._rows.values())

    def finish(self, *counters: SourceCounter) -> None:
        self._batch += 1
        new = [path for path in self._rows if path not in self._read]
        self._read.update(new)
        made = [
            msgspec.json.encode({"path": path.as_uri(), "timestamp": 0, "batchId": self._batch})
            for path in new
        ]
        self._entries += made
        compacts = self._batch % 3 == 2
        name = f"{self._batch}.compact" if compacts else f"{self._batch}"
        lines = self._entries if compacts else made
        (self._log / name).write_bytes(b"\n".join([b"v1", *lines]))
        self._last_rows = sum(self._rows[path] for path in new)
        for counter in counters:
            self._teach(counter)

    def _teach(self, counter: SourceCounter) -> None:
        counter.finished({("logOffset",): self._batch}, self._last_rows)


class KafkaBench:
    """Two partitions whose every fifth offset is a marker of a transaction and no row."""

    slack_rows = 8.0
    """Where the markers lie among the offsets nobody tells."""

    def __init__(self, _folder: Path) -> None:
        self.wall_s = EPOCH_S
        self._ends = [1_000, 5_000]
        self._asked = False
        self._batches: list[tuple[Offset, int]] = []
        for _ in range(3):
            self.finish()
            self.advance(5.0)
        self.finish()

    def counter(self) -> SourceCounter:
        made = KafkaCounter(SourceInfo("KafkaTable", "KafkaV2", {}, newest=self))
        for offset, rows in self._batches:
            made.finished(offset, rows)
        return made

    def request(self, partitions: frozenset[tuple[str, ...]]) -> None:
        assert partitions == {("quotes", "0"), ("quotes", "1")}
        self._asked = True

    def answer(self) -> Offset | None:
        asked, self._asked = self._asked, False
        return self._offset() if asked else None

    def advance(self, seconds: float) -> None:
        self.wall_s += seconds
        self._ends = [
            end + int(step * seconds) for end, step in zip(self._ends, (50, 20), strict=True)
        ]

    def arrived(self) -> int:
        return sum(end - end // 5 for end in self._ends)

    def finish(self, *counters: SourceCounter) -> None:
        rows = self.arrived() - sum(rows for _, rows in self._batches)
        self._batches.append((self._offset(), rows))
        for counter in counters:
            counter.finished(*self._batches[-1])

    def _offset(self) -> Offset:
        return {("quotes", str(number)): end for number, end in enumerate(self._ends)}


BENCHES: dict[str, Callable[[Path], SourceBench]] = {
    "quotes": QuotesBench,
    "rate": RateBench,
    "files": FilesBench,
    "kafka": KafkaBench,
}


def counted(counter: SourceCounter, bench: SourceBench) -> SourceCount:
    found = counter.count(bench.wall_s)
    assert found is not None
    return found


def check_growth(bench: SourceBench) -> None:
    """Counts never fall, and grow by what came: no row before it is there, none left out."""
    counter = bench.counter()
    first_rows, first = bench.arrived(), counted(counter, bench).arrived_rows
    last = first
    for seconds in (1.0, 3.0, 0.0, 2.0, 5.0, 1.0, 12.0):
        bench.advance(seconds)
        now = counted(counter, bench).arrived_rows
        assert now >= last
        grown, came = now - first, bench.arrived() - first_rows
        assert came - bench.slack_rows <= grown <= came + bench.slack_rows
        last = now


def check_unfinished(bench: SourceBench) -> None:
    """What has come and is in no batch that ended: nothing right after one that took all."""
    counter = bench.counter()
    bench.advance(4.0)
    bench.finish(counter)
    unfinished = counted(counter, bench).unfinished_rows
    assert unfinished is not None
    assert 0.0 <= unfinished <= bench.slack_rows
    taken = bench.arrived()
    bench.advance(6.0)
    unfinished = counted(counter, bench).unfinished_rows
    assert unfinished is not None
    assert abs(unfinished - (bench.arrived() - taken)) <= bench.slack_rows


def check_restart(bench: SourceBench) -> None:
    """A new run of the query counts on at the rate of the one before, with its own beginning."""
    before = bench.counter()
    bench.advance(3.0)
    bench.finish(before)
    after = bench.counter()
    starts = counted(before, bench).arrived_rows, counted(after, bench).arrived_rows
    for _ in range(4):
        bench.advance(5.0)
        bench.finish(before, after)
        grown = [
            counted(counter, bench).arrived_rows - start
            for counter, start in zip((before, after), starts, strict=True)
        ]
        assert abs(grown[0] - grown[1]) <= bench.slack_rows


CHECKS = (check_growth, check_unfinished, check_restart)
