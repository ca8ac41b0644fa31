"""Latency of a continuous operator, learned as it runs: queueing model plus its own track record.

Keeps estimates of what the model needs (cost per item and how it moves with the load, its
variability, the dispersion of arrivals) and a sample of how wrong the model has been, and
predicts the latency of every configuration for whole sets of arrival scenarios.
"""

from math import log

import numpy as np

from mpc.cost_tables import OperatorTerms, operator_costs
from mpc.feedback import RatioFeedback
from mpc.latency_curve import LatencyCurve
from mpc.queueing import overload_delay_s, partitioned_wait_s, service_time_s, utilisation
from mpc.values import ConfigurationSpace, FloatArray, IntArray, Measurement

SMOOTHING = 0.1
"""Weight of the last step in the estimates of variability: the burstiness of one second says little
about that of the next (autocorrelation 0.17 on accelerated ticks). The mean cost is not smoothed:
a step has thousands of samples of it, and it drifts with the load."""

FEWEST_PER_S = 1e-6
"""Fewer arrivals are none: nothing can be learned from them, and ratios to them overflow."""


class CostElasticity:
    """How the cost per item follows the arrival rate from one step to the next: d log C / d log l.

    Busy streams are often cheaper per item (aggregation, amortised overheads). Least squares
    through the origin with forgetting, drawn to zero while little has been seen.
    """

    FORGETTING = 0.98
    PRIOR = 0.02
    """Like having seen a few steps in which the rate changed by some 10 % and the cost did not."""
    LARGEST = 0.5

    def __init__(self) -> None:
        self._products = 0.0
        self._squares = 0.0
        self._previous: tuple[float, float] | None = None

    def update(self, arrivals_per_s: float, cost_cycles: float) -> None:
        if arrivals_per_s <= 0 or cost_cycles <= 0:
            self._previous = None
            return
        now = (log(arrivals_per_s), log(cost_cycles))
        if self._previous is not None:
            change = now[0] - self._previous[0]
            self._products = self.FORGETTING * self._products + change * (
                now[1] - self._previous[1]
            )
            self._squares = self.FORGETTING * self._squares + change * change
        self._previous = now

    @property
    def value(self) -> float:
        slope = self._products / (self._squares + self.PRIOR)
        return min(max(slope, -self.LARGEST), self.LARGEST)


class OperatorLatency:
    def __init__(self, space: ConfigurationSpace, step_s: float) -> None:
        self._space = space
        self._step_s = step_s
        self._feedback = RatioFeedback()
        self._elasticity = CostElasticity()
        self._arrivals_per_s = 0.0
        self._cost_cycles: float | None = None
        self._cost_cv = 0.0
        self._dispersion = 1.0
        self._steps = 0

    @property
    def ready(self) -> bool:
        return self._cost_cycles is not None

    @property
    def floor_s(self) -> float:
        """The service time at the highest frequency: no configuration is faster."""
        return self._known_cost_cycles / float(self._space.frequencies_hz[-1])

    @property
    def cold_excess_s(self) -> float:
        """A replica that starts waits for its state, which the dead time says."""
        return 0.0

    def service_per_s(self) -> FloatArray:
        """Items a configuration can serve per second, (N, F)."""
        return np.asarray(1.0 / utilisation(np.asarray(1.0), self._known_cost_cycles, self._space))

    def observe(self, measurement: Measurement, had_backlog: bool) -> None:
        """Learn from one step. A wait behind an old backlog says nothing about the model."""
        arrivals_per_s = measurement.arrivals_per_s or 0.0
        if measurement.cost_cycles is None or arrivals_per_s < FEWEST_PER_S:
            return
        self._elasticity.update(arrivals_per_s, measurement.cost_cycles)
        self._arrivals_per_s = arrivals_per_s
        self._cost_cycles = measurement.cost_cycles
        self._steps += 1
        share = max(SMOOTHING, 1.0 / self._steps)
        if measurement.cost_cv is not None:
            self._cost_cv += share * (measurement.cost_cv - self._cost_cv)
        if measurement.arrival_dispersion is not None:
            self._dispersion += share * (measurement.arrival_dispersion - self._dispersion)
        if measurement.wait_s is None or had_backlog:
            return
        rho, wait_s, _ = self._modelled(np.asarray(arrivals_per_s))
        ran_at = self._space.index(measurement.observed)
        if rho[ran_at] < 1.0:
            self._feedback.update(measurement.wait_s, float(wait_s[ran_at]))

    def predict_s(self, arrivals_per_s: FloatArray) -> FloatArray:
        """Latency for arrival scenarios (S, h), each with one recent model error: (S, h, N, F)."""
        rho, wait_s, service_s = self._modelled(arrivals_per_s)
        ratios = self._feedback.scenario_ratios(len(arrivals_per_s))
        delay_s = overload_delay_s(rho, self._step_s)
        return np.asarray(ratios[:, None, None, None] * wait_s + delay_s + service_s)

    def scenario_ratios(self, count: int) -> FloatArray:
        return self._feedback.scenario_ratios(count)

    def mean_cost(
        self,
        arrivals_per_s: FloatArray,
        ratios: FloatArray,
        most_active: IntArray,
        curve: LatencyCurve,
    ) -> FloatArray:
        """(h, N, F): mean of the curve over `predict_s` of the scenarios (S, h)."""
        model = OperatorTerms(
            cost_cycles=self._known_cost_cycles * self._relative_cost(arrivals_per_s),
            random_part=(min(self._dispersion, 1.0) + self._cost_cv**2) / 2.0,
            bursts=max(self._dispersion - 1.0, 0.0) / 2.0,
            step_s=float(self._step_s),
        )
        grid = (self._space.executors.astype(np.float64), self._space.frequencies_hz)
        return operator_costs(arrivals_per_s, ratios, model, grid, most_active, curve)

    def _modelled(self, arrivals_per_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Utilisation, wait and service time."""
        cost_cycles = self._known_cost_cycles * self._relative_cost(arrivals_per_s)
        rho = utilisation(arrivals_per_s, cost_cycles, self._space)
        service_s = service_time_s(cost_cycles, self._space)
        wait_s = partitioned_wait_s(
            rho, service_s, self._space.executors, self._dispersion, self._cost_cv
        )
        return rho, wait_s, service_s

    def _relative_cost(self, arrivals_per_s: FloatArray) -> FloatArray:
        # Learned from steps of tens of per cent: not to be followed any further than that.
        change = np.clip(arrivals_per_s / self._arrivals_per_s, 0.5, 2.0)
        return np.asarray(change**self._elasticity.value)

    @property
    def _known_cost_cycles(self) -> float:
        if self._cost_cycles is None:
            raise RuntimeError("no cost measured yet; ask `ready` first")
        return self._cost_cycles
