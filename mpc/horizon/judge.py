"""An independent judge of the optimiser: the same problem as a mixed-integer program for HiGHS.

One-hot variables choose a configuration for every stage; flows between successive choices carry
the switching cost, and the active executors of a dead time are logical ands. Seconds instead of
microseconds. Backlog is not linear and is left to exhaustive search.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from mpc.horizon.problem import Constraints, HorizonProblem
from mpc.horizon.trajectory import cost_terms
from mpc.values import Configuration, CostTerms, FloatArray

COST_CAP = 1e5
"""Costs are capped here before a solver sees them: at 1e8 some return wrong "optimal" answers."""


@dataclass(frozen=True, slots=True)
class Verdict:
    trajectory: tuple[Configuration, ...]
    cost: CostTerms


def judge(problem: HorizonProblem) -> Verdict:
    """The optimum according to HiGHS, through cvxpy."""
    if problem.backlog is not None:
        raise ValueError("the judge has no backlog: its latency is not linear in the choices")
    program = _Program(problem)
    budget_j = problem.constraints.energy_budget_j
    if budget_j is not None:
        least_j = program.minimise(program.energy_j)
        limit_j = max(budget_j, least_j)
        program.add(program.energy_j <= limit_j + 1e-6 * max(abs(limit_j), 1.0))
    if program.minimise(program.cost) >= COST_CAP:
        raise ValueError(f"every trajectory costs {COST_CAP:g} or more: beyond what HiGHS can tell")
    trajectory = program.trajectory()
    return Verdict(trajectory, cost_terms(problem, trajectory))


class _Program:
    """Variables and constraints, stage by stage."""

    def __init__(self, problem: HorizonProblem) -> None:
        # It takes a second to import, and only a judgement needs it.
        cvxpy = self._cvxpy = import_module("cvxpy")
        self._problem = problem
        self._shape = problem.resource_cost.shape
        self._start = np.zeros(self._shape)
        self._start[problem.space.index(problem.current)] = 1.0
        self._choices = [cvxpy.Variable(self._shape, boolean=True) for _ in range(problem.horizon)]
        self._constraints: list[Any] = [cvxpy.sum(choice) == 1 for choice in self._choices]
        self.cost: Any = self._latency_cost() + self._resource_cost() + self._switching_cost()
        self.energy_j: Any = 0.0
        limits = problem.constraints
        if limits.power_w is not None and limits.step_s is not None:
            self.energy_j = sum(
                cvxpy.sum(cvxpy.multiply(limits.power_w * limits.step_s, choice))
                for choice in self._choices
            )
        self._limit_moves(limits)

    def add(self, constraint: Any) -> None:
        self._constraints.append(constraint)

    def minimise(self, objective: Any) -> float:
        program = self._cvxpy.Problem(self._cvxpy.Minimize(objective), self._constraints)
        program.solve(
            solver=self._cvxpy.HIGHS,
            mip_rel_gap=0.0,
            mip_abs_gap=0.0,
            mip_feasibility_tolerance=1e-9,
            primal_feasibility_tolerance=1e-9,
        )
        if program.status != "optimal":
            raise RuntimeError(f"HiGHS ended with {program.status!r} instead of an optimum")
        return float(program.value)

    def trajectory(self) -> tuple[Configuration, ...]:
        chosen = [
            np.unravel_index(int(np.argmax(choice.value)), self._shape) for choice in self._choices
        ]
        return tuple(self._problem.space.at(int(n), int(f)) for n, f in chosen)

    def _before(self, stage: int) -> Any:
        return self._start if stage == 0 else self._choices[stage - 1]

    def _resource_cost(self) -> Any:
        table = _capped(self._problem.resource_cost)
        return sum(self._cvxpy.sum(self._cvxpy.multiply(table, u)) for u in self._choices)

    def _switching_cost(self) -> Any:
        """A flow from one one-hot choice to the next, along each axis."""
        total: Any = 0.0
        weights = (self._problem.executor_switching, self._problem.frequency_switching)
        for other_axis, weight in ((1, weights[0]), (0, weights[1])):
            size = self._shape[1 - other_axis]
            distance = np.subtract.outer(np.arange(size), np.arange(size)) ** 2
            for stage, choice in enumerate(self._choices):
                before = self._before(stage)
                flow = self._cvxpy.Variable((size, size), nonneg=True)
                self.add(self._cvxpy.sum(flow, axis=1) == self._cvxpy.sum(before, axis=other_axis))
                self.add(self._cvxpy.sum(flow, axis=0) == self._cvxpy.sum(choice, axis=other_axis))
                total += self._cvxpy.sum(
                    self._cvxpy.multiply(np.minimum(weight * distance, COST_CAP), flow)
                )
        return total

    def _latency_cost(self) -> Any:
        tables = self._problem.qos.cost(self._problem.latency_s)
        total: Any = 0.0
        for stage, choice in enumerate(self._choices):
            served = choice
            if self._problem.constraints.dead_time_steps > 0:
                served = self._active(stage)
            total += self._cvxpy.sum(self._cvxpy.multiply(_capped(tables[stage]), served))
        return total

    def _active(self, stage: int) -> Any:
        """One-hot (active executors, frequency): "at least j" is the and over the last requests."""
        executors, _ = self._shape
        delay = self._problem.constraints.dead_time_steps
        recent = (
            self._problem.constraints.recent_requests or (self._problem.current.executors,) * delay
        )
        felt = [self._problem.space.executor_index(count) for count in recent[stage:]]
        reached = np.array([all(count >= j for count in felt) for j in range(executors)], float)
        at_least = np.triu(np.ones((executors, executors)))  # row j: counts j, j+1, ..
        requests = [
            at_least @ self._cvxpy.sum(choice, axis=1)
            for choice in self._choices[max(0, stage - delay) : stage + 1]
        ]
        active = self._cvxpy.Variable(executors)
        self.add(active >= 0)
        self.add(active <= reached)
        self.add(active >= reached + sum(requests) - len(requests))
        for request in requests:
            self.add(active <= request)
        served = self._cvxpy.Variable(self._shape, nonneg=True)
        self.add(at_least @ self._cvxpy.sum(served, axis=1) == active)
        self.add(self._cvxpy.sum(served, axis=0) == self._cvxpy.sum(self._choices[stage], axis=0))
        return served

    def _limit_moves(self, limits: Constraints) -> None:
        counts = np.arange(self._shape[0], dtype=np.float64)
        changes = [self._cvxpy.Variable(boolean=True) for _ in self._choices]
        dwell = limits.min_dwell_steps
        held = dwell if limits.steps_since_change is None else limits.steps_since_change
        for stage, choice in enumerate(self._choices):
            before = self._before(stage)
            added = counts @ self._cvxpy.sum(choice - before, axis=1)
            if limits.max_added_per_step is not None:
                self.add(added <= limits.max_added_per_step)
            if limits.max_removed_per_step is not None:
                self.add(added >= -limits.max_removed_per_step)
            # A change is exactly a stage whose choice differs from the one before.
            self.add(choice - before <= changes[stage])
            self.add(choice + before <= 2 - changes[stage])
            locked: Any = sum(changes[max(0, stage - dwell + 1) : stage]) if dwell > 1 else 0.0
            if stage < dwell - held:
                locked = locked + 1.0
            self.add(changes[stage] <= 1 - locked)
            if limits.power_cap_w is not None and limits.power_w is not None:
                self._limit_power(stage, limits, locked)

    def _limit_power(self, stage: int, limits: Constraints, locked: Any) -> None:
        """Forbid what exceeds the cap or, where that is out of reach, the least power in reach."""
        power_w, cap_w = limits.power_w, limits.power_cap_w
        if power_w is None or cap_w is None:
            return
        executors, _ = self._shape
        before = self._cvxpy.sum(self._before(stage), axis=1)
        for count in range(executors):
            first = 0
            if limits.max_removed_per_step is not None:
                first = max(0, count - limits.max_removed_per_step)
            last = executors
            if limits.max_added_per_step is not None:
                last = count + limits.max_added_per_step + 1
            allowed_w = max(cap_w, float(power_w[first:last].min()))
            forbidden = (power_w > allowed_w).astype(np.float64)
            if forbidden.any():
                used = self._cvxpy.sum(self._cvxpy.multiply(forbidden, self._choices[stage]))
                self.add(used + before[count] <= 1 + locked)


def _capped(table: FloatArray) -> FloatArray:
    return np.asarray(np.minimum(table - table.min(), COST_CAP), dtype=np.float64)
