"""The streaming queries of a live application, as the sensor reads them.

The only file that touches py4j for measuring. Progress is polled: a listener in Python would cost
every micro-batch 100 ms. Any call here may raise, and does when the query or its session ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """What the query's own thread does at this moment."""

    in_trigger: bool
    """False: between two triggers, so it lives and waits for time or data."""
    saw_data: bool
    """Whether the last look at the sources found something new. Meaningless while `in_trigger`:
    every trigger begins with False until it has looked."""

    @property
    def idle(self) -> bool:
        """Nothing to do, and everything that arrived is done."""
        return not self.in_trigger and not self.saw_data


class QueryPort(Protocol):
    @property
    def run_id(self) -> str:
        """New at every start of the query."""
        ...

    @property
    def name(self) -> str | None: ...

    def trigger_interval_s(self) -> float | None:
        """None: a batch begins as soon as the one before has ended."""
        ...

    def status(self) -> QueryStatus: ...

    def last_progress(self) -> str | None:
        """JSON; None before the first trigger has ended."""
        ...

    def recent_progress(self, most: int) -> tuple[str, ...]:
        """JSON of the last triggers in their order; Spark keeps 100 by default."""
        ...

    def failure(self) -> str | None:
        """Why it ended; None if it runs or was stopped."""
        ...


class SparkQuery:
    """Implements `QueryPort` on a query of this process's driver."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._java: Any = query._jsq

    @property
    def run_id(self) -> str:
        return self._query.runId

    @property
    def name(self) -> str | None:
        return self._query.name

    def trigger_interval_s(self) -> float | None:
        execution = self._java.streamingQuery()
        if execution.trigger().getClass().getSimpleName() != "ProcessingTimeTrigger":
            return None
        return float(execution.trigger().intervalMs()) / 1e3 or None

    def status(self) -> QueryStatus:
        status = self._query.status
        return QueryStatus(
            in_trigger=bool(status["isTriggerActive"]), saw_data=bool(status["isDataAvailable"])
        )

    def last_progress(self) -> str | None:
        progress = self._java.lastProgress()
        return None if progress is None else str(progress.json())

    def recent_progress(self, most: int) -> tuple[str, ...]:
        # Each text is a call of its own, so only those that are wanted are asked for.
        recent = self._java.recentProgress()
        first = max(len(recent) - most, 0)
        return tuple(str(recent[at].json()) for at in range(first, len(recent)))

    def failure(self) -> str | None:
        error = self._query.exception()
        return None if error is None else str(error).splitlines()[0]


def active_queries(spark: SparkSession) -> Callable[[], tuple[QueryPort, ...]]:
    """Asked again at every step: queries come and go."""
    return lambda: tuple(SparkQuery(query) for query in spark.streams.active)
