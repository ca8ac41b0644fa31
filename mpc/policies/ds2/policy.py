"""`ds2`: as many executors as the true processing rate of one asks for, as Flink's autoscaler does.

Source: Kalavri et al. 2018 (DS2), as built into the autoscaler of the Flink Kubernetes operator;
option names and defaults are those of its `job.autoscaler.*` (`utilization.target` 0.7 with
`target.utilization.boundary` 0.3, `metrics.window` 15 min, `stabilization.interval` 5 min,
`scale-down.interval` 1 h, `catch-up.duration` 30 min, `restart.time` 5 min, `scale-down.max-factor`
0.6, `backlog-processing.lag-threshold` 5 min). The capacity to have is arrivals / target
utilisation + lag / catch-up + arrivals * restart / catch-up. Within the band nothing changes; after
a change metrics are left alone for the stabilisation interval, and then a whole window is
collected. A scale-in waits for its interval and goes to the largest parallelism that was wanted in
it.

Deviations: one vertex. Useful time, which Flink takes from its busy-time metric, is the CPU time of
the rows, so that the overhead of micro-batches, a batch's planning and commit, is no capacity;
without CPU time it is the time batches ran. Lag is the backlog the source reports, otherwise
arrivals less completions summed up. Spark adds executors without a restart; what Flink provisions
for one is kept. It decides at every control step and does not round rates to whole records; the
scale-up factor, 100,000 by default there, is not limited; ineffective scale-ups are not detected,
which is Flink's default. While no batch ends there is no true rate, and like Flink's without one it
stays where it is. The frequency stays at its maximum.
"""

from collections import deque
from dataclasses import dataclass
from math import ceil, inf

from mpc.bounds import Bounds
from mpc.policies.context import Context
from mpc.policies.ds2.options import Ds2Options
from mpc.policies.full_speed import at_full_speed
from mpc.values import Decision, Measurement


@dataclass(frozen=True, slots=True)
class _Sample:
    time_s: float
    arrivals_per_s: float
    rows: float
    useful_s: float
    """Time that all executors together needed for the rows, had they done nothing else."""


