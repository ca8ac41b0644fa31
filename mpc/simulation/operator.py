"""The paper's plant: an elastic partitioned-stateful operator, simulated event by event.

It implements the three ports of the control loop. A policy sees the rows of Table 1 of De Matteis
and Mencagli 2016, the wait and latency of the step and nothing more; what a judge needs is kept in
`records`.
"""

import math
from dataclasses import dataclass

import numpy as np

from energy.power import PowerModel
from forecasting.variability import dispersion_index
from mpc.balance import balanced
from mpc.events import Events
from mpc.simulation import operator_kernel as kernel
from mpc.simulation.series import TraceClock
from mpc.simulation.trace import TriggerTrace
from mpc.values import (
    Applied,
    Configuration,
    ConfigurationSpace,
    FloatArray,
    IntArray,
    Measurement,
)

QUEUE_CAPACITY = 512
"""Queued triggers at which a replica counts as holding the splitter back (SPL's congestion)."""

DISPERSION_WINDOW_S = 0.01


@dataclass(frozen=True, slots=True)
class PlantStep:
    """What one step really was."""

    configuration: Configuration
    arrivals_per_s: float
    latency_s: float | None
    """Mean over the results of the step; None if there was none."""
    power_w: float
    oldest_wait_s: float | None = None
    """Age of the oldest item without a result, at the end of the step."""

    @property
    def judged_latency_s(self) -> float | None:
        """What the step counts as: the mean over its results. A step in which items arrived and
        none has a result counts as what the oldest of them has waited, and as infinitely late where
        that is not known. None: nothing to judge."""
        if self.latency_s is None and self.arrivals_per_s > 0:
            return math.inf if self.oldest_wait_s is None else self.oldest_wait_s
        return self.latency_s

    def violates(self, threshold_s: float) -> bool:
        """The mean latency of the step is above the threshold (De Matteis and Mencagli 2016,
        section 5.3.2)."""
        return self.judged_latency_s is not None and self.judged_latency_s > threshold_s


