"""What the sensor has to say about each query in one step.

Values only; the sum of the queries is the `Measurement`. They go to the journal beside it.
"""

from dataclasses import dataclass
from typing import Literal

from mpc.values import ArrivalsOrigin, LatencyKind

ArrivalsKind = Literal["source", "input"]
"""source: growth of the newest offset at the source, also true when the query lags behind.
input: rows the query took, which hides those it has not come to yet."""

Activity = Literal["fresh", "idle", "waiting", "stale"]
"""fresh: at least one trigger has ended since the last step. idle: everything that arrived is done.
waiting: a batch runs, or the next trigger is not due. stale: a batch has run for suspiciously
long, or the query cannot be read."""


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """A batch that ended; times in seconds since 1970."""

    rows: int
    started_s: float
    duration_s: float
    opens: bool = False
    """The run had no rows before it: code is loaded and compiled that later batches find ready."""

    @property
    def finished_s(self) -> float:
        return self.started_s + self.duration_s


@dataclass(frozen=True, slots=True)
class QueryReading:
    """One query over one step. None: not known in this step."""

    query: str
    """Its name, or its run id where it has none."""
    activity: Activity
    arrivals_per_s: float | None = None
    arrivals_kind: ArrivalsKind = "input"
    arrivals_span_s: float | None = None
    """The time that rate is over; longer than a step where batches are."""
    arrivals_until_s: float | None = None
    """When that time ended, wall time: a batch counts when it begins, and tells when it ends."""
    completions_per_s: float | None = None
    completed_rows: int = 0
    """In the batches that ended in this step."""
    waiting_rows: float | None = None
    """At the source, in no batch yet; None where the source does not tell."""
    backlog_rows: float | None = None
    """Arrived and without a result: those that wait, and those of the batch that runs."""
    latency_s: float | None = None
    """Mean over rows, from their event time or estimated arrival to the commit of their batch."""
    longest_latency_s: float | None = None
    late_rows: float | None = None
    """Of the rows with a latency, those above the target."""
    judged_rows: int = 0
    """The rows with a latency."""
    latency_kind: LatencyKind | None = None
    batches: tuple[BatchTimes, ...] = ()
    in_batch: bool = False
    """Whether a trigger is at work as the step ends."""
    oldest_wait_s: float | None = None
    """Age of the oldest row without a result, at least; None: none waits, as far as is known."""
    overdue: bool = False
    """Its batch has run for clearly longer than the one before: what it told last is old."""
    origin: ArrivalsOrigin = "batch"
    """source: its sources are asked in every step; what they say is below."""
    source_arrivals_per_s: float | None = None
    """Growth of what had come at the sources, since they were last asked."""
    source_span_s: float | None = None
    """The time that rate is over."""
    source_backlog_rows: float | None = None
    """As `backlog_rows`, counted at the sources."""

    @property
    def mean_duration_s(self) -> float:
        """How long the batch of a row took, over the rows of this step."""
        rows = sum(batch.rows for batch in self.batches)
        total_s = sum(batch.rows * batch.duration_s for batch in self.batches)
        return total_s / rows if rows else 0.0


@dataclass(frozen=True, slots=True)
class BatchMoment:
    """Where the batches of an application are, for who must not disturb them."""

    between: bool = True
    """Every query is between two batches, or has only just ended one."""
    longest_s: float = 0.0
    """How long the last batch of a query took, of several the longest; 0: none has ended yet."""
