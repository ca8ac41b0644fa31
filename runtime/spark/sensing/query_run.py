"""Reads one run of a query at every step: finds the triggers that ended since the last one.

`last_progress` is one short call and enough while at most one batch ends a step; the list of
recent ones is asked for only when batch ids were skipped. Never raises.
"""

from collections.abc import Sequence
from dataclasses import replace

from runtime.spark.sensing.asked import AskedSources
from runtime.spark.sensing.progress import BatchProgress, parse_progress
from runtime.spark.sensing.queries import QueryPort
from runtime.spark.sensing.query_meter import QueryMeter
from runtime.spark.sensing.reading import QueryReading

_FIRST_LOOK = 100
"""Triggers to look back at when a query is seen for the first time: as many as Spark keeps."""
_IDLE_TRIGGERS = 10
"""Triggers without a batch that may stand between those that are looked for."""


class QueryRun:
    def __init__(
        self,
        port: QueryPort,
        label: str,
        step_s: float,
        now_s: float,
        target_s: float | None = None,
    ) -> None:
        self.port = port
        self.label = label
        self._meter = QueryMeter(label, step_s, now_s, target_s)
        self._asked = AskedSources(port, step_s)
        self.trigger_interval_s = _trigger_interval_s(port)
        """None: back to back, or not known."""
        self.unsupported = _unsupported(port)
        """Why it cannot be scaled; its figures say nothing then, and nothing is changed."""
        self.problem: str | None = None
        """Why it could not be read in the last step."""

    @property
    def source_problem(self) -> str | None:
        """Why its sources could not be asked in the last step."""
        return self._asked.problem

    @property
    def last_batch_s(self) -> float:
        return self._meter.last_batch_s

    def read(self, now_s: float, wall_s: float, since_wall_s: float) -> QueryReading:
        """One step; of a query that is new, only what ended after `since_wall_s` counts."""
        if self.unsupported is not None:
            return self.unreadable()
        try:
            # In this order: what ends in between is then counted now and not as idle time.
            status = self.port.status()
            new = self._new(since_wall_s)
        except Exception as error:  # py4j raises anything when a JVM or a session ends
            self.problem = f"{type(error).__name__}: {error}".splitlines()[0]
            return self.unreadable()
        self.problem = None
        answer = self._asked.ask(new, now_s, wall_s)
        reading = self._meter.read(new, status, now_s, wall_s)
        return replace(
            reading,
            origin=answer.origin,
            source_arrivals_per_s=answer.arrivals_per_s,
            source_span_s=answer.span_s,
            source_backlog_rows=answer.unfinished_rows,
        )

    def unreadable(self) -> QueryReading:
        return self._meter.unreadable()

    def _new(self, since_wall_s: float) -> Sequence[BatchProgress]:
        text = self.port.last_progress()
        newest = None if text is None else parse_progress(text)
        if newest is None:
            return ()
        known = self._meter.last
        if known is None:
            recent = self._recent(_FIRST_LOOK) or [newest]
            ended = [progress for progress in recent if progress.finished_s <= since_wall_s]
            if ended:
                self._meter.begin_after(ended[-1])
            return recent[len(ended) :]
        if _order(newest) == _order(known):
            return ()
        if newest.batch_id < known.batch_id:
            self._meter.begin_after(newest)
            return ()
        ahead = newest.batch_id - known.batch_id
        if ahead <= 1:
            return (newest,)
        new = self._after(known, ahead)
        if not _follows(new, known):
            new = self._after(known, ahead + _IDLE_TRIGGERS)
        if not _follows(new, known):
            # Spark keeps no more: rates go on behind the hole instead of counting it as nothing.
            self._meter.begin_after(new[0])
            return new[1:]
        return new

    def _after(self, known: BatchProgress, most: int) -> list[BatchProgress]:
        return [progress for progress in self._recent(most) if _order(progress) > _order(known)]

    def _recent(self, most: int) -> list[BatchProgress]:
        parsed = (parse_progress(text) for text in self.port.recent_progress(most))
        return [progress for progress in parsed if progress is not None]


def _unsupported(port: QueryPort) -> str | None:
    try:
        return port.unsupported()
    except Exception:  # as any call of py4j
        return None


def _trigger_interval_s(port: QueryPort) -> float | None:
    try:
        return port.trigger_interval_s()
    except Exception:  # as any call of py4j; other versions of Spark may have no such method
        return None


def _follows(new: Sequence[BatchProgress], known: BatchProgress) -> bool:
    """Whether no batch is missing in between."""
    return not new or new[0].batch_id <= known.batch_id + 1


def _order(progress: BatchProgress) -> tuple[int, float]:
    """A trigger without a batch has the id of the batch that comes after it."""
    return progress.batch_id, progress.started_s
