"""What a sensor of Spark knows of a simulated stream, and when.

Batches tell what they completed when they end. What arrived is told by the source, in every step,
or by the batch: of the time before it began, when it ends (`runtime/spark/sensing`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from mpc.simulation.row_queue import TakenRows
from mpc.values import ArrivalsOrigin, Measurement


class EndedBatch(Protocol):
    @property
    def started_s(self) -> float: ...

    @property
    def finished_s(self) -> float: ...

    @property
    def rows(self) -> TakenRows: ...


class ToldArrivals:
    """One a run; told every step."""

    def __init__(self, told_by: ArrivalsOrigin, step_s: float) -> None:
        self._told_by = told_by
        self._step_s = step_s
        self._last: EndedBatch | None = None

    def as_told(
        self, measured: Measurement, batches: Sequence[EndedBatch], unfinished_rows: int
    ) -> Measurement:
        """`measured` without what nobody could know yet; `batches` ended in its step."""
        by_batch = self._told_by == "batch"
        told = replace(
            measured,
            arrivals_per_s=None if by_batch else measured.arrivals_per_s,
            arrivals_origin=self._told_by,
            completions_per_s=None,
            backlog_items=None if by_batch else float(unfinished_rows),
            latency_kind="exact",
        )
        if not batches:
            return told
        before, self._last = self._last, batches[-1]
        if before is None:
            # Nobody knows since when the rows of the first batch had been waiting.
            return told
        rows, newest = sum(batch.rows.rows for batch in batches), batches[-1]
        told = replace(told, completions_per_s=rows / (newest.finished_s - before.finished_s))
        if not by_batch:
            return told
        span_s, since_s = newest.started_s - before.started_s, measured.time_s - newest.started_s
        arrivals_per_s = rows / span_s
        return replace(
            told,
            arrivals_per_s=arrivals_per_s,
            arrivals_age_s=max(since_s + (span_s - self._step_s) / 2, 0.0),
            backlog_items=arrivals_per_s * since_s,
        )
