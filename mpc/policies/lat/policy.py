"""`lat-node` and `lat-power`: the predictive strategies of the MPC paper.

Source: De Matteis and Mencagli, "Keep Calm and React with Foresight" (PPoPP 2016),
section 3; cost parameters of Table 2; details that the paper leaves open from the authors' code:
utilisation inflated by 1/0.95, feedback as the mean of the last three ratios, power as
V^2 * f * (n + 3), a mean of three as forecast, and, when lat-power finds no stable configuration,
keeping the old one.

Deviations: the feedback ratio is skipped where no wait was predicted or measured (the original
divides by zero there); where lat-node finds no stable configuration it takes all executors, which
the paper does not specify. The search is exact, so its method does not change the decision. Its
model knows costs and rates, not latencies: in a step without results there is nothing to plan with,
and it holds, as lat-power does when no configuration is stable.
"""

from collections import deque
from dataclasses import replace

import numpy as np

from forecasting.registry import make_forecaster
from mpc.bounds import Bounds
from mpc.horizon.problem import HorizonProblem, QosCurve
from mpc.horizon.search import solve, warm_up
from mpc.policies.context import Context
from mpc.policies.lat.options import LatOptions
from mpc.policies.routing import rebalanced
from mpc.queueing import kingman_wait_s, service_time_s, utilisation
from mpc.values import Configuration, ConfigurationSpace, Decision, FloatArray, Measurement

UNSTABLE_LATENCY_S = 1e6


class LatPolicy:
    def __init__(self, options: LatOptions, context: Context) -> None:
        warm_up()
        self._options = options
        self._forecaster = make_forecaster(options.forecast)
        self._power = context.power
        self._qos = QosCurve(
            weight=options.latency_weight, offset_s=0.0, scale_s=context.target_latency_s
        )
        self._ratios: deque[float] = deque(maxlen=options.feedback_memory)
        self._predicted_wait_s: float | None = None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._learn(measurement)
        space = bounds.space
        if self._options.resource == "executors":  # lat-node never changes the frequency
            space = replace(space, frequencies_khz=space.frequencies_khz[-1:])
        current = bounds.nearest(measurement.requested)
        arrivals = self._forecaster.forecast(self._options.horizon_steps)
        if (
            arrivals is None
            or measurement.cost_cycles is None
            or measurement.arrival_cv is None
            or measurement.cost_cv is None
        ):
            return self._routed(measurement, current, "not measured yet: hold")
        cost_cycles = self._mean_cost_cycles(measurement)
        rho = utilisation(arrivals, cost_cycles, space)
        rho /= self._options.utilisation_headroom
        service_s = service_time_s(cost_cycles, space)
        pooled_s = service_s / space.executors[:, None]
        wait_s = kingman_wait_s(rho, pooled_s, measurement.arrival_cv, measurement.cost_cv)
        correction = float(np.mean(self._ratios)) if self._ratios else 1.0
        latency_s = np.where(rho < 1.0, correction * wait_s + service_s, UNSTABLE_LATENCY_S)
        if not (rho < 1.0).any(axis=(1, 2)).all():
            self._predicted_wait_s = None
            if self._options.resource == "power":
                return self._routed(measurement, current, "no stable configuration: keep")
            return self._routed(measurement, space.largest, "overload: all executors")
        plan = solve(
            HorizonProblem(
                space=space,
                current=current,
                latency_s=latency_s,
                qos=self._qos,
                resource_cost=self._resource_cost(space),
                executor_switching=self._options.switching_weight,
                frequency_switching=self._options.switching_weight,
            )
        )
        target = plan.trajectory[0]
        self._predicted_wait_s = float(wait_s[0][space.index(target)])
        return replace(
            self._routed(measurement, target, "least cost over the horizon"),
            plan=plan,
            expected_arrivals_per_s=arrivals,
        )

    def _resource_cost(self, space: ConfigurationSpace) -> FloatArray:
        executors = space.executors.astype(np.float64)[:, None]
        frequencies_khz = np.asarray(space.frequencies_khz, dtype=np.float64)[None, :]
        if self._options.resource == "executors":
            units = executors * np.ones_like(frequencies_khz)
        else:
            units = self._power.power_w(executors, frequencies_khz)
        return np.asarray(self._options.resource_weight * units)

    def _learn(self, measurement: Measurement) -> None:
        """Expr. 8: the ratio of the measured wait to the last prediction corrects the next."""
        self._forecaster.update(measurement.arrivals_per_s)
        if self._predicted_wait_s and measurement.wait_s is not None:
            self._ratios.append(measurement.wait_s / self._predicted_wait_s)

    def _mean_cost_cycles(self, measurement: Measurement) -> float:
        """Expr. 4: sum of p_k * C_k."""
        if measurement.key_frequencies is None or measurement.key_cost_cycles is None:
            return measurement.cost_cycles or 0.0
        return float(measurement.key_frequencies @ measurement.key_cost_cycles)

    def _routed(self, measurement: Measurement, target: Configuration, reason: str) -> Decision:
        return Decision(target, reason, key_owners=rebalanced(measurement, target.executors))
