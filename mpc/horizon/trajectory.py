"""What a given trajectory costs, term by term, straight from the definition of the problem."""

from collections.abc import Sequence

import numpy as np

from mpc.horizon.problem import HorizonProblem
from mpc.values import Configuration, ConfigurationSpace, CostTerms, FloatArray


def cost_terms(problem: HorizonProblem, trajectory: Sequence[Configuration]) -> CostTerms:
    """The objective of `trajectory`, whether or not it keeps to the constraints."""
    n_before, f_before = problem.space.index(problem.current)
    places = _indices(problem.space, trajectory)
    switching = 0.0
    for n, f in places:
        switching += problem.executor_switching * (n - n_before) ** 2
        switching += problem.frequency_switching * (f - f_before) ** 2
        n_before, f_before = n, f
    rows, columns = zip(*places, strict=True)
    resource = float(problem.resource_cost[rows, columns].sum())
    latency = float(problem.qos.cost(_latencies_s(problem, trajectory, columns)).sum())
    return CostTerms(latency=latency, resource=resource, switching=switching)


def latencies_s(problem: HorizonProblem, trajectory: Sequence[Configuration]) -> FloatArray:
    """Predicted latency of every stage, with the executors that are active by then and backlog."""
    columns = [f for _, f in _indices(problem.space, trajectory)]
    return _latencies_s(problem, trajectory, columns)


def _latencies_s(
    problem: HorizonProblem, trajectory: Sequence[Configuration], columns: Sequence[int]
) -> FloatArray:
    """The same, given the indices of the frequencies."""
    space, backlog = problem.space, problem.backlog
    counts = active_executors(problem, [configuration.executors for configuration in trajectory])
    active = [space.executor_index(count) for count in counts]
    latencies = problem.latency_s[range(len(trajectory)), active, columns]
    if backlog is None:
        return np.asarray(latencies)
    items = backlog.initial_items
    for stage, (n, f) in enumerate(zip(active, columns, strict=True)):
        service_per_s = float(backlog.service_per_s[n, f])
        latencies[stage] += items / service_per_s
        surplus_per_s = float(backlog.arrivals_per_s[stage]) - service_per_s
        items = max(0.0, items + surplus_per_s * backlog.step_s)
    return np.asarray(latencies)


def _indices(
    space: ConfigurationSpace, trajectory: Sequence[Configuration]
) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    for stage, configuration in enumerate(trajectory):
        # To stay is the same object again.
        same = stage > 0 and configuration is trajectory[stage - 1]
        places.append(places[-1] if same else space.index(configuration))
    return places


def active_executors(problem: HorizonProblem, requests: Sequence[int]) -> list[int]:
    """Executors that serve in every stage: the minimum of the last d + 1 requests."""
    delay = problem.constraints.dead_time_steps
    recent = problem.constraints.recent_requests or (problem.current.executors,) * delay
    history = [*recent, *requests]
    return [min(history[stage : stage + delay + 1]) for stage in range(len(requests))]
