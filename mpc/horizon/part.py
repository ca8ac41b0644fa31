"""A horizon problem on a part of its space: what is left of it when only some configurations may be
chosen. Nothing is solved here.
"""

from dataclasses import replace

from mpc.horizon.problem import HorizonProblem
from mpc.values import ConfigurationSpace


def restricted(problem: HorizonProblem, space: ConfigurationSpace) -> HorizonProblem:
    """The same problem with every stage within `space`, which lies inside that of the problem.

    Executors that are still starting may be fewer than the fewest that may be requested. A stage
    that feels them has their latency whatever is requested, and what they do not serve, at the
    highest frequency, arrives again.
    """
    if space == problem.space:
        return problem
    rows, columns = _indices(problem.space, space)
    latency_s = problem.latency_s[:, rows][:, :, columns]
    backlog = problem.backlog
    if backlog is not None:
        backlog = replace(
            backlog,
            arrivals_per_s=backlog.arrivals_per_s.copy(),
            service_per_s=backlog.service_per_s[rows][:, columns],
        )
    recent = problem.constraints.recent_requests[: problem.horizon]
    for stage in range(len(recent)):
        active = min(problem.constraints.recent_requests[stage:])
        if active < space.min_executors:
            row = problem.space.executor_index(active)
            latency_s[stage] = problem.latency_s[stage, row, columns]
            if backlog is not None and problem.backlog is not None:
                served_per_s = problem.backlog.service_per_s[row, columns[-1]]
                backlog.arrivals_per_s[stage] += backlog.service_per_s[0, -1] - served_per_s
    power_w = problem.constraints.power_w
    if power_w is not None:
        power_w = power_w[rows][:, columns]
    return replace(
        problem,
        space=space,
        current=space.nearest(problem.current),
        latency_s=latency_s,
        resource_cost=problem.resource_cost[rows][:, columns],
        constraints=replace(problem.constraints, power_w=power_w),
        backlog=backlog,
    )


def _indices(whole: ConfigurationSpace, part: ConfigurationSpace) -> tuple[slice, list[int]]:
    inside = whole.min_executors <= part.min_executors and part.max_executors <= whole.max_executors
    if not inside or not set(part.frequencies_khz) <= set(whole.frequencies_khz):
        raise ValueError(f"{part} is no part of {whole}")
    rows = slice(
        part.min_executors - whole.min_executors, part.max_executors - whole.min_executors + 1
    )
    return rows, [whole.frequencies_khz.index(khz) for khz in part.frequencies_khz]
