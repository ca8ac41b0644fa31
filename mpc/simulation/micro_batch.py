"""A second plant, with the traits of Spark Structured Streaming: it works in micro-batches.

Batches have an overhead, executors start late and get lost, a frequency acts at once. Every row
that arrives is in exactly one batch; its latency runs from its arrival to the end of that batch.
Power is the model's for executors that are always busy, which makes an idle engine too expensive,
unless `idle_share` says what an idle executor draws.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from energy.power import PowerModel
from mpc.events import Events
from mpc.simulation.executor_pool import ExecutorPool, positive_noise
from mpc.simulation.operator import PlantStep
from mpc.simulation.row_queue import RowQueue, TakenRows
from mpc.values import (
    Applied,
    BatchSample,
    Configuration,
    FloatArray,
    IntArray,
    Measurement,
)


@dataclass(frozen=True, slots=True)
class MicroBatchTraits:
    """What the engine and its cluster are like. Every cv is a coefficient of variation."""

    overhead_s: float
    row_cycles: float
    trigger_interval_s: float | None = None
    """None starts the next batch as soon as the last one has ended."""
    overhead_cv: float = 0.2
    row_cycles_cv: float = 0.05
    """Of the mean of a batch; rows within a batch even out."""
    startup_s: float = 10.0
    startup_cv: float = 0.3
    losses_per_executor_hour: float = 0.0
    batch_cycles: float = 0.0
    """Work of every batch whatever its rows, which executors share: starting tasks and their Python
    workers, reading and writing state. The overhead is the driver's and waits for nobody."""

    def __post_init__(self) -> None:
        if not (self.overhead_s > 0 and self.row_cycles > 0 and self.startup_s >= 0):
            raise ValueError(
                f"overhead_s and row_cycles must be positive and startup_s at least 0, got "
                f"{self.overhead_s}, {self.row_cycles} and {self.startup_s}"
            )
        if self.trigger_interval_s is not None and self.trigger_interval_s <= 0:
            raise ValueError(
                f"trigger_interval_s must be positive, or None for back to back, got "
                f"{self.trigger_interval_s}"
            )
        spreads = (self.overhead_cv, self.row_cycles_cv, self.startup_cv)
        if min(*spreads, self.losses_per_executor_hour, self.batch_cycles) < 0:
            raise ValueError(
                f"variations, losses and batch_cycles must not be negative, got {self}"
            )


@dataclass(frozen=True, slots=True)
class FinishedBatch:
    started_s: float
    finished_s: float
    rows: TakenRows
    cycles: float
    ran_on: Configuration
    """Averages over the batch, rounded."""

    @property
    def latency_sum_s(self) -> float:
        return self.rows.rows * self.finished_s - self.rows.arrival_sum_s

    @property
    def wait_sum_s(self) -> float:
        return self.rows.rows * self.started_s - self.rows.arrival_sum_s


@dataclass(slots=True)
class _RunningBatch:
    started_s: float
    rows: TakenRows
    cycles: float
    overhead_left_s: float
    cycles_left: float
    work_s: float = 0.0
    executor_s: float = 0.0
    """Time each executor worked on it, summed."""
    executor_cycles: float = 0.0
    """Cycles they had in that time."""

    def finishes_s(self, now_s: float, speed_hz: float) -> float:
        return now_s + self.overhead_left_s + self.cycles_left / speed_hz if speed_hz else math.inf

    def advance(self, duration_s: float, executors: int, speed_hz: float) -> None:
        overhead_s = min(duration_s, self.overhead_left_s)
        self.overhead_left_s -= overhead_s
        work_s = duration_s - overhead_s
        self.cycles_left = max(self.cycles_left - speed_hz * work_s, 0.0)
        self.work_s += work_s
        self.executor_s += executors * work_s
        self.executor_cycles += speed_hz * work_s

    def lose(self, lost: int, executors: int) -> None:
        """What lost executors had done of this batch is done again: its output went with them."""
        self.cycles_left += (self.cycles - self.cycles_left) * lost / executors


