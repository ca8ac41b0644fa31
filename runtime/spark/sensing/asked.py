"""Asks the sources of one run of a query, every step, what has come by now.

A query is asked only as a whole: where one of its sources has no counter its batches tell. Growth
is taken over the clock that never jumps. A count that falls is a source that was made anew, and a
wall clock that was set is no arrivals: both begin again, without a rate in that step. Never raises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpc.values import ArrivalsOrigin
from runtime.spark.sensing.offsets import parse_offset
from runtime.spark.sensing.progress import BatchProgress
from runtime.spark.sensing.queries import QueryPort
from runtime.spark.sensing.sources.catalogue import counter_of
from runtime.spark.sensing.sources.contract import SourceCount, SourceCounter, SourceInfo

SHORTEST_SPAN_STEPS = 0.5
"""Growth over less of a step is no rate yet and counts for the next one."""
CLOCK_STEPS = 0.5
"""The wall clock was set if it went on by so much more or less than the other one."""
PATIENCE_STEPS = 3.0
"""So long a query that was asked and gives no answer is waited for; then its batches tell."""


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What the sources of a query say in one step. None: not known in this step."""

    origin: ArrivalsOrigin = "batch"
    """source: the sources are who tells, also in a step without a rate."""
    arrivals_per_s: float | None = None
    span_s: float | None = None
    """The time that rate is over."""
    unfinished_rows: float | None = None


@dataclass(frozen=True, slots=True)
class _Mark:
    now_s: float
    wall_s: float
    arrived_rows: float


class AskedSources:
    def __init__(
        self,
        port: QueryPort,
        step_s: float,
        make: Callable[[SourceInfo], SourceCounter | None] = counter_of,
    ) -> None:
        self._port = port
        self._make = make
        self._step_s = step_s
        self._counters: list[SourceCounter] | None = None
        """None: not made yet. Empty: there is a source that cannot be counted."""
        self._mark: _Mark | None = None
        self._answered_s: float | None = None
        self.problem: str | None = None
        """Why they could not be asked in the last step, although there are counters."""

    def ask(self, new: Sequence[BatchProgress], now_s: float, wall_s: float) -> SourceAnswer:
        """One step, in which the batches `new` have ended."""
        counted = None
        try:
            counted = self._counted(new, wall_s)
            self.problem = None
        except Exception as error:  # py4j raises anything, and so may a counter of somebody else
            self.problem = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        if counted is None:
            waited_s = None if self._answered_s is None else now_s - self._answered_s
            is_known = waited_s is not None and waited_s <= PATIENCE_STEPS * self._step_s
            return SourceAnswer("source" if is_known else "batch")
        self._answered_s = now_s
        span_s, grown = self._growth(_Mark(now_s, wall_s, counted.arrived_rows))
        if span_s is None:
            return SourceAnswer("source", unfinished_rows=counted.unfinished_rows)
        return SourceAnswer("source", grown / span_s, span_s, counted.unfinished_rows)

    def _counted(self, new: Sequence[BatchProgress], wall_s: float) -> SourceCount | None:
        """The sum over the sources."""
        if self._counters is None:
            self._counters = self._made()
        counters = self._counters or ()
        for progress in new:
            # A trigger without a batch reports the batch before it.
            for counter, source in zip(counters, progress.sources, strict=False):
                if progress.ran and source.end is not None:
                    counter.finished(source.end, source.rows)
        counts = []
        for place, counter in enumerate(counters):
            count = counter.count(wall_s)
            if count is None:
                offset = parse_offset(self._port.source_offset(place))
                if offset is not None:
                    counter.reached(offset)
                    count = counter.count(wall_s)
            if count is None:
                return None
            counts.append(count)
        if not counts:
            return None
        unfinished = [count.unfinished_rows for count in counts]
        known = [rows for rows in unfinished if rows is not None]
        return SourceCount(
            sum(count.arrived_rows for count in counts),
            sum(known) if len(known) == len(unfinished) else None,
        )

    def _made(self) -> list[SourceCounter] | None:
        sources = self._port.sources()
        if not sources:
            return None
        # One that raises is not asked for again: it does not understand its source.
        self._counters = []
        made = [self._make(source) for source in sources]
        found = [counter for counter in made if counter is not None]
        return found if len(found) == len(made) else []

    def _growth(self, mark: _Mark) -> tuple[float | None, float]:
        """The time since the last mark and the rows of it; no time where there is no rate."""
        before = self._mark
        if before is None:
            self._mark = mark
            return None, 0.0
        span_s = mark.now_s - before.now_s
        grown = mark.arrived_rows - before.arrived_rows
        clock_set_s = abs(mark.wall_s - before.wall_s - span_s)
        if grown < 0 or clock_set_s > CLOCK_STEPS * self._step_s:
            self._mark = mark
            return None, 0.0
        if span_s < SHORTEST_SPAN_STEPS * self._step_s:
            return None, 0.0
        self._mark = mark
        return span_s, grown
