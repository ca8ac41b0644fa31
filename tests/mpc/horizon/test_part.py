"""A problem on a part of its space costs what the whole one costs for the same trajectory."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mpc.horizon.part import restricted
from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.search import solve
from mpc.horizon.trajectory import cost_terms, latencies_s
from mpc.values import Configuration, ConfigurationSpace

SPACE = ConfigurationSpace(1, 6, (1_000_000, 1_500_000, 2_000_000))
PART = ConfigurationSpace(3, 5, (1_000_000, 2_000_000))
HORIZON = 4


def problem(backlog_items: float = 0.0, **constraints: Any) -> HorizonProblem:
    generator = np.random.default_rng(3)
    speed = SPACE.executors[:, None] * SPACE.frequencies_hz[None, :] / 1e9
    backlog = None
    if backlog_items:
        backlog = Backlog(backlog_items, np.full(HORIZON, 6.0), speed, 1.0)
    return HorizonProblem(
        space=SPACE,
        current=Configuration(4, 2_000_000),
        latency_s=generator.uniform(0.9, 1.1, (HORIZON, 1, 1)) * (3.0 / speed),
        qos=QosCurve(1.0, 0.0, 1.0),
        resource_cost=0.1 * speed,
        executor_switching=0.05,
        frequency_switching=0.05,
        constraints=Constraints(power_w=speed, **constraints),
        backlog=backlog,
    )


def test_the_whole_space_leaves_the_problem_as_it_is() -> None:
    whole = problem()
    assert restricted(whole, SPACE) is whole


def test_what_is_no_part_of_the_space_is_refused() -> None:
    with pytest.raises(ValueError, match="no part of"):
        restricted(problem(), ConfigurationSpace(1, 7, SPACE.frequencies_khz))
    with pytest.raises(ValueError, match="no part of"):
        restricted(problem(), ConfigurationSpace(1, 6, (1_200_000,)))


@pytest.mark.parametrize("backlog_items", [0.0, 20.0])
def test_a_plan_of_the_part_has_the_latencies_of_the_whole(backlog_items: float) -> None:
    whole = problem(backlog_items, dead_time_steps=2, recent_requests=(4, 4))
    part = restricted(whole, PART)
    plan = solve(part)
    assert all(3 <= planned.executors <= 5 for planned in plan.trajectory)
    np.testing.assert_allclose(
        latencies_s(part, plan.trajectory), latencies_s(whole, plan.trajectory)
    )


def test_executors_that_are_still_starting_do_not_serve_because_fewer_may_not_be_requested() -> (
    None
):
    """The fewest that may be requested is 3; 1 and then 2 serve until the last ones have come."""
    whole = problem(dead_time_steps=3, recent_requests=(1, 2, 5))
    part = restricted(whole, PART)
    stay = (Configuration(5, 2_000_000),) * HORIZON
    np.testing.assert_allclose(latencies_s(part, stay), latencies_s(whole, stay))
    assert cost_terms(part, stay).latency == pytest.approx(cost_terms(whole, stay).latency)


def test_what_starting_executors_do_not_serve_still_waits_afterwards() -> None:
    whole = problem(20.0, dead_time_steps=2, recent_requests=(1, 5))
    fast = (Configuration(5, 2_000_000),) * HORIZON
    late = latencies_s(restricted(whole, PART), fast)
    np.testing.assert_allclose(late[1:], latencies_s(whole, fast)[1:])


def test_a_current_configuration_outside_counts_as_the_nearest_inside() -> None:
    outside = replace(problem(), current=Configuration(1, 1_500_000))
    assert restricted(outside, PART).current == Configuration(3, 1_000_000)
