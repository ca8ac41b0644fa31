"""What Spark reports about one trigger of a streaming query, reduced to what control needs.

Pure: JSON text of a `StreamingQueryProgress` in, `BatchProgress` out. Tolerant, since what is in
the text depends on source, sink and version of Spark: what is missing is None, and a text that
makes no sense at all is None as a whole. Nothing here raises.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from runtime.spark.sensing.offsets import Offset, parse_offset

LATENCY_METRIC = "foresight_latency"
"""Observed metrics whose name begins so hold the event times of `runtime.spark.sensing.observe`."""
EVENT_TIME_LEVELS = (
    0.0,
    0.001,
    0.0025,
    *(round(0.005 * step, 3) for step in range(1, 21)),
    *(round(0.1 + 0.025 * step, 3) for step in range(1, 37)),
)
"""Shares of a batch's rows, oldest first, whose event times are observed. Late rows are the oldest,
so that their share is bracketed to half a percentage point where it is below a tenth."""


@dataclass(frozen=True, slots=True)
class SourceProgress:
    rows: int
    start: Offset | None
    end: Offset | None
    latest: Offset | None
    """The newest offset at the source when the trigger began; None: the source does not tell."""
    lag_offsets: int | None
    """How far the batch ended behind the newest offset, by Kafka's own metrics."""


@dataclass(frozen=True, slots=True)
class EventTimes:
    """The event times of the rows of one batch."""

    rows: int
    mean_epoch_s: float
    first_epoch_s: float
    by_level: tuple[tuple[int, tuple[float, ...]], ...] = ()
    """Of every frame that is observed: its rows, and the event times at `EVENT_TIME_LEVELS`."""

    def rows_before(self, epoch_s: float) -> float:
        """How many came into being before then: between two levels, which bracket their number,
        taken as spread evenly."""
        if sum(rows for rows, _ in self.by_level) < self.rows:
            # Not told for every frame: evenly around the mean.
            last_epoch_s = 2.0 * self.mean_epoch_s - self.first_epoch_s
            times_s = (self.first_epoch_s, max(last_epoch_s, self.first_epoch_s))
            return self.rows * _share_before(epoch_s, times_s, (0.0, 1.0))
        return sum(
            rows * _share_before(epoch_s, times_s, EVENT_TIME_LEVELS)
            for rows, times_s in self.by_level
        )


@dataclass(frozen=True, slots=True)
class BatchProgress:
    run_id: str
    name: str | None
    batch_id: int
    started_s: float
    """When the trigger began and the source was asked for its newest offset; seconds since 1970."""
    duration_s: float
    """Of the whole trigger, from there until the batch was committed."""
    rows: int
    ran: bool
    """False: a trigger that found nothing to do. Its batch id belongs to the next batch."""
    sources: tuple[SourceProgress, ...]
    event_times: EventTimes | None

    @property
    def finished_s(self) -> float:
        return self.started_s + self.duration_s


def _share_before(epoch_s: float, times_s: Sequence[float], levels: Sequence[float]) -> float:
    after = bisect_left(times_s, epoch_s)
    if after in (0, len(times_s)):
        return 0.0 if after == 0 else 1.0
    begin_s, end_s = times_s[after - 1], times_s[after]
    part = (epoch_s - begin_s) / (end_s - begin_s)
    return levels[after - 1] + part * (levels[after] - levels[after - 1])


class _Source(msgspec.Struct, rename="camel"):
    start_offset: object = None
    end_offset: object = None
    latest_offset: object = None
    num_input_rows: int | None = None
    metrics: dict[str, object] | None = None


class _Document(msgspec.Struct, rename="camel"):
    run_id: str
    batch_id: int
    timestamp: str
    name: str | None = None
    num_input_rows: int | None = None
    duration_ms: dict[str, float] | None = None
    sources: tuple[_Source, ...] | None = None
    observed_metrics: dict[str, object] | None = None


def parse_progress(text: str) -> BatchProgress | None:
    try:
        document = msgspec.json.decode(text, type=_Document)
        started = datetime.fromisoformat(document.timestamp)
    except (msgspec.DecodeError, ValueError):
        return None
    durations_ms = document.duration_ms or {}
    duration_ms = durations_ms.get("triggerExecution")
    if duration_ms is None:
        duration_ms = sum(durations_ms.values())
    sources = tuple(_source(source) for source in document.sources or ())
    rows = document.num_input_rows
    return BatchProgress(
        run_id=document.run_id,
        name=document.name,
        batch_id=document.batch_id,
        started_s=started.replace(tzinfo=started.tzinfo or UTC).timestamp(),
        duration_s=duration_ms / 1e3,
        rows=sum(source.rows for source in sources) if rows is None else rows,
        ran="addBatch" in durations_ms,
        sources=sources,
        event_times=_event_times(document.observed_metrics or {}),
    )


def _source(source: _Source) -> SourceProgress:
    end = parse_offset(source.end_offset)
    return SourceProgress(
        rows=source.num_input_rows or 0,
        start=parse_offset(source.start_offset),
        end=end,
        latest=parse_offset(source.latest_offset),
        lag_offsets=_lag(source.metrics or {}, len(end or ())),
    )


def _lag(metrics: Mapping[str, object], partitions: int) -> int | None:
    """Kafka reports lags per partition; their mean times their number is the whole lag."""
    mean = _number(metrics.get("avgOffsetsBehindLatest"))
    if mean is not None and partitions:
        return round(mean * partitions)
    # At least this much: the other partitions may be behind as well.
    largest = _number(metrics.get("maxOffsetsBehindLatest"))
    return None if largest is None else round(largest)


def _event_times(metrics: Mapping[str, object]) -> EventTimes | None:
    found = [
        times
        for name, values in metrics.items()
        if name.startswith(LATENCY_METRIC) and (times := _one_metric(values)) is not None
    ]
    rows = sum(times.rows for times in found)
    if not rows:
        return None
    return EventTimes(
        rows=rows,
        mean_epoch_s=sum(times.rows * times.mean_epoch_s for times in found) / rows,
        first_epoch_s=min(times.first_epoch_s for times in found),
        by_level=tuple(part for times in found for part in times.by_level),
    )


def _one_metric(values: object) -> EventTimes | None:
    if not isinstance(values, dict):
        return None
    rows = _number(values.get("rows"))
    mean_s = _number(values.get("mean_epoch_s"))
    first_s = _number(values.get("first_epoch_s"))
    if not rows or mean_s is None or first_s is None:
        return None
    return EventTimes(round(rows), mean_s, first_s, _by_level(round(rows), values))


def _by_level(rows: int, values: Mapping[str, object]) -> tuple[tuple[int, tuple[float, ...]], ...]:
    given = values.get("epoch_s_by_level")
    if not isinstance(given, list) or len(given) != len(EVENT_TIME_LEVELS):
        return ()
    times_s = [_number(value) for value in given]
    known_s = tuple(value for value in times_s if value is not None)
    return ((rows, known_s),) if len(known_s) == len(times_s) else ()


def _number(value: object) -> float | None:
    """Of a number or a text that is one; Spark writes source metrics as text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
