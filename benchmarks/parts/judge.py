"""The search against an independent solver: random small problems as mixed-integer programs.

A backlog is not linear in the choices; problems with one are judged by trying every trajectory.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks.parts.optimizer import CONSTRAINTS, random_problem
from mpc.horizon.judge import judge
from mpc.horizon.problem import HorizonProblem
from mpc.horizon.search import solve, warm_up
from mpc.horizon.trajectory import cost_terms

SIZE, TINY = (5, 3, 4), (3, 2, 4)
"""Executors, frequencies, horizon; the second for what is tried exhaustively."""
AGREED = 1e-4
FEWEST, MOST = 3, 200
LINEAR = tuple(name for name in CONSTRAINTS if name != "backlog")


@dataclass(frozen=True, slots=True)
class JudgeRow:
    constraints: str
    judge: str
    """milp or exhaustive."""
    problems: int
    agreed: int
    """Within 0.01 %, which is what the search promises."""
    largest_difference: float
    """Of the plan's cost above the judge's, relative to it."""


def judge_rows(seconds: float, progress: Callable[[str], None] | None = None) -> list[JudgeRow]:
    """One row for each set of constraints, each of about `seconds`."""
    warm_up()
    rows = []
    for names in ((), *((name,) for name in LINEAR), LINEAR, ("backlog",)):
        label = "+".join(names) or "none"
        if progress is not None:
            progress(label)
        rows.append(_row(names, label, seconds))
    return rows


def _row(names: tuple[str, ...], label: str, seconds: float) -> JudgeRow:
    random = np.random.default_rng(0)
    exhaustive = "backlog" in names
    differences: list[float] = []
    until_s = time.perf_counter() + seconds
    while len(differences) < FEWEST or (len(differences) < MOST and time.perf_counter() < until_s):
        problem = _with_history(random, random_problem(random, TINY if exhaustive else SIZE, names))
        least = _exhaustive(problem) if exhaustive else _by_program(problem)
        if least is None:
            continue
        found = solve(problem).cost.total
        differences.append((found - least) / max(abs(least), 1e-12))
    return JudgeRow(
        constraints=label,
        judge="exhaustive" if exhaustive else "milp",
        problems=len(differences),
        agreed=sum(each <= AGREED for each in differences),
        largest_difference=max(differences),
    )


def _with_history(random: np.random.Generator, problem: HorizonProblem) -> HorizonProblem:
    """Requests of before, as many as the dead time has steps."""
    steps, space = problem.constraints.dead_time_steps, problem.space
    recent = random.integers(space.min_executors, space.max_executors + 1, steps)
    constraints = replace(problem.constraints, recent_requests=tuple(recent.tolist()))
    return replace(problem, constraints=constraints)


def _by_program(problem: HorizonProblem) -> float | None:
    """None for an overload so large that a solver of floats cannot tell its costs apart."""
    try:
        return judge(problem).cost.total
    except ValueError:
        return None


def _exhaustive(problem: HorizonProblem) -> float:
    space = problem.space
    every = [space.at(n, f) for n in range(TINY[0]) for f in range(TINY[1])]
    return min(
        cost_terms(problem, trajectory).total
        for trajectory in product(every, repeat=problem.horizon)
    )
