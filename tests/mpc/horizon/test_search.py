"""What a plan promises besides its cost: ties, extremes, budgets and relaxed limits."""

from dataclasses import replace
from itertools import pairwise
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpc.horizon.branch import branch_and_bound
from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.search import solve, warm_up
from mpc.values import Configuration, ConfigurationSpace, FloatArray
from tests.mpc.horizon.instances import problems


def plant(
    executors: int = 12, frequencies: int = 9, horizon: int = 5, seed: int = 0
) -> HorizonProblem:
    """A queue of wandering load; the latency falls with executors and frequency."""
    random = np.random.default_rng(seed)
    space = ConfigurationSpace(
        1, executors, tuple(1_200_000 + 100_000 * step for step in range(frequencies))
    )
    capacity = space.executors[:, None] * space.frequencies_hz[None, :]
    capacity = capacity / capacity.max()
    load = np.clip(0.6 + np.cumsum(random.normal(0, 0.1, horizon)), 0.1, 1.0)
    utilisation = load[:, None, None] / capacity
    stable = np.minimum(utilisation, 0.98)
    latency_s = 0.001 * (1 + stable / (1 - stable) + 2500 * np.maximum(utilisation - 0.98, 0))
    return HorizonProblem(
        space=space,
        current=space.at(int(random.integers(executors)), int(random.integers(frequencies))),
        latency_s=latency_s,
        qos=QosCurve(1.0, 0.001, 0.004, "normalised"),
        resource_cost=0.5 * capacity,
        executor_switching=1.0 / executors**2,
        frequency_switching=1.0 / frequencies**2,
    )


@given(problems())
def test_the_same_problem_has_the_same_plan(problem: HorizonProblem) -> None:
    assert solve(problem) == solve(problem)


@given(
    executors=st.integers(1, 12),
    frequencies=st.integers(1, 9),
    horizon=st.integers(1, 10),
    delay=st.integers(0, 4),
    data=st.data(),
)
def test_where_everything_costs_the_same_nothing_moves(
    executors: int, frequencies: int, horizon: int, delay: int, data: st.DataObject
) -> None:
    flat = plant(executors, frequencies, horizon)
    current = flat.space.at(
        data.draw(st.integers(0, executors - 1)), data.draw(st.integers(0, frequencies - 1))
    )
    flat = replace(
        flat,
        current=current,
        latency_s=np.ones((horizon, executors, frequencies)),
        resource_cost=np.ones((executors, frequencies)),
        executor_switching=0.0,
        frequency_switching=0.0,
        constraints=Constraints(dead_time_steps=delay),
    )
    assert solve(flat).trajectory == (current,) * horizon


def test_of_two_equal_targets_the_nearer_is_taken() -> None:
    base = plant(7, 1, 1)
    cost = np.array([[1.0], [9.0], [9.0], [9.0], [9.0], [1.0], [9.0]])
    tied = replace(
        base,
        latency_s=np.ones((1, 7, 1)),
        resource_cost=cost,
        executor_switching=0.0,
        current=base.space.at(3, 0),
    )
    assert solve(tied).trajectory[0].executors == 6
    assert solve(replace(tied, current=base.space.at(2, 0))).trajectory[0].executors == 1


@pytest.mark.parametrize(("executors", "frequencies", "horizon"), [(1, 1, 1), (1, 5, 3), (6, 1, 4)])
def test_spaces_of_one(executors: int, frequencies: int, horizon: int) -> None:
    plan = solve(plant(executors, frequencies, horizon))
    assert plan.proven
    assert len(plan.trajectory) == horizon


@pytest.mark.parametrize("delay", [0, 1])
def test_a_thousand_executors_are_solved_to_proof(delay: int) -> None:
    large = replace(plant(1000, 16, 10), constraints=Constraints(dead_time_steps=delay))
    plan = solve(large)
    assert plan.proven
    assert plan.nodes == 10
    assert plan.cost.total == pytest.approx(plan.lower_bound, rel=1e-9)


def test_a_long_dead_time_in_a_large_space_is_nearly_closed() -> None:
    for seed in range(4):
        large = plant(100, 9, 10, seed)
        plan = solve(replace(large, constraints=Constraints(dead_time_steps=3)), node_budget=2000)
        assert plan.cost.total <= 1.05 * plan.lower_bound


def test_under_overload_it_takes_what_drains_fastest() -> None:
    overloaded = plant()
    space = overloaded.space
    capacity = space.executors[:, None] * space.frequencies_hz[None, :]
    hopeless = replace(
        overloaded, latency_s=np.stack([1e9 * capacity.max() / capacity] * overloaded.horizon)
    )
    assert solve(hopeless).trajectory == (space.largest,) * overloaded.horizon
    drowned = replace(
        overloaded,
        backlog=Backlog(1e9, np.full(5, 1e3), capacity / capacity.max() * 1e3, 1.0),
    )
    plan = solve(drowned)
    assert plan.trajectory == (space.largest,) * overloaded.horizon
    assert np.isfinite(plan.cost.total)


@pytest.mark.parametrize("offset", [1e6, 1e12, 1e15])
@pytest.mark.parametrize("constraints", [Constraints(), Constraints(dead_time_steps=3)])
def test_an_offset_of_all_costs_does_not_change_the_decision(
    offset: float, constraints: Constraints
) -> None:
    # Multiples of 1/8 are exact beside 1e15, so the shifted problem is the same problem.
    base = replace(plant(horizon=10, seed=3), constraints=constraints)
    base = replace(base, resource_cost=np.round(base.resource_cost * 64) / 8)
    shifted = replace(base, resource_cost=base.resource_cost + offset)
    assert solve(shifted).trajectory == solve(base).trajectory


