"""A micro-batch under way: what of it is left, and what it has run on so far."""

import math
from dataclasses import dataclass

from mpc.simulation.row_queue import TakenRows


@dataclass(slots=True)
class RunningBatch:
    started_s: float
    rows: TakenRows
    cycles: float
    overhead_left_s: float
    cycles_left: float
    warm_executors: int = 0
    """Of all that ever started, those that had when the batch before began."""
    work_s: float = 0.0
    executor_s: float = 0.0
    """Time each executor worked on it, summed."""
    executor_cycles: float = 0.0
    """Cycles they would have had in that time by their frequency."""

    def finishes_s(self, now_s: float, speed_hz: float) -> float:
        return now_s + self.overhead_left_s + self.cycles_left / speed_hz if speed_hz else math.inf

    def advance(
        self, duration_s: float, executors: int, speed_hz: float, frequency_hz: float
    ) -> None:
        overhead_s = min(duration_s, self.overhead_left_s)
        self.overhead_left_s -= overhead_s
        work_s = duration_s - overhead_s
        self.cycles_left = max(self.cycles_left - speed_hz * work_s, 0.0)
        self.work_s += work_s
        self.executor_s += executors * work_s
        self.executor_cycles += executors * frequency_hz * work_s

    def lose(self, lost: int, executors: int) -> None:
        """What lost executors had done of this batch is done again: its output went with them."""
        self.cycles_left += (self.cycles - self.cycles_left) * lost / executors
