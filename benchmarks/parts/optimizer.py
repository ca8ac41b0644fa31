"""Time and nodes of the optimiser against the number of trajectories it chooses from.

Every row is measured over random but realistic problems: a queue whose load wanders over the
horizon, the prior power model, and costs scaled so that sizes compare. Each timing is one whole
`solve` call, validation included; compilation is paid before the first.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.search import solve, warm_up
from mpc.values import ConfigurationSpace, FloatArray

SIZES = ((12, 9, 1), (12, 9, 3), (12, 9, 5), (12, 9, 10), (100, 9, 5), (1000, 16, 10))
CONSTRAINTS = ("dead-time", "rate-limit", "dwell", "power-cap", "energy-budget", "backlog")
STEP_S = 1.0
SERVICE_S = 0.001
"""Mean service of one item at the highest frequency."""
MOST_W = 100.0
NODE_BUDGET = 20_000
FEWEST_PROBLEMS = 5
MOST_PROBLEMS = 200


@dataclass(frozen=True, slots=True)
class OptimizerRow:
    executors: int
    frequencies: int
    horizon: int
    constraints: str
    """Names joined by "+", or "none"."""
    ms_p50: float
    ms_p99: float
    nodes: int
    """Median."""
    trajectories: float
    """N^h * F^h"""


def optimizer_rows(
    seconds: float, progress: Callable[[str], None] | None = None
) -> list[OptimizerRow]:
    """All rows, each of about `seconds`; `progress` gets the name of each before it starts."""
    warm_up()
    rows = []
    for executors, frequencies, horizon, names in _cases():
        label = "+".join(names) or "none"
        if progress is not None:
            progress(f"{executors} x {frequencies}, h = {horizon}, {label}")
        milliseconds, nodes = _measure((executors, frequencies, horizon), names, seconds)
        rows.append(
            OptimizerRow(
                executors=executors,
                frequencies=frequencies,
                horizon=horizon,
                constraints=label,
                ms_p50=float(np.quantile(milliseconds, 0.5)),
                ms_p99=float(np.quantile(milliseconds, 0.99)),
                nodes=int(np.median(nodes)),
                trajectories=float(executors * frequencies) ** horizon,
            )
        )
    return rows


def _cases() -> Iterator[tuple[int, int, int, tuple[str, ...]]]:
    """Every size without constraints, the larger horizons with each of them and with all."""
    for executors, frequencies, horizon in SIZES:
        yield executors, frequencies, horizon, ()
        if horizon >= 5:
            for name in CONSTRAINTS:
                yield executors, frequencies, horizon, (name,)
        if executors == 12 and horizon >= 5:
            yield executors, frequencies, horizon, CONSTRAINTS


def _measure(
    size: tuple[int, int, int], names: tuple[str, ...], seconds: float
) -> tuple[list[float], list[int]]:
    random = np.random.default_rng(0)
    milliseconds: list[float] = []
    nodes: list[int] = []
    until_s = time.perf_counter() + seconds
    while len(nodes) < FEWEST_PROBLEMS or (
        len(nodes) < MOST_PROBLEMS and time.perf_counter() < until_s
    ):
        problem = random_problem(random, size, names)
        start_s = time.perf_counter()
        plan = solve(problem, node_budget=NODE_BUDGET)
        milliseconds.append(1e3 * (time.perf_counter() - start_s))
        nodes.append(plan.nodes)
    return milliseconds, nodes


def random_problem(
    random: np.random.Generator, size: tuple[int, int, int], names: tuple[str, ...]
) -> HorizonProblem:
    """A problem of `size` = (executors, frequencies, horizon) with the named constraints."""
    executors, frequencies, horizon = size
    space = ConfigurationSpace(
        1, executors, tuple(1_200_000 + 100_000 * step for step in range(frequencies))
    )
    count = space.executors[:, None] / executors
    frequency = space.frequencies_hz[None, :] / space.frequencies_hz[-1]
    capacity = count * frequency
    load = np.clip(random.uniform(0.3, 0.8) + np.cumsum(random.normal(0, 0.1, horizon)), 0.05, 1.1)
    power_w = MOST_W * (
        0.081 + 0.168 * frequency + 0.576 * count * frequency + 0.175 * count * frequency**3
    )
    return HorizonProblem(
        space=space,
        current=space.at(int(random.integers(executors)), int(random.integers(frequencies))),
        latency_s=_latency_s(load[:, None, None] / capacity, frequency, count * executors),
        qos=QosCurve(weight=1.0, offset_s=SERVICE_S, scale_s=2 * SERVICE_S, mode="normalised"),
        resource_cost=0.5 * power_w / MOST_W,
        executor_switching=1.6 / executors**2,
        frequency_switching=1.6 / frequencies**2,
        constraints=_constraints(names, power_w, load, executors),
        backlog=_backlog(random, load, capacity, executors) if "backlog" in names else None,
    )


def _latency_s(utilisation: FloatArray, frequency: FloatArray, executors: FloatArray) -> FloatArray:
    """Service and M/M/1-like wait, continued along a steep line above a utilisation of 0.98."""
    stable = np.minimum(utilisation, 0.98)
    wait = stable / (1 - stable) + 2500 * np.maximum(utilisation - 0.98, 0)
    return np.asarray(SERVICE_S / frequency * (1 + wait / executors), dtype=np.float64)


def _constraints(
    names: tuple[str, ...], power_w: FloatArray, load: FloatArray, executors: int
) -> Constraints:
    limited = "rate-limit" in names
    budget_j = MOST_W * STEP_S * float(np.minimum(0.1 + 0.75 * load, 0.9).sum())
    return Constraints(
        dead_time_steps=3 if "dead-time" in names else 0,
        max_added_per_step=max(1, executors // 6) if limited else None,
        max_removed_per_step=max(1, executors // 12) if limited else None,
        min_dwell_steps=3 if "dwell" in names else 0,
        power_w=power_w,
        power_cap_w=0.7 * MOST_W if "power-cap" in names else None,
        energy_budget_j=budget_j if "energy-budget" in names else None,
        step_s=STEP_S,
    )


def _backlog(
    random: np.random.Generator, load: FloatArray, capacity: FloatArray, executors: int
) -> Backlog:
    most_per_s = executors / SERVICE_S
    return Backlog(
        initial_items=float(random.choice([0.0, 0.2, 1.0])) * most_per_s * STEP_S,
        arrivals_per_s=load * most_per_s,
        service_per_s=capacity * most_per_s,
        step_s=STEP_S,
    )