class Ds2Policy:
    def __init__(self, options: Ds2Options, context: Context) -> None:
        self._space = context.space
        self._step_s = context.step_s
        self._options = options
        self._samples: deque[_Sample] = deque()
        self._lag_items = 0.0
        self._collects_from_s: float | None = None
        self._scale_downs: deque[tuple[float, int, bool]] = deque()
        """When, to how many, and whether outside the band; since the first that was not undone."""
        self._first_scale_down_s: float | None = None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        now_s = measurement.time_s
        if self._collects_from_s is None:
            self._collects_from_s = now_s + self._options.stabilisation_interval_s
        self._follow_lag(measurement)
        current = measurement.requested.executors
        executors, reason = current, "within the stabilisation interval"
        if now_s >= self._collects_from_s:
            self._collect(measurement)
            executors, reason = self._evaluated(current, now_s)
        decision = at_full_speed(measurement, bounds, executors, reason)
        if decision.target.executors != current:
            self._start_afresh(now_s)
        return decision

    def _follow_lag(self, measurement: Measurement) -> None:
        arrived, completed = measurement.arrivals_per_s, measurement.completions_per_s
        if measurement.backlog_items is not None:
            self._lag_items = measurement.backlog_items
        elif arrived is not None and completed is not None:
            self._lag_items = max(self._lag_items + (arrived - completed) * self._step_s, 0.0)

    def _collect(self, measurement: Measurement) -> None:
        if measurement.arrivals_per_s is None:
            return
        rows, useful_s = _useful(measurement, self._step_s)
        self._samples.append(
            _Sample(measurement.time_s, measurement.arrivals_per_s, rows, useful_s)
        )
        begin_s = measurement.time_s - self._options.metrics_window_s
        while self._samples[0].time_s < begin_s:
            self._samples.popleft()

    def _evaluated(self, current: int, now_s: float) -> tuple[int, str]:
        options = self._options
        if self._collects_from_s is None or not self._samples:
            return current, "nothing measured"
        if now_s - self._collects_from_s < options.metrics_window_s:
            return current, "the metrics window is not full yet"
        useful_s = sum(sample.useful_s for sample in self._samples)
        if useful_s <= 0:
            return current, "no true processing rate measured"
        true_per_s = sum(sample.rows for sample in self._samples) / useful_s
        arrivals_per_s = sum(sample.arrivals_per_s for sample in self._samples) / len(self._samples)

        factor = self._capacity_per_s(arrivals_per_s, options.target_utilisation) / true_per_s
        factor = max(factor, 1.0 - options.max_scale_down_factor)
        wanted = ceil(factor * current) if factor < inf else self._space.max_executors
        wanted = min(max(wanted, self._space.min_executors), self._space.max_executors)
        low_per_s, high_per_s = self._band_per_s(arrivals_per_s)
        outside = not low_per_s <= true_per_s <= high_per_s
        rates = f"true rate {true_per_s:.4g}/s for {arrivals_per_s:.4g}/s"
        if wanted >= current:
            self._scale_downs.clear()
            self._first_scale_down_s = None
            if wanted > current and outside:
                return wanted, f"{rates}: below the band"
            return current, f"{rates}: within the band"
        return self._delayed(current, wanted, outside, now_s, rates)

    def _capacity_per_s(
        self, arrivals_per_s: float, at_utilisation: float, with_restart: bool = True
    ) -> float:
        """Flink's AutoScalerUtils.getTargetProcessingCapacity."""
        options = self._options
        if at_utilisation <= 0:
            return inf
        capacity_per_s = arrivals_per_s / min(at_utilisation, 1.0)
        if options.catch_up_duration_s > 0:
            capacity_per_s += self._lag_items / options.catch_up_duration_s
            if with_restart:
                restart = options.restart_time_s / options.catch_up_duration_s
                capacity_per_s += arrivals_per_s * restart
        return capacity_per_s

    def _band_per_s(self, arrivals_per_s: float) -> tuple[float, float]:
        """Below the first true rate it may scale out, above the second in."""
        options = self._options
        upper = options.target_utilisation + options.boundary
        lower = options.target_utilisation - options.boundary
        if self._lag_items > options.lag_threshold_s * arrivals_per_s:
            upper, lower = 1.0, 0.0
        return (
            self._capacity_per_s(arrivals_per_s, upper, with_restart=False),
            self._capacity_per_s(arrivals_per_s, lower),
        )

    def _delayed(
        self, current: int, wanted: int, outside: bool, now_s: float, rates: str
    ) -> tuple[int, str]:
        if self._first_scale_down_s is None:
            self._first_scale_down_s = now_s
        self._scale_downs.append((now_s, wanted, outside))
        begin_s = now_s - self._options.scale_down_interval_s
        if self._first_scale_down_s > begin_s:
            return current, f"{rates}: a scale-in waits for its interval"
        while self._scale_downs[0][0] < begin_s:
            self._scale_downs.popleft()
        _, most, was_outside = max(self._scale_downs, key=lambda wish: wish[1])
        if not was_outside:
            return current, f"{rates}: within the band"
        return most, f"{rates}: above the band"

    def _start_afresh(self, now_s: float) -> None:
        """Metrics of the old parallelism say nothing about the new one."""
        self._collects_from_s = now_s + self._options.stabilisation_interval_s
        self._samples.clear()
        self._scale_downs.clear()
        self._first_scale_down_s = None


def _useful(measurement: Measurement, step_s: float) -> tuple[float, float]:
    """Rows of the step and the time they took, with all executors at work."""
    observed = measurement.observed
    speed_hz = observed.executors * observed.frequency_khz * 1e3
    completed = measurement.completions_per_s
    if measurement.cost_cycles is not None and completed is not None and speed_hz > 0:
        rows = completed * step_s
        return rows, rows * measurement.cost_cycles / speed_hz
    rows = float(sum(batch.rows for batch in measurement.batches))
    return rows, sum(batch.duration_s for batch in measurement.batches)
