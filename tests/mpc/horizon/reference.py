"""Exhaustive search, written from the definition of the problem and from nothing else."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mpc.horizon.problem import HorizonProblem, QosCurve
from mpc.values import Configuration


@dataclass(frozen=True, slots=True)
class Candidate:
    trajectory: tuple[Configuration, ...]
    cost: float
    energy_j: float


def optimum(problem: HorizonProblem) -> Candidate:
    """The cheapest admissible trajectory within the energy budget, or within the least energy."""
    candidates = list(admissible(problem))
    budget_j = problem.constraints.energy_budget_j
    if budget_j is not None:
        least_j = min(candidate.energy_j for candidate in candidates)
        limit_j = max(budget_j, least_j) + 1e-9
        candidates = [candidate for candidate in candidates if candidate.energy_j <= limit_j]
    return min(candidates, key=lambda candidate: candidate.cost)


@dataclass(frozen=True, slots=True)
class _State:
    """What a stage inherits from the ones before it."""

    before: tuple[int, int]
    requests: tuple[int, ...]
    items: float
    held: int


def admissible(problem: HorizonProblem) -> Iterator[Candidate]:
    """Every trajectory that keeps to dwell, rate limits and power cap, with cost and energy."""
    space, limits, current = problem.space, problem.constraints, problem.current
    recent = limits.recent_requests or (current.executors,) * limits.dead_time_steps
    start = _State(
        before=(
            space.executor_index(current.executors),
            space.frequency_index(current.frequency_khz),
        ),
        requests=tuple(space.executor_index(count) for count in recent),
        items=problem.backlog.initial_items if problem.backlog else 0.0,
        held=10**6 if limits.steps_since_change is None else limits.steps_since_change,
    )
    for path, cost, energy_j in _extend(problem, start, 0):
        yield Candidate(tuple(space.at(n, f) for n, f in path), cost, energy_j)


def _extend(
    problem: HorizonProblem, state: _State, stage: int
) -> Iterator[tuple[list[tuple[int, int]], float, float]]:
    if stage == problem.horizon:
        yield [], 0.0, 0.0
        return
    limits = problem.constraints
    for n, f in _moves(problem, state):
        felt = state.requests[len(state.requests) - limits.dead_time_steps :]
        active = min([*felt, n])
        latency_s = float(problem.latency_s[stage, active, f])
        left = 0.0
        if problem.backlog:
            service_per_s = float(problem.backlog.service_per_s[active, f])
            latency_s += state.items / service_per_s
            flow_per_s = float(problem.backlog.arrivals_per_s[stage]) - service_per_s
            left = max(0.0, state.items + flow_per_s * problem.backlog.step_s)
        cost = qos(problem.qos, latency_s) + float(problem.resource_cost[n, f])
        cost += problem.executor_switching * (n - state.before[0]) ** 2
        cost += problem.frequency_switching * (f - state.before[1]) ** 2
        energy_j = 0.0
        if limits.power_w is not None and limits.step_s is not None:
            energy_j = float(limits.power_w[n, f]) * limits.step_s
        held = state.held + 1 if (n, f) == state.before else 1
        after = _State((n, f), (*state.requests, n), left, held)
        for path, rest, rest_j in _extend(problem, after, stage + 1):
            yield [(n, f), *path], cost + rest, energy_j + rest_j


def _moves(problem: HorizonProblem, state: _State) -> list[tuple[int, int]]:
    limits = problem.constraints
    before = state.before
    if state.held < limits.min_dwell_steps:
        return [before]
    executors, frequencies = problem.resource_cost.shape
    reachable = [
        (n, f)
        for n in range(executors)
        for f in range(frequencies)
        if (limits.max_added_per_step is None or n - before[0] <= limits.max_added_per_step)
        and (limits.max_removed_per_step is None or before[0] - n <= limits.max_removed_per_step)
    ]
    if limits.power_cap_w is None or limits.power_w is None:
        return reachable
    power_w = limits.power_w
    least_w = min(float(power_w[u]) for u in reachable)
    limit_w = max(limits.power_cap_w, least_w)
    return [u for u in reachable if power_w[u] <= limit_w]


def qos(curve: QosCurve, latency_s: float) -> float:
    x = (latency_s - curve.offset_s) / curve.scale_s
    g = math.exp(x) if x <= 8 else math.exp(8) * (x - 7)
    if curve.mode == "normalised":
        g = (g - 1) / (math.e - 1)
    return curve.weight * g
