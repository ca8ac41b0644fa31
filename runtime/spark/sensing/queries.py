"""The streaming queries of a live application, as the sensor reads them.

The only file that touches py4j for measuring. Progress is polled: a listener in Python would cost
every micro-batch 100 ms. Any call here may raise, and does when the query or its session ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.spark.driver import Driver


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
    """Implements `QueryPort` on a query of the driver's JVM."""

    def __init__(self, query: Any) -> None:
        self._query = query

    @property
    def run_id(self) -> str:
        return str(self._query.runId().toString())

    @property
    def name(self) -> str | None:
        name = self._query.name()
        return None if name is None else str(name)

    def trigger_interval_s(self) -> float | None:
        trigger = self._query.trigger()
        if trigger.getClass().getSimpleName() != "ProcessingTimeTrigger":
            return None
        return float(trigger.intervalMs()) / 1e3 or None

    def status(self) -> QueryStatus:
        status = self._query.status()
        return QueryStatus(
            in_trigger=bool(status.isTriggerActive()), saw_data=bool(status.isDataAvailable())
        )

    def last_progress(self) -> str | None:
        progress = self._query.lastProgress()
        return None if progress is None else str(progress.json())

    def recent_progress(self, most: int) -> tuple[str, ...]:
        # Each text is a call of its own, so only those that are wanted are asked for.
        recent = self._query.recentProgress()
        first = max(len(recent) - most, 0)
        return tuple(str(recent[at].json()) for at in range(first, len(recent)))

    def failure(self) -> str | None:
        error = self._query.exception()
        return None if error.isEmpty() else str(error.get().getMessage()).splitlines()[0]


def active_queries(driver: Driver) -> Callable[[], tuple[QueryPort, ...]]:
    """Asked again at every step: queries come and go."""
    return lambda: tuple(SparkQuery(query) for query in driver.active_queries())
