"""Folds the triggers of one run of a query into one reading a step.

Pure: time and progress come in. Rows are counted once each and rates are taken over the time they
cover, from trigger to trigger and not from poll to poll, so that a step in which no batch ended is
unknown instead of zero, and the rows of a long batch are not mistaken for a burst.
"""

from collections.abc import Sequence

from mpc.objective import evenly_late
from mpc.values import LatencyKind
from runtime.spark.sensing.offsets import RowCount, advance
from runtime.spark.sensing.progress import BatchProgress, SourceProgress
from runtime.spark.sensing.queries import QueryStatus
from runtime.spark.sensing.reading import Activity, ArrivalsKind, BatchTimes, QueryReading

SHORTEST_SPAN_STEPS = 0.5
"""Rows over less of a step are no rate yet and count for the next one: a batch that begins right
after an idle moment would look like a burst."""
STALE_STEPS = 3.0
STALE_BATCHES = 3.0
OVERDUE_STEPS = 2.0
OVERDUE_BATCHES = 1.5
"""Sooner than stale: nothing is reported as broken yet, but no longer is anything given up."""


class _Rate:
    """Rows over the time they cover, reported without gap or overlap."""

    def __init__(self, shortest_s: float) -> None:
        self._shortest_s = shortest_s
        self._rows = 0.0
        self.covered_until_s: float | None = None
        self.span_s = 0.0
        """What the last rate covered."""

    def add(self, rows: float) -> None:
        self._rows += rows

    def per_s(self, until_s: float) -> float | None:
        if self.covered_until_s is None:
            self.restart(until_s)
            return None
        span_s = until_s - self.covered_until_s
        if span_s < 0:  # the wall clock was set back
            self.covered_until_s = until_s
        if span_s < self._shortest_s:
            return None
        rate_per_s, self.span_s = self._rows / span_s, span_s
        self.restart(until_s)
        return rate_per_s

    def restart(self, at_s: float) -> None:
        self.covered_until_s, self._rows = at_s, 0.0


class QueryMeter:
    def __init__(
        self, query: str, step_s: float, now_s: float, target_s: float | None = None
    ) -> None:
        """`now_s` is on the clock that never jumps, as in `read`."""
        self._target_s = target_s
        self._query = query
        self._step_s = step_s
        self._last: BatchProgress | None = None
        self._last_duration_s = 0.0
        self._alive_s = now_s
        self._answered_s = now_s
        """On the clock that never jumps: rows that came before have a result."""
        self._opened = False
        """Whether a batch with rows has ended."""
        self._arrivals = _Rate(SHORTEST_SPAN_STEPS * step_s)
        self._completions = _Rate(SHORTEST_SPAN_STEPS * step_s)
        self._row_counts: dict[int, RowCount] = {}
        self._waiting_rows: float | None = None
        self._kind: ArrivalsKind = "input"

    @property
    def last(self) -> BatchProgress | None:
        return self._last

    @property
    def last_batch_s(self) -> float:
        """How long the last batch took; 0 before there was one."""
        return self._last_duration_s

    def begin_after(self, progress: BatchProgress) -> None:
        """What ended before measuring began: nothing of it is counted, rates start there."""
        self._arrived_rows(progress)
        self._arrivals.restart(progress.started_s)
        self._completions.restart(progress.finished_s)
        self._last, self._last_duration_s = progress, progress.duration_s
        self._opened = True

    def unreadable(self) -> QueryReading:
        return QueryReading(self._query, "stale", overdue=True)

    def read(
        self, new: Sequence[BatchProgress], status: QueryStatus, now_s: float, wall_s: float
    ) -> QueryReading:
        """One step. `wall_s` is on the clock of the progress, seconds since 1970."""
        latency = _LatencySum(self._target_s)
        batches = []
        for progress in new:
            self._count(progress, latency)
            if progress.ran:
                batches.append(self._times(progress))
        # A query that is still being set up looks idle.
        idle = status.idle and self._last is not None
        activity = self._activity(bool(new), idle, status.in_trigger, now_s)
        if status.idle:
            self._answered_s = now_s
        elif new:  # the next batch takes what came since the last one began
            self._answered_s = now_s - max(wall_s - new[-1].started_s, 0.0)
        arrivals_per_s = completions_per_s = backlog_rows = None
        if idle:
            self._waiting_rows = backlog_rows = 0.0
            arrivals_per_s = self._arrivals.per_s(wall_s)
            completions_per_s = self._completions.per_s(wall_s)
        elif new:
            arrivals_per_s = self._arrivals.per_s(new[-1].started_s)
            completions_per_s = self._completions.per_s(new[-1].finished_s)
            if arrivals_per_s is not None:
                # Since that trigger looked at the source more rows have come, at that rate.
                since_s = max(wall_s - new[-1].started_s, 0.0)
                backlog_rows = (self._waiting_rows or 0.0) + arrivals_per_s * since_s
        return QueryReading(
            query=self._query,
            activity=activity,
            arrivals_per_s=arrivals_per_s,
            arrivals_kind=self._kind,
            arrivals_span_s=None if arrivals_per_s is None else self._arrivals.span_s,
            arrivals_until_s=None if arrivals_per_s is None else self._arrivals.covered_until_s,
            completions_per_s=completions_per_s,
            completed_rows=sum(progress.rows for progress in new),
            waiting_rows=self._waiting_rows if new or idle else None,
            backlog_rows=backlog_rows,
            latency_s=latency.mean_s,
            longest_latency_s=latency.longest_s,
            late_rows=latency.late_rows,
            judged_rows=latency.rows,
            latency_kind=latency.kind,
            batches=tuple(batches),
            in_batch=status.in_trigger,
            # A trigger that has found data works on it; before it has looked nobody knows.
            oldest_wait_s=now_s - self._answered_s if status.saw_data else None,
            overdue=self._silent_for(OVERDUE_STEPS, OVERDUE_BATCHES, now_s),
        )

    def _times(self, progress: BatchProgress) -> BatchTimes:
        opens, self._opened = not self._opened, self._opened or progress.rows > 0
        return BatchTimes(progress.rows, progress.started_s, progress.duration_s, opens)

    def _activity(self, news: bool, idle: bool, in_trigger: bool, now_s: float) -> Activity:
        # Between two triggers the query's thread lives, however long the interval or the silence:
        # only a trigger that does not end is suspicious.
        if news or not in_trigger:
            self._alive_s = now_s
        if self._silent_for(STALE_STEPS, STALE_BATCHES, now_s):
            return "stale"
        if news:
            return "fresh"
        return "idle" if idle else "waiting"

    def _silent_for(self, steps: float, batches: float, now_s: float) -> bool:
        patience_s = max(steps * self._step_s, batches * self._last_duration_s)
        return now_s - self._alive_s > patience_s

    def _count(self, progress: BatchProgress, latency: "_LatencySum") -> None:
        arrived = self._arrived_rows(progress)
        if self._last is not None:
            self._arrivals.add(arrived)
            self._completions.add(progress.rows)
        else:  # the first trigger of a run: nobody knows since when its rows were waiting
            self._arrivals.restart(progress.started_s)
            self._completions.restart(progress.finished_s)
        if progress.ran:
            latency.add(progress, self._collected_s(progress), self._waiting_rows or 0.0)
            self._last_duration_s = progress.duration_s
        self._last = progress

    def _collected_s(self, progress: BatchProgress) -> float | None:
        """How long the rows of a batch had been gathering when it began."""
        if self._last is None:
            return None
        since_s = max(self._last.started_s, self._arrivals.covered_until_s or 0.0)
        return max(progress.started_s - since_s, 0.0)

    def _arrived_rows(self, progress: BatchProgress) -> float:
        """Rows that came between the last trigger and this one; notes how many wait."""
        arrived, waiting = 0.0, 0.0
        known = exact = bool(progress.sources)
        before = self._last.sources if self._last is not None else ()
        for at, source in enumerate(progress.sources):
            count = self._row_counts.setdefault(at, RowCount())
            count.learn(source.rows, advance(source.start, source.end))
            left = count.rows(_behind(source))
            known = known and left is not None
            waiting += left or 0.0
            earlier = before[at].latest if at < len(before) else None
            grown = count.rows(advance(earlier, source.latest))
            exact = exact and grown is not None
            arrived += source.rows if grown is None else grown
        self._waiting_rows = waiting if known else None
        self._kind = "source" if exact else "input"
        return arrived if progress.sources else progress.rows


