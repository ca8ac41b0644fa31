"""A second plant, with the traits of Spark Structured Streaming: it works in micro-batches.

Batches have an overhead, executors start late and get lost, a frequency acts at once. Every row
that arrives is in exactly one batch; its latency runs from its arrival to the end of that batch.
Power is the model's for executors that are always busy, which makes an idle engine too expensive,
unless `idle_share` says what an idle executor draws.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from energy.power import PowerModel
from mpc.events import Events
from mpc.objective import evenly_late
from mpc.simulation.executor_pool import ExecutorPool, positive_noise
from mpc.simulation.operator import PlantStep
from mpc.simulation.row_queue import RowQueue, TakenRows
from mpc.simulation.running_batch import RunningBatch
from mpc.simulation.series import TraceClock
from mpc.simulation.told_arrivals import ToldArrivals
from mpc.values import (
    Applied,
    ArrivalsOrigin,
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
    useful_executors: int | None = None
    """Executors that find a task in a batch, the others stand idle; None: all of them."""
    told_by: ArrivalsOrigin | None = None
    """Who tells what arrived. batch: known when a batch ends, of the time before it began, as Spark
    reports it. source: known in every step, with the backlog. None: known in every step, and
    nothing said about who told."""
    cold_s: float = 0.0
    """How much longer a batch takes in which an executor runs its first tasks."""
    machine_hz: float | None = None
    """Clock cycles a second that there are for all executors together, where they are shares of
    one machine; None: each has its own."""
    starting_hz: float = 0.0
    """What of that an executor takes which is starting."""

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
        if self.useful_executors is not None and self.useful_executors < 1:
            raise ValueError(f"useful_executors must be at least 1, got {self.useful_executors}")
        spreads = (self.overhead_cv, self.row_cycles_cv, self.startup_cv)
        others = (self.losses_per_executor_hour, self.batch_cycles, self.cold_s, self.starting_hz)
        if min(*spreads, *others) < 0:
            raise ValueError(
                f"variations, losses, batch_cycles, cold_s and starting_hz must not be negative, "
                f"got {self}"
            )
        if self.machine_hz is not None and self.machine_hz <= 0:
            raise ValueError(f"machine_hz must be positive, got {self.machine_hz}")


@dataclass(frozen=True, slots=True)
class FinishedBatch:
    started_s: float
    finished_s: float
    rows: TakenRows
    cycles: float
    ran_on: Configuration
    """Averages over the batch, rounded."""
    cold: bool = False
    """Executors may have run their first tasks in it, by what a sensor sees."""

    @property
    def latency_sum_s(self) -> float:
        return self.rows.rows * self.finished_s - self.rows.arrival_sum_s

    @property
    def wait_sum_s(self) -> float:
        return self.rows.rows * self.started_s - self.rows.arrival_sum_s


class MicroBatchPlant:
    """Serves a series of rates, one a step, with the configuration last applied.

    Within a step rows arrive evenly spaced. Executors share a batch perfectly, also those that
    register or leave while it runs. A starting executor draws power but does no work.

    `idle_share` is what an executor adds to the power while it works on no rows, as a share of what
    it adds at work: between batches, and while the driver plans or commits one (the overhead).
    `losses` says how many executors are lost at the beginning of which step, counted from 1; those
    that take their place need their time to start.
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
        losses: Mapping[int, int] | None = None,
        target_s: float | None = None,
        clock: TraceClock | None = None,
    ) -> None:
        """`target_s` tells which rows are late; None: nobody asks. `clock`: None where nobody knows
        when the rates were recorded."""
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
        self._losses = dict(losses or {})
        self._target_s = target_s
        self._clock = clock
        self._pool = ExecutorPool(
            start.executors,
            traits.startup_s,
            traits.startup_cv,
            traits.losses_per_executor_hour,
            generator,
        )
        self._requested = start
        self._queue = RowQueue()
        self._batch: RunningBatch | None = None
        self._known_started, self._warm_started = 0, 0
        """Executors that had started when the last batch began, and when the one before it did."""
        told_by = traits.told_by
        self._told = None if told_by is None else ToldArrivals(told_by, step_s)
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

    @property
    def _oldest_wait_s(self) -> float | None:
        arrived_s = self._queue.next_arrival_s
        if self._batch is not None:
            arrived_s = self._batch.rows.first_arrival_s
        return None if arrived_s is None or arrived_s > self._now_s else self._now_s - arrived_s

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
        self._lose(self._losses.get(self._step, 0))
        self._run_until(end_s)
        measured = self._measured(rows, self.finished[batches_before:])
        self._measurement = measured
        self.records.append(
            PlantStep(
                configuration=self.observed,
                arrivals_per_s=rows / self._step_s,
                latency_s=measured.latency_s,
                power_w=self._energy_j / self._step_s,
                oldest_wait_s=measured.oldest_wait_s,
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
            executors = self._working
            frequency_hz = self._requested.frequency_khz * 1e3
            speed_hz = self._speed_hz(executors * frequency_hz)
            if self._batch is None:
                batch_event_s = self._begins_s()
            else:
                batch_event_s = self._batch.finishes_s(self._now_s, speed_hz)
            event_s = max(min(end_s, self._pool.next_event_s, batch_event_s), self._now_s)
            duration_s = event_s - self._now_s
            self._account(duration_s)
            self._now_s = event_s
            if self._batch is not None:
                self._batch.advance(duration_s, executors, speed_hz, frequency_hz)
                if event_s == batch_event_s:
                    self._finish(self._batch)
                    self._batch = None
            lost = self._pool.settle(self._now_s)
            if lost and self._batch is not None:
                self._batch.lose(min(lost, executors), executors)

    @property
    def _working(self) -> int:
        """Executors that find a task."""
        useful = self._traits.useful_executors
        return self._pool.live if useful is None else min(self._pool.live, useful)

    def _lose(self, executors: int) -> None:
        working = self._working
        lost = self._pool.lose(executors, self._now_s)
        if lost and self._batch is not None:
            self._batch.lose(min(lost, working), working)

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

    def _begun(self) -> RunningBatch | None:
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
        overhead_s = traits.overhead_s * positive_noise(self._generator, traits.overhead_cv)
        self._warm_started, self._known_started = self._known_started, self._pool.started
        if self._known_started > self._warm_started:
            overhead_s += traits.cold_s
        return RunningBatch(
            started_s=self._now_s,
            rows=rows,
            cycles=cycles,
            overhead_left_s=overhead_s,
            cycles_left=cycles,
            warm_executors=self._warm_started,
        )

    def _speed_hz(self, nominal_hz: float) -> float:
        """Of all executors; those that start take their part of a machine that is shared."""
        machine_hz = self._traits.machine_hz
        if machine_hz is None:
            return nominal_hz
        demand_hz = nominal_hz + self._pool.starting * self._traits.starting_hz
        return nominal_hz * min(1.0, machine_hz / demand_hz) if demand_hz > 0 else 0.0

    def _taken(self) -> TakenRows | None:
        """The rows of a batch that begins now: all that have arrived."""
        return self._queue.take(self._now_s)

    def _mean_cycles(self, rows: TakenRows) -> float:
        """Of the rows alone."""
        return rows.rows * self._traits.row_cycles

    def _finish(self, batch: RunningBatch) -> None:
        # A work phase below the clock's resolution leaves no averages.
        ran_on = self.observed
        if batch.executor_s > 0:
            ran_on = Configuration(
                max(round(batch.executor_s / batch.work_s), 1),
                round(batch.executor_cycles / batch.executor_s / 1e3),
            )
        self.finished.append(
            FinishedBatch(
                batch.started_s,
                self._now_s,
                batch.rows,
                batch.cycles,
                ran_on,
                cold=self._traits.cold_s > 0 and self._pool.started > batch.warm_executors,
            )
        )

    def _account(self, duration_s: float) -> None:
        """Energy and executor time of a span in which executors and frequency are constant."""
        live, starting = self._pool.live, self._pool.starting
        self.executor_s += duration_s * (live + starting)
        working_s = 0.0
        if self._batch is not None:
            working_s = max(duration_s - self._batch.overhead_left_s, 0.0)
        idle_w = self._draws_w(starting + self._idle_share * live)
        idle = live - self._working
        busy_w = self._draws_w(starting + self._working + self._idle_share * idle)
        self._energy_j += duration_s * idle_w + working_s * (busy_w - idle_w)

    def _draws_w(self, busy_executors: float) -> float:
        return float(self._power.power_w(busy_executors, self._requested.frequency_khz))

    def _late_share(self, batches: Sequence[FinishedBatch]) -> float | None:
        if self._target_s is None or not batches:
            return None
        late = sum(late_rows(batch, self._target_s) for batch in batches)
        return late / sum(batch.rows.rows for batch in batches)

    def _measured(self, arrived: int, batches: Sequence[FinishedBatch]) -> Measurement:
        rows = sum(batch.rows.rows for batch in batches)
        measured = Measurement(
            step=self._step,
            time_s=self._now_s,
            requested=self._requested,
            observed=self.observed,
            arrivals_per_s=arrived / self._step_s,
            completions_per_s=rows / self._step_s,
            cost_cycles=sum(batch.cycles for batch in batches) / rows if rows else None,
            wait_s=sum(batch.wait_sum_s for batch in batches) / rows if rows else None,
            latency_s=sum(batch.latency_sum_s for batch in batches) / rows if rows else None,
            oldest_wait_s=self._oldest_wait_s,
            late_share=self._late_share(batches),
            batches=tuple(
                BatchSample(
                    batch.rows.rows, batch.finished_s - batch.started_s, batch.ran_on, batch.cold
                )
                for batch in batches
            ),
            trigger_interval_s=self._traits.trigger_interval_s,
            useful_executors=self._traits.useful_executors,
            startup_s=self._traits.startup_s,
            power_w=self._energy_j / self._step_s,
            power_source="modelled",
            clock_s=None if self._clock is None else self._clock.at(self._now_s),
        )
        if self._told is None:
            return measured
        return self._told.as_told(measured, batches, self.unfinished)


def late_rows(batch: FinishedBatch, target_s: float) -> float:
    """Rows above the target, taking them as spread evenly from the first to the last arrival."""
    rows = batch.rows
    longest_s, shortest_s = (
        batch.finished_s - arrival_s for arrival_s in (rows.first_arrival_s, rows.last_arrival_s)
    )
    return rows.rows * evenly_late(longest_s, shortest_s, target_s)


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
