"""`hpa`: the Horizontal Pod Autoscaler of Kubernetes on CPU utilisation, an executor for a pod.

Source: the Kubernetes documentation, "Horizontal Pod Autoscaling" (algorithm details, default
behaviour), and its replica calculator. Every sync period (15 s) desired = ceil(current *
utilisation / target), unless the ratio is within the tolerance of 0.1 of one. Pods that are not
ready count as using nothing when it scales up. A scale-down goes to the highest recommendation of
the last 300 s, which begin with the count it found; a scale-up is taken at once, limited to what is
more of 100 % and 4 pods in 15 s. The target, where none is set, is 80 % of the CPU request.

Deviations: CPU use is the cycles of the rows finished since the last sync over those that the
executors had, at most 1, which takes the metrics pipeline's delay for none; a sync in which no
batch finished while rows wait has no metric and changes nothing, however long that lasts. Executors
beyond the observed ones are the pods that are not ready, without the grace times for readiness; as
they count as using nothing, lost executors are waited for and not made up for. The frequency stays
at its maximum.
"""

from collections import deque
from math import ceil

from mpc.bounds import Bounds
from mpc.policies.context import Context
from mpc.policies.full_speed import at_full_speed
from mpc.policies.hpa.options import HpaOptions
from mpc.values import Decision, Measurement

ROUNDING = 1e-9
"""A ratio that is whole but for rounding must not take one pod more."""


class HpaPolicy:
    def __init__(self, options: HpaOptions, context: Context) -> None:
        self._space = context.space
        self._step_s = context.step_s
        self._options = options
        self._used_cycles = 0.0
        self._had_cycles = 0.0
        self._measured = False
        self._synced_s: float | None = None
        self._recommended: deque[tuple[float, int]] = deque()
        self._added: deque[tuple[float, int]] = deque()

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._meter(measurement)
        current = measurement.requested.executors
        executors, reason = current, "within the sync period"
        now_s = measurement.time_s
        if self._synced_s is None:
            self._synced_s = now_s
            self._recommended.append((now_s, current))
        elif now_s - self._synced_s >= self._options.sync_period_s - ROUNDING:
            self._synced_s = now_s
            executors, reason = self._synced(measurement, now_s)
        decision = at_full_speed(measurement, bounds, executors, reason)
        if decision.target.executors > current:
            self._added.append((now_s, decision.target.executors - current))
        return decision

    def _meter(self, measurement: Measurement) -> None:
        completed, cost_cycles = measurement.completions_per_s, measurement.cost_cycles
        if completed is None:
            return
        observed = measurement.observed
        self._had_cycles += observed.executors * observed.frequency_khz * 1e3 * self._step_s
        if completed > 0 and cost_cycles is not None:
            self._used_cycles += completed * cost_cycles * self._step_s
            self._measured = True
        elif completed == 0 and measurement.arrivals_per_s == 0:
            self._measured = True

    def _synced(self, measurement: Measurement, now_s: float) -> tuple[int, str]:
        current = measurement.requested.executors
        if not self._measured or self._had_cycles <= 0:
            return current, "no CPU utilisation measured"
        utilisation = min(self._used_cycles / self._had_cycles, 1.0)
        self._used_cycles = self._had_cycles = 0.0
        self._measured = False
        desired = self._desired(utilisation, current, measurement.observed.executors)
        desired = min(max(desired, self._space.min_executors), self._space.max_executors)
        stable = self._stabilised(desired, current, now_s)
        allowed = min(stable, self._scale_up_limit(current, now_s))
        wish = f"utilisation {utilisation:.2f} of {self._options.target_utilisation:g} wants"
        if allowed != desired:
            return allowed, f"{wish} {desired}, stabilised and limited to {allowed}"
        return allowed, f"{wish} {desired}"

    def _desired(self, utilisation: float, current: int, ready: int) -> int:
        """Kubernetes' GetResourceReplicas; pods without metrics do not occur."""
        options = self._options
        ratio = utilisation / options.target_utilisation
        unready = max(current - ready, 0)
        counted = ready
        if unready and ratio > 1.0:
            counted = ready + unready
            ratio *= ready / counted
            if ratio < 1.0:
                return current  # the direction turned
        if abs(1.0 - ratio) <= options.tolerance:
            return current
        return ceil(ratio * counted - ROUNDING)

    def _stabilised(self, desired: int, current: int, now_s: float) -> int:
        options = self._options
        longest_s = max(options.scale_up_window_s, options.scale_down_window_s)
        while self._recommended and self._recommended[0][0] <= now_s - longest_s:
            self._recommended.popleft()
        lowest = highest = desired
        for time_s, recommended in self._recommended:
            if time_s > now_s - options.scale_up_window_s:
                lowest = min(lowest, recommended)
            if time_s > now_s - options.scale_down_window_s:
                highest = max(highest, recommended)
        self._recommended.append((now_s, desired))
        return min(max(current, lowest), highest)

    def _scale_up_limit(self, current: int, now_s: float) -> int:
        options = self._options
        while self._added and self._added[0][0] <= now_s - options.scale_up_period_s:
            self._added.popleft()
        at_begin = current - sum(added for _, added in self._added)
        by_share = ceil(at_begin * (1.0 + options.scale_up_share) - ROUNDING)
        return max(by_share, at_begin + options.scale_up_pods, current)