def _behind(source: SourceProgress) -> int | None:
    if source.latest is None:
        return source.lag_offsets
    return advance(source.end, source.latest)


class _LatencySum:
    """Latencies of the batches of a step, weighted by their rows."""

    def __init__(self, target_s: float | None) -> None:
        self._target_s = target_s
        self.rows = 0
        self._sum_s = 0.0
        self._late_rows = 0.0
        self.longest_s: float | None = None
        self.kind: LatencyKind | None = None

    @property
    def mean_s(self) -> float | None:
        return self._sum_s / self.rows if self.rows else None

    @property
    def late_rows(self) -> float | None:
        return self._late_rows if self.rows and self._target_s is not None else None

    def add(self, progress: BatchProgress, collected_s: float | None, waiting_rows: float) -> None:
        """Until the batch was committed, which is when its results count."""
        times = progress.event_times
        if times is not None and times.mean_epoch_s <= progress.finished_s:
            mean_s = progress.finished_s - times.mean_epoch_s
            longest_s = progress.finished_s - times.first_epoch_s
            self._add(times.rows, mean_s, longest_s, "exact")
            if self._target_s is not None:
                self._late_rows += times.rows_before(progress.finished_s - self._target_s)
        elif progress.rows and collected_s is not None:
            # Rows arrive evenly while they gather, then wait behind those before them.
            queue_s = waiting_rows * progress.duration_s / progress.rows
            own_s = progress.duration_s + queue_s
            longest_s = collected_s + own_s
            self._add(progress.rows, collected_s / 2 + own_s, longest_s, "estimated")
            if self._target_s is not None:
                self._late_rows += progress.rows * evenly_late(longest_s, own_s, self._target_s)

    def _add(self, rows: int, mean_s: float, longest_s: float, kind: LatencyKind) -> None:
        self.rows += rows
        self._sum_s += rows * mean_s
        self.longest_s = longest_s if self.longest_s is None else max(self.longest_s, longest_s)
        if self.kind != "estimated":
            self.kind = kind
