"""The streaming queries of a live application, as the sensor reads them.

The only file that touches py4j for measuring. Progress is polled: a listener in Python would cost
every micro-batch 100 ms. Any call here may raise, and does when the query or its session ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.spark.driver import Driver
from runtime.spark.sensing.kafka_offsets import KafkaOffsets
from runtime.spark.sensing.sources.contract import NewestOffsets, SourceInfo


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

    def unsupported(self) -> str | None:
        """Why it cannot be scaled while it runs; None if it can."""
        ...

    def status(self) -> QueryStatus: ...

    def last_progress(self) -> str | None:
        """JSON; None before the first trigger has ended."""
        ...

    def recent_progress(self, most: int) -> tuple[str, ...]:
        """JSON of the last triggers in their order; Spark keeps 100 by default."""
        ...

    def sources(self) -> tuple[SourceInfo, ...]:
        """In the order of its progress; empty until the query has made its plan."""
        ...

    def source_offset(self, place: int) -> str | None:
        """JSON of where the batch that runs ends in that source, or where the last one ended."""
        ...

    def failure(self) -> str | None:
        """Why it ended; None if it runs or was stopped."""
        ...


class SparkQuery:
    """Implements `QueryPort` on a query of the driver's JVM."""

    def __init__(self, query: Any, driver: Driver) -> None:
        self._query = query
        self._driver = driver

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

    def unsupported(self) -> str | None:
        return _UNSUPPORTED.get(_class_name(self._query.trigger()))

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

    def sources(self) -> tuple[SourceInfo, ...]:
        execution = self._execution
        # The plan is made by the query's own thread; nobody else may be the first to ask for it.
        if execution.sources().isEmpty():
            return ()
        root = execution.resolvedCheckpointRoot()
        return tuple(
            SourceInfo(
                kind=_kind(leaf),
                description=str(_stream(leaf).toString()),
                options=_reader_options(leaf),
                place=place,
                checkpoint=None if root is None else str(root),
                began_s=_began_s(leaf),
                newest=self._newest(leaf),
            )
            for place, leaf in enumerate(self._leaves())
        )

    def source_offset(self, place: int) -> str | None:
        leaves = self._leaves()
        if place >= len(leaves):
            return None
        found = self._execution.availableOffsets().get(_stream(leaves[place]))
        return str(found.get().json()) if found.isDefined() else None

    def failure(self) -> str | None:
        error = self._query.exception()
        return None if error.isEmpty() else str(error.get().getMessage()).splitlines()[0]

    def _newest(self, leaf: Any) -> NewestOffsets | None:
        if _kind(leaf) != _KAFKA:
            return None
        return KafkaOffsets(self._driver, _reader_options(leaf))

    @property
    def _execution(self) -> Any:
        return self._driver.execution_of(self._query)

    def _leaves(self) -> list[Any]:
        """Of the plan, those that read a stream; a stream that is read twice counts once."""
        found: list[Any] = []
        leaves = self._driver.java_list(self._execution.logicalPlan().collectLeaves())
        for leaf in leaves:
            if _class_name(leaf) in (_NEW_API, _OLD_API):
                stream = _stream(leaf)
                if not any(stream.equals(_stream(other)) for other in found):
                    found.append(leaf)
        return found


def active_queries(driver: Driver) -> Callable[[], tuple[QueryPort, ...]]:
    """Asked again at every step: queries come and go."""
    return lambda: tuple(SparkQuery(query, driver) for query in driver.active_queries())


_NEW_API = "StreamingDataSourceV2ScanRelation"
_OLD_API = "StreamingExecutionRelation"
_RATE = "RateStream"
_KAFKA = "KafkaTable"
_UNSUPPORTED = {
    "ContinuousTrigger": "continuous processing ends with the first executor that is lost",
    "RealTimeTrigger": "in real-time mode a query fails when its stages have too few slots, and it "
    "reports only every few minutes",
}


def _class_name(java_object: Any) -> str:
    return str(java_object.getClass().getSimpleName())


def _stream(leaf: Any) -> Any:
    return leaf.stream() if _class_name(leaf) == _NEW_API else leaf.source()


def _kind(leaf: Any) -> str:
    if _class_name(leaf) == _OLD_API:
        return _class_name(leaf.source())
    # Spark's own tables have their options behind their name.
    return str(leaf.relation().table().name()).partition("(")[0]


def _reader_options(leaf: Any) -> dict[str, str]:
    if _class_name(leaf) == _OLD_API:
        return {}
    given = leaf.relation().options()
    return {str(key).lower(): str(given[key]) for key in given}


def _began_s(leaf: Any) -> float | None:
    """The rate source counts from there, and keeps it in the checkpoint."""
    return float(_stream(leaf).creationTimeMs()) / 1e3 if _kind(leaf) == _RATE else None