def test_one_node_is_enough_for_a_plan_and_its_gap_is_honest() -> None:
    hard = replace(
        plant(horizon=10),
        constraints=Constraints(power_w=_power_w(plant()), energy_budget_j=6.0, step_s=1.0),
    )
    hasty, careful = solve(hard, node_budget=1), solve(hard)
    assert careful.proven
    assert hasty.lower_bound <= careful.cost.total * (1 + 1e-4)
    assert careful.cost.total <= hasty.cost.total * (1 + 1e-4)
    assert hasty.lower_bound <= hasty.cost.total
    assert hasty.proven == (hasty.cost.total <= hasty.lower_bound * (1 + 1e-4) + 1e-9)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), budget=st.sampled_from([1, 50, 2000]))
def test_a_larger_budget_is_never_worse_by_more_than_the_tolerance(seed: int, budget: int) -> None:
    base = plant(10, 5, 6, seed)
    constraints = Constraints(
        dead_time_steps=2, power_w=_power_w(base), energy_budget_j=3.5, step_s=1.0
    )
    problem = replace(base, constraints=constraints)
    small, large = solve(problem, budget), solve(problem, 20 * budget)
    assert large.cost.total <= small.cost.total * (1 + 1e-4)
    assert large.lower_bound >= small.lower_bound * (1 - 1e-3)


def test_frequency_bridges_the_time_until_executors_arrive() -> None:
    base = plant(12, 9, 8)
    executors = base.space.executors[:, None]
    frequency_ghz = base.space.frequencies_hz[None, :] / 1e9
    enough = executors * frequency_ghz >= 12.0
    late = replace(
        base,
        current=base.space.at(6, 0),  # 7 executors at 1.2 GHz
        latency_s=np.where(np.stack([enough] * 8), 0.001, 0.05),
        resource_cost=0.01 * executors * frequency_ghz**3,
        constraints=Constraints(dead_time_steps=3),
    )
    trajectory = solve(late).trajectory
    assert [u.frequency_khz for u in trajectory[:3]] == [1_800_000] * 3  # 7 * 1.8 > 12
    assert trajectory[0].executors > 7
    assert trajectory[-1].frequency_khz < 1_800_000


def test_lost_executors_hold_back_the_first_stages_only() -> None:
    base = replace(plant(12, 1, 4), current=Configuration(8, 1_200_000))
    constraints = Constraints(dead_time_steps=2, recent_requests=(3, 3))
    flat = replace(base, latency_s=np.stack([1.0 / np.arange(1.0, 13.0)[:, None]] * 4))
    flat = replace(flat, resource_cost=np.zeros((12, 1)), constraints=constraints)
    whole = replace(flat, constraints=Constraints(dead_time_steps=2))
    assert solve(flat).cost.latency > solve(whole).cost.latency


def test_the_power_cap_out_of_reach_is_approached_as_fast_as_allowed() -> None:
    base = plant(12, 1, 4)
    power_w = np.arange(1.0, 13.0)[:, None]
    capped = replace(
        base,
        current=base.space.at(9, 0),
        constraints=Constraints(max_removed_per_step=2, power_w=power_w, power_cap_w=5.0),
    )
    plan = solve(capped)
    assert [u.executors for u in plan.trajectory[:2]] == [8, 6]
    assert all(u.executors <= 5 for u in plan.trajectory[2:])
    assert plan.relaxed == ("power_cap",)
    assert solve(replace(capped, current=base.space.at(4, 0))).relaxed == ()


def test_an_energy_budget_that_nothing_meets_gives_the_least_energy() -> None:
    base = plant(5, 3, 4)
    power_w = _power_w(base)
    starved = replace(
        base, constraints=Constraints(power_w=power_w, energy_budget_j=0.0, step_s=1.0)
    )
    plan = solve(starved)
    assert plan.relaxed == ("energy_budget",)
    assert plan.trajectory == (base.space.at(0, 0),) * 4
    assert plan.proven


def test_a_configuration_is_held_for_the_dwell() -> None:
    base = plant(12, 9, 6, seed=1)
    dwelling = replace(base, constraints=Constraints(min_dwell_steps=3, steps_since_change=1))
    trajectory = solve(dwelling).trajectory
    assert trajectory[:2] == (base.current,) * 2
    changes = [t for t in range(1, 6) if trajectory[t] != trajectory[t - 1]]
    assert all(later - earlier >= 3 for earlier, later in pairwise(changes))


@pytest.mark.parametrize(("budget", "tolerance"), [(0, 1e-4), (1, -0.1), (1, 1.0), (1, np.nan)])
def test_senseless_limits_of_the_search_are_refused(budget: int, tolerance: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        solve(plant(), budget, tolerance)


def test_nothing_is_compiled_after_the_warm_up() -> None:
    warm_up()
    compiled_for = attrgetter("signatures")
    known = list(compiled_for(branch_and_bound))
    base = plant()
    frozen = np.asfortranarray(base.latency_s)
    frozen.flags.writeable = False
    backlog = Backlog(5, np.ones(5), _power_w(base)[::1], 1)
    odd = replace(base, latency_s=frozen, executor_switching=1, backlog=backlog)
    solve(odd)
    assert list(compiled_for(branch_and_bound)) == known


def _power_w(problem: HorizonProblem) -> FloatArray:
    capacity = problem.space.executors[:, None] * problem.space.frequencies_hz[None, :]
    return np.asarray(0.1 + capacity / capacity.max(), dtype=np.float64)
