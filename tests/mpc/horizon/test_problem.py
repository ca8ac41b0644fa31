"""Problems that make no sense are refused with a sentence that names the field."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.trajectory import active_executors, cost_terms, latencies_s
from mpc.values import Configuration, ConfigurationSpace

SPACE = ConfigurationSpace(1, 3, (1_000_000, 2_000_000))
GRID = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def problem() -> HorizonProblem:
    return HorizonProblem(
        space=SPACE,
        current=Configuration(2, 1_000_000),
        latency_s=np.stack([1.0 / GRID, 2.0 / GRID]),
        qos=QosCurve(1.0, 0.0, 1.0),
        resource_cost=GRID,
        executor_switching=0.5,
        frequency_switching=0.25,
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"latency_s": np.ones((3, 2))}, "latency_s must be"),
        ({"latency_s": np.ones((0, 3, 2))}, "latency_s must be"),
        ({"latency_s": np.ones((2, 2, 2))}, "latency_s must have shape"),
        ({"latency_s": np.full((2, 3, 2), np.inf)}, "latency_s must be finite"),
        ({"latency_s": np.ones((2, 3, 2), dtype=np.int64)}, "latency_s must be float64"),
        ({"resource_cost": np.ones((2, 3))}, "resource_cost must have shape"),
        ({"resource_cost": np.full((3, 2), np.nan)}, "resource_cost must be finite"),
        ({"executor_switching": -1.0}, "executor_switching"),
        ({"frequency_switching": np.nan}, "frequency_switching"),
        ({"constraints": Constraints(power_w=np.ones((2, 2)))}, "power_w must have shape"),
        ({"backlog": Backlog(1.0, np.ones(3), GRID, 1.0)}, "arrivals_per_s must have shape"),
        ({"backlog": Backlog(1.0, -np.ones(2), GRID, 1.0)}, "arrivals_per_s must be >= 0"),
        ({"backlog": Backlog(1.0, np.ones(2), GRID - 1.0, 1.0)}, "service_per_s must be > 0"),
        (
            {"backlog": Backlog(1.0, np.ones(2), GRID, 1.0), "constraints": Constraints(step_s=2)},
            "must agree",
        ),
    ],
)
def test_a_problem_that_does_not_fit_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(problem(), **changed)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dead_time_steps": -1}, "dead_time_steps"),
        ({"dead_time_steps": 2, "recent_requests": (1,)}, "recent_requests"),
        ({"max_added_per_step": -1}, "max_added_per_step"),
        ({"min_dwell_steps": -2}, "min_dwell_steps"),
        ({"power_cap_w": 3.0}, "need power_w"),
        ({"power_w": GRID, "power_cap_w": np.inf}, "power_cap_w must be finite"),
        ({"power_w": GRID, "energy_budget_j": 3.0}, "needs step_s"),
        ({"step_s": 0.0}, "step_s"),
    ],
)
def test_constraints_that_contradict_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Constraints(), **fields)


@pytest.mark.parametrize(("items", "step_s"), [(-1.0, 1.0), (np.nan, 1.0), (0.0, 0.0)])
def test_a_backlog_without_sense_is_refused(items: float, step_s: float) -> None:
    with pytest.raises(ValueError, match="backlog"):
        Backlog(items, np.ones(2), GRID, step_s)


def test_the_cost_of_a_trajectory_is_its_definition() -> None:
    late = replace(
        problem(),
        constraints=Constraints(dead_time_steps=1, recent_requests=(2,)),
        backlog=Backlog(4.0, np.array([5.0, 0.0]), GRID, 1.0),
    )
    trajectory = (Configuration(3, 2_000_000), Configuration(3, 1_000_000))
    assert active_executors(late, [3, 3]) == [2, 3]
    # 4 items wait, (2, f2) serves 4/s; 5 arrive, so 5 wait for (3, f1) with 5/s.
    assert latencies_s(late, trajectory) == pytest.approx([1 / 4 + 4 / 4, 2 / 5 + 5 / 5])
    terms = cost_terms(late, trajectory)
    assert terms.resource == pytest.approx(6.0 + 5.0)
    assert terms.switching == pytest.approx(0.5 * 1 + 0.25 * 1 + 0.25 * 1)
    assert terms.latency == pytest.approx(np.exp(1.25) + np.exp(1.4))
