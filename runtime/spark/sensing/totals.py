"""The queries of an application taken together: what the control loop controls is their sum.

Pure. Queries end their batches in different steps, so a query that is in the middle of one counts
with its last rate as long as it is not stale; when no query has anything new, neither has the sum.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpc.values import ArrivalsOrigin, LatencyKind
from runtime.spark.sensing.reading import QueryReading


class TotalOverQueries:
    """The sum of one quantity, step by step."""

    def __init__(self, value: Callable[[QueryReading], float | None]) -> None:
        self._value = value
        self._last: dict[str, float] = {}

    def add_up(self, readings: Sequence[QueryReading]) -> float | None:
        """None when nothing is new, a query is stale, or one has never been known."""
        if any(reading.activity == "stale" for reading in readings):
            self._last.clear()
            return None
        now = {reading.query: self._value(reading) for reading in readings}
        news = any(value is not None for value in now.values())
        self._last = {
            query: value if value is not None else self._last[query]
            for query, value in now.items()
            if value is not None or query in self._last
        }
        return sum(self._last.values()) if news and len(self._last) == len(now) else None


@dataclass(frozen=True, slots=True)
class ArrivalsOfStep:
    """What came for all queries together, and what of it has no result yet."""

    per_s: float | None
    span_s: float
    """The time that the rate is over, of several queries the longest."""
    age_s: float
    """From the middle of that time to the middle of the step."""
    backlog_rows: float | None
    origin: ArrivalsOrigin


class TotalArrivals:
    """The sources tell only where those of every query do: a sum of what comes now and of what came
    one batch ago would belong to no time at all."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._rate = TotalOverQueries(lambda reading: reading.arrivals_per_s)
        self._backlog = TotalOverQueries(lambda reading: reading.backlog_rows)

    def add_up(self, readings: Sequence[QueryReading], wall_s: float) -> ArrivalsOfStep:
        # In every step, so that it is there when the sources cannot be asked any longer.
        told_per_s, told_rows = self._rate.add_up(readings), self._backlog.add_up(readings)
        if readings and all(reading.origin == "source" for reading in readings):
            return self._asked(readings)
        spans_s = [reading.arrivals_span_s for reading in readings if reading.arrivals_span_s]
        ages_s = [
            wall_s - reading.arrivals_until_s + (reading.arrivals_span_s - self._step_s) / 2
            for reading in readings
            if reading.arrivals_until_s is not None and reading.arrivals_span_s is not None
        ]
        return ArrivalsOfStep(
            told_per_s,
            max(spans_s, default=self._step_s),
            max(0.0, *ages_s) if ages_s else 0.0,
            told_rows,
            "batch",
        )

    def _asked(self, readings: Sequence[QueryReading]) -> ArrivalsOfStep:
        """Unknown where a query is stale, as arrivals that the batches tell are: while one does not
        end, nothing may be given up on the strength of a quiet source."""
        is_stale = any(reading.activity == "stale" for reading in readings)
        rates = [reading.source_arrivals_per_s for reading in readings]
        rows = [reading.source_backlog_rows for reading in readings]
        span_s = max(
            (reading.source_span_s for reading in readings if reading.source_span_s is not None),
            default=self._step_s,
        )
        return ArrivalsOfStep(
            None if is_stale else _sum(rates),
            span_s,
            max(0.0, (span_s - self._step_s) / 2),
            None if is_stale else _sum(rows),
            "source",
        )


def latency_s(readings: Sequence[QueryReading]) -> float | None:
    """The mean over the rows completed in this step."""
    return _mean_over_rows(readings, lambda reading: reading.latency_s)


def wait_s(readings: Sequence[QueryReading]) -> float | None:
    """The part of the latency that passed before the batch began."""
    waited = _mean_over_rows(
        readings,
        lambda reading: (
            None if reading.latency_s is None else reading.latency_s - reading.mean_duration_s
        ),
    )
    return None if waited is None else max(waited, 0.0)


def late_share(readings: Sequence[QueryReading]) -> float | None:
    """Of the rows completed in this step, over all queries."""
    known = [
        (reading.late_rows, reading.judged_rows)
        for reading in readings
        if reading.late_rows is not None and reading.judged_rows
    ]
    rows = sum(judged for _, judged in known)
    return sum(late for late, _ in known) / rows if rows else None


def latency_kind(readings: Sequence[QueryReading]) -> LatencyKind | None:
    """Exact only if it is for every query that has a latency."""
    kinds = {reading.latency_kind for reading in readings} - {None}
    if not kinds:
        return None
    return "exact" if kinds == {"exact"} else "estimated"


def oldest_wait_s(readings: Sequence[QueryReading]) -> float | None:
    """Of the rows of all queries, those that have waited longest."""
    waits_s = (reading.oldest_wait_s for reading in readings)
    return max((wait for wait in waits_s if wait is not None), default=None)


def is_fresh(readings: Sequence[QueryReading]) -> bool:
    """Whether every query has reported lately: a silent one may need what others can spare."""
    return not any(reading.overdue for reading in readings)


def all_idle(readings: Sequence[QueryReading]) -> bool:
    return all(reading.activity == "idle" for reading in readings)


def _sum(values: Sequence[float | None]) -> float | None:
    """None where one is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _mean_over_rows(
    readings: Sequence[QueryReading], value: Callable[[QueryReading], float | None]
) -> float | None:
    weighted = [
        (reading.completed_rows, number)
        for reading in readings
        if reading.completed_rows and (number := value(reading)) is not None
    ]
    rows = sum(weight for weight, _ in weighted)
    return sum(weight * number for weight, number in weighted) / rows if rows else None