class MicroBatchPlant:
    """Serves a series of rates, one a step, with the configuration last applied.

    Within a step rows arrive evenly spaced. Executors share a batch perfectly, also those that
    register or leave while it runs. A starting executor draws power but does no work.

    `idle_share` is what an executor adds to the power while it works on no rows, as a share of what
    it adds at work: between batches, and while the driver plans or commits one (the overhead).
    """

    def __init__(
        self,
        rates_per_s: FloatArray,
        traits: MicroBatchTraits,
        power: PowerModel,
        start: Configuration,
        generator: np.random.Generator,
        *,
        step_s: float = 1.0,
        idle_share: float = 1.0,
    ) -> None:
        if not 0.0 <= idle_share <= 1.0:
            raise ValueError(f"idle_share must be between 0 and 1, got {idle_share}")
        if not (np.isfinite(rates_per_s).all() and (rates_per_s >= 0).all()):
            raise ValueError("rates_per_s must be finite and not negative")
        # Whole rows: fractions are carried over to the next step.
        due = np.floor(np.cumsum(rates_per_s * step_s) + 1e-9).astype(np.int64)
        self._arrivals = np.diff(due, prepend=0)
        self._traits = traits
        self._power = power
        self._generator = generator
        self._step_s = step_s
        self._idle_share = idle_share
        self._pool = ExecutorPool(
            start.executors,
            traits.startup_s,
            traits.startup_cv,
            traits.losses_per_executor_hour,
            generator,
        )
        self._requested = start
        self._queue = RowQueue()
        self._batch: _RunningBatch | None = None
        self._next_trigger_s = 0.0
        self._step = 0
        self._now_s = 0.0
        self._energy_j = 0.0
        self._measurement: Measurement | None = None
        self.records: list[PlantStep] = []
        self.finished: list[FinishedBatch] = []
        self.executor_s = 0.0
        """Time that executors were held, starting ones too, summed over them."""

    @property
    def observed(self) -> Configuration:
        return Configuration(self._pool.live, self._requested.frequency_khz)

    @property
    def unfinished(self) -> int:
        """Rows that arrived and have no result yet."""
        return self._queue.untaken + (self._batch.rows.rows if self._batch else 0)

    def wait_for_step(self) -> bool:
        if self._step == len(self._arrivals):
            return False
        rows = int(self._arrivals[self._step])
        begin_s = self._step * self._step_s
        self._step += 1
        end_s = self._step * self._step_s
        self._queue.add(begin_s, end_s, rows)
        self._energy_j = 0.0
        batches_before = len(self.finished)
        self._run_until(end_s)
        measured = self._measured(rows, self.finished[batches_before:])
        self._measurement = measured
        self.records.append(
            PlantStep(
                configuration=self.observed,
                arrivals_per_s=rows / self._step_s,
                latency_s=measured.latency_s,
                power_w=self._energy_j / self._step_s,
                moved_keys=0,
            )
        )
        return True

    def measure(self, _ran: Applied) -> tuple[Measurement, Events]:
        if self._measurement is None:
            raise RuntimeError("measure() before the first step has run; call wait_for_step()")
        return self._measurement, ()

    def steer(
        self, target: Configuration, _key_owners: IntArray | None = None
    ) -> tuple[Applied, Events]:
        self._requested = target
        self._pool.retarget(target.executors, self._now_s)
        return self.watch()

    def watch(self) -> tuple[Applied, Events]:
        return Applied(requested=self._requested, observed=self.observed), ()

    def _run_until(self, end_s: float) -> None:
        """From event to event; between two of them executors and frequency are constant."""
        while self._now_s < end_s:
            if self._batch is None and self._begins_s() <= self._now_s:
                self._batch = self._begun()
            executors = self._pool.live
            speed_hz = executors * self._requested.frequency_khz * 1e3
            if self._batch is None:
                batch_event_s = self._begins_s()
            else:
                batch_event_s = self._batch.finishes_s(self._now_s, speed_hz)
            event_s = max(min(end_s, self._pool.next_event_s, batch_event_s), self._now_s)
            duration_s = event_s - self._now_s
            self._account(duration_s)
            self._now_s = event_s
            if self._batch is not None:
                self._batch.advance(duration_s, executors, speed_hz)
                if event_s == batch_event_s:
                    self._finish(self._batch)
                    self._batch = None
            lost = self._pool.settle(self._now_s)
            if lost and self._batch is not None:
                self._batch.lose(lost, executors)

    def _begins_s(self) -> float:
        """When an idle engine begins its next batch, as far as arrivals are known."""
        arrival_s = self._queue.next_arrival_s
        if arrival_s is None:
            return math.inf
        interval_s = self._traits.trigger_interval_s
        if interval_s is None:
            return max(arrival_s, self._now_s)
        trigger_s = max(self._next_trigger_s, self._now_s)
        if arrival_s <= trigger_s:
            return trigger_s
        # A trigger that finds no rows passes; Spark waits for the next multiple of the interval.
        return max(math.ceil(arrival_s / interval_s) * interval_s, arrival_s)

    def _begun(self) -> _RunningBatch | None:
        rows = self._taken()
        if rows is None:
            return None
        traits = self._traits
        if traits.trigger_interval_s is not None:
            # As Spark's ProcessingTimeExecutor: a batch that overruns is followed at once.
            # A multiple of the interval, divided by it, may round to just below a whole number.
            passed = math.floor(self._now_s / traits.trigger_interval_s + 1e-9)
            self._next_trigger_s = (passed + 1) * traits.trigger_interval_s
        mean_cycles = traits.batch_cycles + self._mean_cycles(rows)
        cycles = mean_cycles * positive_noise(self._generator, traits.row_cycles_cv)
        return _RunningBatch(
            started_s=self._now_s,
            rows=rows,
            cycles=cycles,
            overhead_left_s=traits.overhead_s * positive_noise(self._generator, traits.overhead_cv),
            cycles_left=cycles,
        )

    def _taken(self) -> TakenRows | None:
        """The rows of a batch that begins now: all that have arrived."""
        return self._queue.take(self._now_s)

    def _mean_cycles(self, rows: TakenRows) -> float:
        """Of the rows alone."""
        return rows.rows * self._traits.row_cycles

    def _finish(self, batch: _RunningBatch) -> None:
        # A work phase below the clock's resolution leaves no averages.
        ran_on = self.observed
        if batch.executor_s > 0:
            ran_on = Configuration(
                max(round(batch.executor_s / batch.work_s), 1),
                round(batch.executor_cycles / batch.executor_s / 1e3),
            )
        self.finished.append(
            FinishedBatch(batch.started_s, self._now_s, batch.rows, batch.cycles, ran_on)
        )

    def _account(self, duration_s: float) -> None:
        """Energy and executor time of a span in which executors and frequency are constant."""
        live, starting = self._pool.live, self._pool.starting
        self.executor_s += duration_s * (live + starting)
        working_s = 0.0
        if self._batch is not None:
            working_s = max(duration_s - self._batch.overhead_left_s, 0.0)
        idle_w = self._draws_w(starting + self._idle_share * live)
        busy_w = self._draws_w(starting + live)
        self._energy_j += duration_s * idle_w + working_s * (busy_w - idle_w)

    def _draws_w(self, busy_executors: float) -> float:
        return float(self._power.power_w(busy_executors, self._requested.frequency_khz))

    def _measured(self, arrived: int, batches: Sequence[FinishedBatch]) -> Measurement:
        rows = sum(batch.rows.rows for batch in batches)
        return Measurement(
            step=self._step,
            time_s=self._now_s,
            requested=self._requested,
            observed=self.observed,
            arrivals_per_s=arrived / self._step_s,
            completions_per_s=rows / self._step_s,
            cost_cycles=sum(batch.cycles for batch in batches) / rows if rows else None,
            wait_s=sum(batch.wait_sum_s for batch in batches) / rows if rows else None,
            latency_s=sum(batch.latency_sum_s for batch in batches) / rows if rows else None,
            batches=tuple(
                BatchSample(batch.rows.rows, batch.finished_s - batch.started_s, batch.ran_on)
                for batch in batches
            ),
            trigger_interval_s=self._traits.trigger_interval_s,
            startup_s=self._traits.startup_s,
            power_w=self._energy_j / self._step_s,
            power_source="modelled",
        )


def latency_quantiles_s(batches: Sequence[FinishedBatch], quantiles: Sequence[float]) -> FloatArray:
    """Over rows, taking those of a batch as spread evenly from its first to its last arrival."""
    if not batches:
        raise ValueError("no batch has finished, so there is no latency")
    share = (np.arange(20) + 0.5) / 20
    longest_s = np.array([batch.finished_s - batch.rows.first_arrival_s for batch in batches])
    shortest_s = np.array([batch.finished_s - batch.rows.last_arrival_s for batch in batches])
    latencies_s = shortest_s[:, None] + (longest_s - shortest_s)[:, None] * share
    weights = np.repeat([float(batch.rows.rows) for batch in batches], len(share))
    return np.asarray(
        np.quantile(latencies_s.ravel(), quantiles, weights=weights, method="inverted_cdf")
    )
