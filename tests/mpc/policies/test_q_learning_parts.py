"""States, initialisers, rewards, exploration, executor strategies and the history of Azimi Gehraz
2018.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.policies.q_learning.choice import (
    ExecutorStrategy,
    Exploration,
    allowed_actions,
    waiting_batches,
)
from mpc.policies.q_learning.options import RewardKind
from mpc.policies.q_learning.policy import HistoryWindow
from mpc.policies.q_learning.rewards import Transition, reward
from mpc.policies.q_learning.states import Action, State, StateGrid, initial_values
from mpc.values import Configuration, Measurement

KEEP, OUT, IN = Action.KEEP, Action.SCALE_OUT, Action.SCALE_IN
GRID = StateGrid(target_latency_s=30.0, granularity_s=10.0, max_latency_s=300.0)
ANYWHERE = Configuration(4, 2_000_000)

states = st.builds(State, st.integers(0, GRID.latencies - 1), st.booleans())
transitions = st.builds(
    Transition, states, st.sampled_from(Action), states, executors=st.integers(4, 24)
)


@given(latency_s=st.floats(0, 1e6), rising=st.booleans())
def test_every_latency_has_one_state(latency_s: float, rising: bool) -> None:
    state = GRID.state(latency_s, rising)
    assert 0 <= state.latency_index < GRID.latencies
    if latency_s < GRID.max_latency_s:
        assert state.latency_index == int(latency_s // 10.0 + 1e-9)
    if not 29.9 < latency_s < 30.1:
        assert GRID.violates(state) == (latency_s >= 30.0)


@given(target_s=st.floats(1e-3, 1e3))
def test_a_third_of_the_target_puts_the_target_on_the_third_step(target_s: float) -> None:
    grid = StateGrid(target_s, target_s / 3, 10 * target_s)
    assert grid.target_index == 3
    assert grid.violates(grid.state(target_s, rising=True))


@pytest.mark.parametrize(("granularity_s", "max_latency_s"), [(0.0, 300), (31.0, 300), (10.0, 30)])
def test_a_grid_that_cannot_tell_the_target_is_refused(
    granularity_s: float, max_latency_s: float
) -> None:
    with pytest.raises(ValueError, match="granularity <= target < maximum"):
        StateGrid(30.0, granularity_s, max_latency_s)


def test_the_optimised_values_are_those_of_the_four_regions() -> None:
    values = initial_values("optimised", GRID, np.random.default_rng(1))
    near, far = 2, 6  # 20 s and 60 s at a target of 30 s

    def of(latency: int, rising: int) -> dict[Action, float]:
        return {action: float(values[latency, rising, action]) for action in Action}

    assert of(near, 1) == pytest.approx({OUT: 2 / 3, KEEP: 1 / 3, IN: 0.0})  # Eq. 4.10
    assert of(far, 1) == pytest.approx({OUT: 2.0, KEEP: 1.0, IN: -1.0})  # Eq. 4.11
    assert of(far, 0) == pytest.approx({OUT: 0.0, KEEP: 1.0, IN: -1.0})  # Eq. 4.12
    assert of(near, 0) == pytest.approx({OUT: 0.0, KEEP: 2 / 3, IN: 1 / 3})  # Eq. 4.13
    assert of(3, 1) == pytest.approx({OUT: 1.0, KEEP: 0.0, IN: -1.0})  # the target itself


def test_zero_and_random_values() -> None:
    assert not initial_values("zero", GRID, np.random.default_rng(1)).any()
    drawn = initial_values("random", GRID, np.random.default_rng(1))
    assert -1 <= drawn.min() < -0.5 < 0.5 < drawn.max() <= 1
    assert np.array_equal(drawn, initial_values("random", GRID, np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("before", "action", "after", "sign"),
    [
        # Rule 1: what did not improve the latency is punished, what did is praised.
        ((5, True), IN, (6, True), -1),
        ((6, True), KEEP, (7, True), -1),
        ((6, False), KEEP, (5, False), 1),
        ((2, False), OUT, (2, False), -1),
        # Rule 2: unless the load explains it.
        ((5, True), OUT, (7, True), 1),
        ((5, True), OUT, (7, False), -1),
        # Rule 3: above the target with a falling load, waiting is praised.
        ((5, False), KEEP, (5, False), 1),
        # Rule 4: below the target with latency and load falling, waiting is punished.
        ((2, False), KEEP, (1, False), -1),
        ((2, False), IN, (1, False), 1),
        ((2, True), KEEP, (1, True), 1),
    ],
)
def test_the_rules_of_the_reward(
    before: tuple[int, bool], action: Action, after: tuple[int, bool], sign: int
) -> None:
    change = Transition(State(*before), action, State(*after), executors=8)
    assert np.sign(reward("prefer-scale-in", GRID, change, 4, 24)) == sign


def test_only_the_preference_for_scaling_in_punishes_waiting_below_the_target() -> None:
    change = Transition(State(2, False), KEEP, State(1, False), executors=8)
    assert reward("prefer-no-action", GRID, change, 4, 24) == 2.0
    assert reward("prefer-scale-in", GRID, change, 4, 24) == -3.0
    at_the_least = Transition(State(2, False), KEEP, State(1, False), executors=4)
    assert reward("prefer-scale-in", GRID, at_the_least, 4, 24) == 0.0


@given(change=transitions, kind=st.sampled_from(["prefer-scale-in", "prefer-no-action"]))
def test_a_reward_above_the_target_is_as_large_as_the_violation(
    change: Transition, kind: RewardKind
) -> None:
    worth = reward(kind, GRID, change, 4, 24)
    assert abs(worth) <= max(GRID.latencies, 24.0)
    if GRID.violates(change.after) and change.executors < 24:
        assert abs(worth) == change.after.latency_index + 1 - GRID.target_index


@given(
    before=states,
    last=st.sampled_from(Action),
    now=states,
    can_grow=st.booleans(),
    can_shrink=st.booleans(),
)
def test_allowed_actions_are_monotone_and_within_the_bounds(
    before: State, last: Action, now: State, can_grow: bool, can_shrink: bool
) -> None:
    allowed = allowed_actions(before, last, now, can_grow, can_shrink)
    assert KEEP in allowed
    worse = now.latency_index > before.latency_index
    better = now.latency_index < before.latency_index
    assert (OUT in allowed) == (can_grow and not (last is IN and better))
    assert (IN in allowed) == (can_shrink and not (last is OUT and worse))


def chosen(exploration: Exploration, times: int, allowed: Sequence[Action] = tuple(Action)) -> str:
    random = np.random.default_rng(7)
    values = np.array([0.0, 2.0, 1.0])
    names = {KEEP: "k", OUT: "o", IN: "i"}
    return "".join(names[exploration.choose(values, allowed, random)] for _ in range(times))


def test_greedy_takes_the_best_and_keeps_when_all_are_equal() -> None:
    greedy = Exploration("greedy", 0.5, 0.1)
    assert chosen(greedy, 50) == "o" * 50
    assert chosen(greedy, 5, (KEEP, IN)) == "iiiii"
    assert greedy.choose(np.zeros(3), list(Action), np.random.default_rng(1)) is KEEP


def test_epsilon_explores_at_its_rate_and_only_what_is_allowed() -> None:
    actions = chosen(Exploration("epsilon", 0.3, 0.1), 3000)
    others = (actions.count("k") + actions.count("i")) / len(actions)
    assert others == pytest.approx(0.2, abs=0.03)  # two thirds of 0.3
    assert "k" not in chosen(Exploration("epsilon", 1.0, 0.0), 100, (OUT, IN))


def test_decreasing_epsilon_ends_as_greedy() -> None:
    actions = chosen(Exploration("decreasing-epsilon", 1.0, 0.02), 300)
    assert set(actions[:40]) == {"k", "o", "i"}
    assert actions[50:] == "o" * 250


def test_static_and_linear_strategies() -> None:
    static = ExecutorStrategy("static", 2)
    assert [static.change(action, 50) for action in (OUT, OUT, KEEP, IN)] == [2, 2, 0, -2]
    linear = ExecutorStrategy("linear", 1)
    out = [linear.change(OUT, 50) for _ in range(5)]
    assert out == [1, 2, 4, 6, 8]
    assert [linear.change(action, 0) for action in (KEEP, OUT, IN, IN, OUT)] == [0, 10, -1, -2, 1]


def test_queue_aware_adds_by_the_queue_and_removes_statically() -> None:
    strategy = ExecutorStrategy("queue-aware", 1)
    assert [strategy.change(OUT, waiting) for waiting in (-3, 0, 2, 17)] == [1, 1, 2, 17]
    assert strategy.change(IN, 20) == -1


def test_waiting_batches_are_counted_or_follow_from_the_wait() -> None:
    def measured(**fields: Any) -> Measurement:
        return Measurement(1, 10.0, ANYWHERE, ANYWHERE, **fields)

    assert waiting_batches(measured(arrivals_per_s=100.0, backlog_items=5_400.0), 10.0) == 5
    assert waiting_batches(measured(wait_s=34.0), 10.0) == 3
    assert waiting_batches(measured(wait_s=5.0), 10.0) == 0
    assert waiting_batches(measured(), 10.0) == 0


def test_the_history_averages_its_window_and_compares_loads() -> None:
    history = HistoryWindow(20.0, arrivals_granularity_per_s=10.0)

    def add(time_s: float, latency_s: float | None, arrivals_per_s: float | None) -> None:
        history.add(
            Measurement(
                1,
                time_s,
                ANYWHERE,
                ANYWHERE,
                latency_s=latency_s,
                arrivals_per_s=arrivals_per_s,
            )
        )

    assert history.latency_s is None
    assert history.compare_load()
    add(10.0, 4.0, 105.0)
    assert history.compare_load()
    add(20.0, 8.0, 101.0)
    assert history.latency_s == pytest.approx(6.0)
    assert history.compare_load()  # 103 and 105 are the same to within ten
    add(30.0, 10.0, 71.0)
    assert history.latency_s == pytest.approx(9.0)
    assert not history.compare_load()
    add(60.0, None, None)
    assert history.latency_s is None
