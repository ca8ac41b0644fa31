"""The queries of an application taken together: what the control loop controls is their sum.

Pure. Queries end their batches in different steps, so a query that is in the middle of one counts
with its last rate as long as it is not stale; when no query has anything new, neither has the sum.
"""

from collections.abc import Callable, Sequence

from mpc.values import LatencyKind
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


def arrivals_age_s(readings: Sequence[QueryReading], wall_s: float, step_s: float) -> float:
    """From the middle of the time that arrivals were counted over to the middle of the step; of
    several queries the longest."""
    ages_s = [
        wall_s - reading.arrivals_until_s + (reading.arrivals_span_s - step_s) / 2
        for reading in readings
        if reading.arrivals_until_s is not None and reading.arrivals_span_s is not None
    ]
    return max(0.0, *ages_s) if ages_s else 0.0


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


def latency_kind(readings: Sequence[QueryReading]) -> LatencyKind | None:
    """Exact only if it is for every query that has a latency."""
    kinds = {reading.latency_kind for reading in readings} - {None}
    if not kinds:
        return None
    return "exact" if kinds == {"exact"} else "estimated"


def all_idle(readings: Sequence[QueryReading]) -> bool:
    return all(reading.activity == "idle" for reading in readings)


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
