"""The mean cost of the latency over all scenarios, for every stage and configuration: (h, N, F).

One compiled pass from arrivals over latency to the sum of costs, without the table (S, h, N, F) of
all scenarios. Nothing is computed twice, and nothing that no plan can ask for: a micro-batch engine
is as fast as its capacity, which many configurations share, and a stage within the dead time cannot
have more executors than were requested before.
"""

from typing import NamedTuple

import numpy as np

from forecasting.compiled import compiled_unchecked
from mpc.latency_curve import LatencyCurve, add_costs
from mpc.micro_batch import BatchModel, batch_latencies_s
from mpc.queueing import TANGENT_UTILISATION
from mpc.values import ConfigurationSpace, FloatArray, IntArray


class Capacities(NamedTuple):
    """The distinct capacities of a space, by the smallest executor count that has them: those of
    the first n rows are a beginning of the list."""

    capacity_hz: FloatArray
    """(C,)"""
    number: IntArray
    """(N, F): place of a configuration's capacity in the list."""
    upto: IntArray
    """(N,): distinct capacities of a row and those above it."""


def capacities_of(space: ConfigurationSpace) -> Capacities:
    grid_hz = np.multiply.outer(space.executors.astype(np.float64), space.frequencies_hz)
    # Whole numbers of hertz: products that are equal are equal to the last bit.
    distinct_hz, first, inverse = np.unique(grid_hz, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    number = place[inverse].reshape(grid_hz.shape)
    return Capacities(distinct_hz[order], number, np.maximum.accumulate(number.max(axis=1)) + 1)


class OperatorTerms(NamedTuple):
    """A continuous operator, see `mpc.queueing`."""

    cost_cycles: FloatArray
    """(S, h): cost of an item, which moves with the rate."""
    random_part: float
    """Half the variability of arrivals that are split over the replicas and of the cost."""
    bursts: float
    """Half the dispersion that hits all replicas at once."""
    step_s: float
    tangent_utilisation: float = TANGENT_UTILISATION
    """A field: numba's disk cache does not see a constant of another file change."""


@compiled_unchecked
def batch_costs(
    arrivals_per_s: FloatArray,
    ratios: FloatArray,
    model: BatchModel,
    capacities: Capacities,
    most_active: IntArray,
    curve: LatencyCurve,
) -> FloatArray:
    """(h, N, F) for scenarios (S, h), each with its ratio of measured to modelled latency.

    `most_active`, (h,): index of the most executors that can serve in a stage; more cost the same.
    """
    scenarios, horizon = arrivals_per_s.shape
    executors, frequencies = capacities.number.shape
    table = np.empty((horizon, executors, frequencies))
    latencies_s = np.empty(capacities.capacity_hz.size)
    sums = np.empty(capacities.capacity_hz.size)
    for stage in range(horizon):
        last = most_active[stage]
        count = capacities.upto[last]
        sums[:count] = 0.0
        for scenario in range(scenarios):
            rate_per_s, ratio = arrivals_per_s[scenario, stage], ratios[scenario]
            batch_latencies_s(rate_per_s, capacities.capacity_hz, count, model, latencies_s)
            add_costs(latencies_s, count, ratio, curve, sums)
        for n in range(executors):
            for f in range(frequencies):
                table[stage, n, f] = sums[capacities.number[min(n, last), f]] / scenarios
    return table


@compiled_unchecked
def operator_costs(
    arrivals_per_s: FloatArray,
    ratios: FloatArray,
    model: OperatorTerms,
    grid: tuple[FloatArray, FloatArray],
    most_active: IntArray,
    curve: LatencyCurve,
) -> FloatArray:
    """The same for a continuous operator; `grid` has executors (N,) and frequencies in Hz (F,).

    R = ratio * wait + overload + service, of `mpc.queueing`.
    """
    scenarios, horizon = arrivals_per_s.shape
    executors, frequencies_hz = grid
    rows, columns = executors.size, frequencies_hz.size
    table = np.empty((horizon, rows, columns))
    latencies_s = np.empty(rows * columns)
    sums = np.empty(rows * columns)
    edge = model.tangent_utilisation
    for stage in range(horizon):
        last = most_active[stage]
        count = (last + 1) * columns
        sums[:count] = 0.0
        for scenario in range(scenarios):
            cycles = model.cost_cycles[scenario, stage]
            demand_hz, ratio = arrivals_per_s[scenario, stage] * cycles, ratios[scenario]
            for n in range(last + 1):
                spread = model.random_part + model.bursts / executors[n]
                for f in range(columns):
                    service_s = cycles / frequencies_hz[f]
                    rho = demand_hz / (executors[n] * frequencies_hz[f])
                    below = min(rho, edge)
                    congestion = below / (1.0 - below)
                    congestion += max(rho - edge, 0.0) / ((1.0 - edge) * (1.0 - edge))
                    delay_s = max(rho - 1.0, 0.0) * model.step_s / 2.0
                    wait_s = congestion * spread * service_s
                    latencies_s[n * columns + f] = ratio * wait_s + delay_s + service_s
            add_costs(latencies_s, count, 1.0, curve, sums)
        for n in range(rows):
            for f in range(columns):
                table[stage, n, f] = sums[min(n, last) * columns + f] / scenarios
    return table


def warm_up() -> None:
    """Compile (or load from the disk cache) before the first control step."""
    space = ConfigurationSpace(1, 2, (1_000_000, 2_000_000))
    ones, most_active = np.ones((2, 3)), np.zeros(3, dtype=np.int64)
    curve = LatencyCurve(1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0)
    batches = BatchModel(1.0, 1.0)
    batch_costs(ones, np.ones(2), batches, capacities_of(space), most_active, curve)
    grid = (space.executors.astype(np.float64), space.frequencies_hz)
    operator = OperatorTerms(ones, random_part=1.0, bursts=1.0, step_s=1.0)
    operator_costs(ones, np.ones(2), operator, grid, most_active, curve)
