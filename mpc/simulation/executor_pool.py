"""Executors that take time to start and are lost at random, as a cluster master keeps them.

The pool holds the number it was asked for: executors start after a random delay, one that is lost
is replaced after another, and scaling in acts at once.
"""

import heapq
import math

import numpy as np


class ExecutorPool:
    def __init__(
        self,
        executors: int,
        startup_s: float,
        startup_cv: float,
        losses_per_executor_hour: float,
        generator: np.random.Generator,
    ) -> None:
        self._startup_s = startup_s
        self._startup_cv = startup_cv
        self._losses_per_s = losses_per_executor_hour / 3600.0
        self._generator = generator
        self._starting: list[float] = []
        """Heap of the times at which the executors asked for register."""
        self._live: list[float] = [self._lost_at_s(0.0) for _ in range(executors)]
        """Heap of the times at which the live executors will be lost; infinite for never."""
        heapq.heapify(self._live)
        self._target = executors
        self.started = 0
        """How many have come since the beginning, without those it began with."""

    @property
    def live(self) -> int:
        return len(self._live)

    @property
    def starting(self) -> int:
        return len(self._starting)

    @property
    def next_event_s(self) -> float:
        return min(self._starting[0] if self._starting else math.inf, self._next_loss_s)

    def retarget(self, executors: int, now_s: float) -> None:
        """Ask for so many: starts first what is missing, gives up first what has not started."""
        self._target = executors
        while self.live + self.starting > executors:
            if self._starting:
                self._starting.remove(max(self._starting))
                heapq.heapify(self._starting)
            else:
                # Lifetimes are memoryless, so which one goes tells nothing about the others.
                self._live.pop()
        self._start_missing(now_s)

    def settle(self, now_s: float) -> int:
        """Let everything due happen; returns how many executors were lost."""
        lost = 0
        while self._next_loss_s <= now_s:
            heapq.heappop(self._live)
            lost += 1
        while self._starting and self._starting[0] <= now_s:
            heapq.heappop(self._starting)
            heapq.heappush(self._live, self._lost_at_s(now_s))
            self.started += 1
        self._start_missing(now_s)
        return lost

    def lose(self, executors: int, now_s: float) -> int:
        """Lose so many at once, as when a host dies; returns how many there were to lose."""
        lost = min(executors, self.live)
        # Lifetimes are memoryless: which ones go tells nothing about the others.
        del self._live[self.live - lost :]
        self._start_missing(now_s)
        return lost

    @property
    def _next_loss_s(self) -> float:
        return self._live[0] if self._live else math.inf

    def _start_missing(self, now_s: float) -> None:
        for _ in range(self._target - self.live - self.starting):
            delay_s = self._startup_s * positive_noise(self._generator, self._startup_cv)
            heapq.heappush(self._starting, now_s + delay_s)

    def _lost_at_s(self, now_s: float) -> float:
        if self._losses_per_s <= 0:
            return math.inf
        return now_s + float(self._generator.exponential(1.0 / self._losses_per_s))


def positive_noise(generator: np.random.Generator, cv: float) -> float:
    """A lognormal factor of mean 1 and the given coefficient of variation."""
    if cv <= 0:
        return 1.0
    variance = math.log1p(cv * cv)
    return float(generator.lognormal(-variance / 2.0, math.sqrt(variance)))
