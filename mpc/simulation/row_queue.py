"""Rows that have arrived and wait for a micro-batch, without an object for each of them.

Rows of one span are spaced evenly over it, so their arrival times, and with them the latency of
any batch, follow in closed form and every row is counted exactly once.
"""

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TakenRows:
    rows: int
    arrival_sum_s: float
    """Sum of the arrival times: n rows that finish at t have a latency of n * t less this sum."""
    first_arrival_s: float
    last_arrival_s: float


@dataclass(slots=True)
class _Span:
    begin_s: float
    spacing_s: float
    rows: int
    taken: int = 0

    def arrival_s(self, row: int) -> float:
        return self.begin_s + (row + 0.5) * self.spacing_s

    def arrived_by(self, time_s: float) -> int:
        count = min(max(int((time_s - self.begin_s) / self.spacing_s + 0.5), 0), self.rows)
        # Division and multiplication round differently; agree with arrival_s exactly.
        while count < self.rows and self.arrival_s(count) <= time_s:
            count += 1
        while count > 0 and self.arrival_s(count - 1) > time_s:
            count -= 1
        return count


class RowQueue:
    """First come, first served; a batch takes whatever has arrived when it begins."""

    def __init__(self) -> None:
        self._spans: deque[_Span] = deque()

    def add(self, begin_s: float, end_s: float, rows: int) -> None:
        """Schedule rows over a span of time that begins no earlier than the last one ended."""
        if rows > 0:
            self._spans.append(_Span(begin_s, (end_s - begin_s) / rows, rows))

    @property
    def next_arrival_s(self) -> float | None:
        """When the first row that no batch has taken arrived or will; None if none is known."""
        return self._spans[0].arrival_s(self._spans[0].taken) if self._spans else None

    @property
    def untaken(self) -> int:
        return sum(span.rows - span.taken for span in self._spans)

    def take(self, time_s: float) -> TakenRows | None:
        """Remove every row that arrived until then; None if there is none."""
        first_arrival_s = self.next_arrival_s
        if first_arrival_s is None or first_arrival_s > time_s:
            return None
        rows, arrival_sum_s, last_arrival_s = 0, 0.0, first_arrival_s
        while self._spans:
            span = self._spans[0]
            begin, end = span.taken, span.arrived_by(time_s)
            if end == begin:
                break
            count = end - begin
            rows += count
            # Sum of begin_s + (i + 1/2) * spacing for i = begin..end-1.
            arrival_sum_s += count * span.begin_s + span.spacing_s * (end**2 - begin**2) / 2
            last_arrival_s = span.arrival_s(end - 1)
            span.taken = end
            if end < span.rows:
                break
            self._spans.popleft()
        return TakenRows(rows, arrival_sum_s, first_arrival_s, last_arrival_s)
