"""The response time of one operator at any rate and number of executors, from what was measured.

Russo Russo 2018 takes every instance of an operator for an M/D/1 queue with a known service rate
(section 4); the input is split evenly over the instances (section 2), so each sees a share of the
rate with the full service time. Here the service rate comes from the measured cost of an item.
Where micro-batches are measured, the model of `mpc.micro_batch` takes the place of the queue, as
M/D/1 knows no batches.

Both are corrected by the smoothed ratio of measured to modelled times (Expr. 8 of De Matteis and
Mencagli 2016).
"""

from dataclasses import replace

import numpy as np

from mpc.batch_cost import BatchCostEstimate, refined
from mpc.feedback import RatioFeedback
from mpc.micro_batch import micro_batch_latency_s, warm_up
from mpc.values import ConfigurationSpace, FloatArray, Measurement

COST_SMOOTHING = 0.1


def utilisation(
    arrivals_per_s: FloatArray, service_per_s: float, instances: FloatArray
) -> FloatArray:
    """U of every rate with every number of instances; shape (rates, instances)."""
    return np.divide.outer(arrivals_per_s / service_per_s, instances)


def md1_response_s(
    arrivals_per_s: FloatArray, service_per_s: float, instances: FloatArray
) -> FloatArray:
    """Mean time in the queue and in service, 1/mu * (1 + rho / (2 (1 - rho))); infinite where the
    instances cannot keep up. Shape (rates, instances)."""
    rho = utilisation(arrivals_per_s, service_per_s, instances)
    stable = rho < 1.0
    idle = np.where(stable, 1.0 - rho, 1.0)
    return np.where(stable, (1.0 + rho / (2.0 * idle)) / service_per_s, np.inf)


class ResponseModel:
    def __init__(self, space: ConfigurationSpace, step_s: float) -> None:
        warm_up()
        self._space = replace(space, frequencies_khz=space.frequencies_khz[-1:])
        self._step_s = step_s
        self._batches: BatchCostEstimate | None = None
        self._cost_cycles: float | None = None
        self._trigger_interval_s: float | None = None
        """As last measured; None: back to back."""
        self._feedback = RatioFeedback()

    def observe(self, measurement: Measurement) -> None:
        if measurement.trigger_interval_s is not None:
            self._trigger_interval_s = measurement.trigger_interval_s
        for sample in measurement.batches:
            self._batches = refined(self._batches, sample)
        cycles = measurement.cost_cycles
        if cycles is not None and cycles > 0:
            known = cycles if self._cost_cycles is None else self._cost_cycles
            self._cost_cycles = known + COST_SMOOTHING * (cycles - known)
        if measurement.latency_s is None or measurement.arrivals_per_s is None:
            return
        modelled = self._modelled_s(np.asarray([measurement.arrivals_per_s]))
        if modelled is None:
            return
        ran_on = self._space.executor_index(measurement.observed.executors)
        modelled_s = float(modelled[0, ran_on])
        if np.isfinite(modelled_s):  # an overload says nothing about the model
            self._feedback.update(measurement.latency_s, modelled_s)

    def response_s(self, arrivals_per_s: FloatArray) -> FloatArray | None:
        """(rates, executors), infinite where they cannot keep up; None until a cost is known."""
        modelled_s = self._modelled_s(arrivals_per_s)
        if modelled_s is None:
            return None
        return np.asarray(modelled_s * self._feedback.scenario_ratios(1)[0])

    def _modelled_s(self, arrivals_per_s: FloatArray) -> FloatArray | None:
        executors = self._space.executors.astype(np.float64)
        frequency_hz = float(self._space.frequencies_hz[-1])
        if self._batches is not None:
            cost = self._batches.cost
            rho = np.divide.outer(arrivals_per_s * cost.row_cycles / frequency_hz, executors)
            model = cost.model(self._step_s, self._trigger_interval_s)
            latency_s = micro_batch_latency_s(arrivals_per_s, model, self._space)
            return np.where(rho < 1.0, latency_s[:, :, 0], np.inf)
        if self._cost_cycles is not None:
            return md1_response_s(arrivals_per_s, frequency_hz / self._cost_cycles, executors)
        return None
