"""What other first moves of a plan would cost: for people who ask why one was taken.

A first move is ranked by what it costs to make it and stay there. Its own cost is then that of the
best plan that begins with it and moves once more: the least of all plans over two stages, a bound
of it over more. Both are computed for the whole space at once, as a decision must not wait for its
explanation.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpc.horizon.problem import HorizonProblem
from mpc.horizon.trajectory import active_executors, cost_terms
from mpc.values import Configuration, CostTerms, FloatArray, Plan

Index = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FirstMove:
    configuration: Configuration
    cost: CostTerms
    """Of a plan that begins with it, over the whole horizon."""
    least: bool
    """Whether no plan that begins with it costs less."""


class FirstMoves:
    """The first moves of one problem. Grids (N, F) follow the order of its space."""

    def __init__(self, problem: HorizonProblem) -> None:
        self._problem = problem
        space = problem.space
        self._executors = np.arange(problem.resource_cost.shape[0])
        self._frequencies = np.arange(problem.resource_cost.shape[1])
        self.current = space.index(problem.current)
        # Active executors are the fewest requested of late: what was requested before is a cap.
        before = active_executors(problem, [space.max_executors] * problem.horizon)
        self._caps = [space.executor_index(count) for count in before]
        self._cost = problem.qos.cost(problem.latency_s)
        """(h, N, F): of the latency, without a backlog."""
        self.staying = self._staying(0, self.current, self._caps, self._items)
        """(N, F): cost of requesting a configuration now and staying, allowed or not."""
        self.allowed = self._allowed(self.current, self._locked(0))
        """(N, F): whether rate limits, dwell and power cap allow it. An energy budget is about a
        whole plan."""

    def beginning_with(self, plan: Plan, first: Configuration) -> FirstMove:
        """The best plan that begins so, or a bound of it. `plan` is the best of all."""
        problem, limits = self._problem, self._problem.constraints
        if first == plan.trajectory[0]:
            return FirstMove(first, plan.cost, plan.proven)
        at = problem.space.index(first)
        if problem.horizon == 1:
            return FirstMove(first, cost_terms(problem, (first,)), True)
        # The request caps what is active for as long as the dead time.
        until = 1 + limits.dead_time_steps
        caps = [min(c, at[0]) if t < until else c for t, c in enumerate(self._caps)]
        dwells = limits.min_dwell_steps > 1 if at != self.current else self._locked(1)
        rest = self._staying(1, at, caps, self._items_after(at))
        rest[~self._allowed(at, dwells)] = np.inf
        n, f = divmod(int(rest.argmin()), rest.shape[1])
        trajectory = (first, *(problem.space.at(n, f),) * (problem.horizon - 1))
        least = problem.horizon == 2 and limits.energy_budget_j is None
        return FirstMove(first, cost_terms(problem, trajectory), least)

    def _locked(self, stage: int) -> bool:
        """Whether the current configuration, kept until then, must be kept in this stage too."""
        limits = self._problem.constraints
        since = limits.steps_since_change
        return since is not None and since + stage < limits.min_dwell_steps

    @property
    def _items(self) -> float:
        backlog = self._problem.backlog
        return 0.0 if backlog is None else backlog.initial_items

    def _items_after(self, at: Index) -> float:
        backlog = self._problem.backlog
        if backlog is None:
            return 0.0
        active = min(at[0], self._caps[0])
        surplus_per_s = float(backlog.arrivals_per_s[0] - backlog.service_per_s[active, at[1]])
        return max(backlog.initial_items + surplus_per_s * backlog.step_s, 0.0)

    def _staying(self, begin: int, before: Index, caps: list[int], initial: float) -> FloatArray:
        """(N, F): cost of the stages from `begin` on, each in the same configuration."""
        problem, backlog = self._problem, self._problem.backlog
        squares_n = (self._executors - before[0]) ** 2 * problem.executor_switching
        squares_f = (self._frequencies - before[1]) ** 2 * problem.frequency_switching
        cost = squares_n[:, None] + squares_f[None, :]
        cost = cost + (problem.horizon - begin) * problem.resource_cost
        if backlog is None:
            stages = np.arange(begin, problem.horizon)[:, None]
            active = np.minimum(self._executors, np.array(caps[begin:])[:, None])
            return np.asarray(cost + self._cost[stages, active].sum(axis=0))
        items = np.full(cost.shape, initial)
        for stage in range(begin, problem.horizon):
            active = np.minimum(self._executors, caps[stage])
            service_per_s = backlog.service_per_s[active]
            cost += problem.qos.cost(problem.latency_s[stage, active] + items / service_per_s)
            surplus_per_s = backlog.arrivals_per_s[stage] - service_per_s
            items = np.maximum(items + surplus_per_s * backlog.step_s, 0.0)
        return np.asarray(cost)

    def _allowed(self, before: Index, locked: bool) -> NDArray[np.bool_]:
        limits = self._problem.constraints
        allowed = np.ones(self._problem.resource_cost.shape, dtype=np.bool_)
        if locked:
            allowed[:] = False
            allowed[before] = True
        if limits.max_added_per_step is not None:
            allowed[before[0] + limits.max_added_per_step + 1 :] = False
        if limits.max_removed_per_step is not None:
            allowed[: max(before[0] - limits.max_removed_per_step, 0)] = False
        if limits.power_cap_w is not None and limits.power_w is not None:
            # Where nothing within reach keeps the cap, the least power does.
            least_w = float(limits.power_w[allowed].min())
            allowed &= limits.power_w <= max(limits.power_cap_w, least_w)
        return allowed