class OperatorPlant:
    """Serves a trigger trace with the configuration and distribution table last applied."""

    def __init__(
        self,
        trace: TriggerTrace,
        space: ConfigurationSpace,
        power: PowerModel,
        cycles_per_point: float,
        step_s: float = 1.0,
        start: Configuration | None = None,
        *,
        clock: TraceClock | None = None,
    ) -> None:
        self._trace = trace
        self._step_s = step_s
        self._clock = clock
        self._power = power
        self._steps = int(trace.duration_s // step_s)
        self._step = 0
        self._current = start or space.largest
        self._state = kernel.new_state(
            trace.time_s,
            trace.key,
            trace.points * cycles_per_point,
            trace.keys,
            space.max_executors,
            self._steps,
        )
        even = np.full(trace.keys, 1.0 / trace.keys)
        self._state.owner[:] = balanced(even, self._current.executors)
        self._state.owner_of_version[:, 0] = self._state.owner
        self._measurement: Measurement | None = None
        self.records: list[PlantStep] = []

    @property
    def result_latencies_s(self) -> FloatArray:
        """Latency of every result so far."""
        latencies = self._state.latency_s
        return np.asarray(latencies[np.isfinite(latencies)])

    @property
    def unfinished(self) -> int:
        """Triggers that arrived and have no result yet."""
        arrived = int(self._state.clock[kernel.NEXT_TRIGGER])
        return arrived - len(self.result_latencies_s)

    def wait_for_step(self) -> bool:
        if self._step == self._steps:
            return False
        begin_s = self._step * self._step_s
        end_s = begin_s + self._step_s
        state = self._state
        state.step_sums[:] = 0
        state.key_cycles[:] = 0
        state.key_completed[:] = 0
        state.clock[kernel.BLOCKED_SINCE] = begin_s
        kernel.run_until(state, end_s, self._current.frequency_khz * 1e3, QUEUE_CAPACITY)
        if state.clock[kernel.BLOCKED_REPLICAS] > 0:
            state.step_sums[kernel.BLOCKED] += end_s - state.clock[kernel.BLOCKED_SINCE]
        self._step += 1
        self._measurement = self._measured(begin_s, end_s)
        self.records.append(
            PlantStep(
                configuration=self._current,
                arrivals_per_s=self._measurement.arrivals_per_s or 0.0,
                latency_s=self._measurement.latency_s,
                power_w=self._measurement.power_w or 0.0,
                oldest_wait_s=self._measurement.oldest_wait_s,
            )
        )
        return True

    def measure(self, _ran: Applied) -> tuple[Measurement, Events]:
        if self._measurement is None:
            raise RuntimeError("measure() before the first step has run; call wait_for_step()")
        return self._measurement, ()

    def watch(self) -> tuple[Applied, Events]:
        return Applied(requested=self._current, observed=self._current), ()

    def steer(
        self, target: Configuration, key_owners: IntArray | None = None
    ) -> tuple[Applied, Events]:
        now_s = self._step * self._step_s
        old, new = self._current, target
        if new.frequency_khz != old.frequency_khz:
            kernel.change_frequency(
                self._state, now_s, old.frequency_khz * 1e3, new.frequency_khz * 1e3
            )
        owners = key_owners
        if owners is None and new.executors != old.executors:
            owners = balanced(self._key_weights(), new.executors)
        if owners is not None:
            if owners.min() < 0 or owners.max() >= new.executors:
                raise ValueError(f"key_owners must be within 0..{new.executors - 1}")
            kernel.change_table(
                self._state, self._step, owners, now_s, new.frequency_khz * 1e3, QUEUE_CAPACITY
            )
        self._current = new
        return self.watch()

    def _key_weights(self) -> FloatArray:
        """Of the last step, as far as it was measured."""
        measured = self._measurement
        if measured is None or measured.key_frequencies is None or measured.key_cost_cycles is None:
            return np.full(self._trace.keys, 1.0 / self._trace.keys)
        return measured.key_frequencies * measured.key_cost_cycles

    def _measured(self, begin_s: float, end_s: float) -> Measurement:
        sums = self._state.step_sums
        completed = sums[kernel.COMPLETED]
        counts = self._trace.key_counts[int(begin_s) : int(np.ceil(end_s))].sum(axis=0)
        cost_cycles = sums[kernel.CYCLES] / completed if completed else None
        key_cost = None
        if cost_cycles is not None:
            key_cost = np.full(self._trace.keys, cost_cycles)
            sampled = self._state.key_completed > 0
            key_cost[sampled] = self._state.key_cycles[sampled] / self._state.key_completed[sampled]
        return Measurement(
            step=self._step,
            time_s=end_s,
            clock_s=None if self._clock is None else self._clock.at(end_s),
            requested=self._current,
            observed=self._current,
            arrivals_per_s=float(sums[kernel.ARRIVALS]) / self._step_s,
            arrival_cv=_cv(sums[kernel.GAP], sums[kernel.GAP_SQUARED], sums[kernel.GAPS]),
            arrival_dispersion=self._dispersion(begin_s, end_s),
            completions_per_s=float(completed) / self._step_s,
            cost_cycles=None if cost_cycles is None else float(cost_cycles),
            cost_cv=_cv(sums[kernel.CYCLES], sums[kernel.CYCLES_SQUARED], completed),
            key_frequencies=counts / counts.sum() if counts.sum() else None,
            key_cost_cycles=key_cost,
            wait_s=float(sums[kernel.WAIT] / completed) if completed else None,
            latency_s=float(sums[kernel.LATENCY] / completed) if completed else None,
            oldest_wait_s=None if completed else self._oldest_wait_s(end_s),
            congestion=float(min(sums[kernel.BLOCKED] / self._step_s, 1.0)),
            power_w=float(
                self._power.power_w(self._current.executors, self._current.frequency_khz)
            ),
        )

    def _oldest_wait_s(self, now_s: float) -> float | None:
        """Of the triggers without a result. Asked only when nothing came out: otherwise the mean
        over the results is what the paper controls."""
        arrived = int(self._state.clock[kernel.NEXT_TRIGGER])
        (waiting,) = np.nonzero(~np.isfinite(self._state.latency_s[:arrived]))
        return float(now_s - self._trace.time_s[waiting[0]]) if len(waiting) else None

    def _dispersion(self, begin_s: float, end_s: float) -> float | None:
        first, last = np.searchsorted(self._trace.time_s, (begin_s, end_s))
        windows = round((end_s - begin_s) / DISPERSION_WINDOW_S)
        counts, _ = np.histogram(
            self._trace.time_s[first:last], bins=windows, range=(begin_s, end_s)
        )
        return dispersion_index(counts.astype(np.float64))


def _cv(total: float, squared: float, count: float) -> float | None:
    if count < 2 or total <= 0:
        return None
    mean = total / count
    return float(np.sqrt(max(squared / count - mean * mean, 0.0)) / mean)
