"""What a given trajectory costs, term by term, straight from the definition of the problem."""

from collections.abc import Sequence

import numpy as np

from mpc.horizon.problem import HorizonProblem
from mpc.values import Configuration, CostTerms, FloatArray


def cost_terms(problem: HorizonProblem, trajectory: Sequence[Configuration]) -> CostTerms:
    """The objective of `trajectory`, whether or not it keeps to the constraints."""
    space = problem.space
    n_before, f_before = space.index(problem.current)
    resource = switching = 0.0
    for configuration in trajectory:
        n, f = space.index(configuration)
        resource += float(problem.resource_cost[n, f])
        switching += problem.executor_switching * (n - n_before) ** 2
        switching += problem.frequency_switching * (f - f_before) ** 2
        n_before, f_before = n, f
    latency = float(problem.qos.cost(latencies_s(problem, trajectory)).sum())
    return CostTerms(latency=latency, resource=resource, switching=switching)


def latencies_s(problem: HorizonProblem, trajectory: Sequence[Configuration]) -> FloatArray:
    """Predicted latency of every stage, with the executors that are active by then and backlog."""
    space, backlog = problem.space, problem.backlog
    latencies = np.empty(len(trajectory))
    items = 0.0 if backlog is None else backlog.initial_items
    active = active_executors(problem, [configuration.executors for configuration in trajectory])
    for stage, configuration in enumerate(trajectory):
        n = space.executor_index(active[stage])
        f = space.frequency_index(configuration.frequency_khz)
        latencies[stage] = problem.latency_s[stage, n, f]
        if backlog is not None:
            service_per_s = float(backlog.service_per_s[n, f])
            latencies[stage] += items / service_per_s
            surplus_per_s = float(backlog.arrivals_per_s[stage]) - service_per_s
            items = max(0.0, items + surplus_per_s * backlog.step_s)
    return latencies


def active_executors(problem: HorizonProblem, requests: Sequence[int]) -> list[int]:
    """Executors that serve in every stage: the minimum of the last d + 1 requests."""
    delay = problem.constraints.dead_time_steps
    recent = problem.constraints.recent_requests or (problem.current.executors,) * delay
    history = [*recent, *requests]
    return [min(history[stage : stage + delay + 1]) for stage in range(len(requests))]
