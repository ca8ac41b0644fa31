"""The temporal difference agent and the value iteration before it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.bounds import Bounds
from mpc.policies.q_learning import QLearningParameters, QLearningPolicy, ValueIterationPolicy
from mpc.policies.q_learning.states import Action, State
from mpc.policies.q_learning.value_iteration import TransitionModel
from mpc.values import Configuration, ConfigurationSpace, Measurement

SPACE = ConfigurationSpace(4, 24, (1_200_000, 2_000_000))
PARAMETERS = QLearningParameters(window_s=60.0, decision_interval_s=60.0)


def agent(**changes: Any) -> QLearningPolicy:
    return QLearningPolicy(SPACE, replace(PARAMETERS, **changes), np.random.default_rng(1))


def measured(minute: float, executors: int, latency_s: float | None, **fields: Any) -> Measurement:
    running = Configuration(executors, 2_000_000)
    fields.setdefault("arrivals_per_s", 100.0 + minute)
    return Measurement(int(minute), 60.0 * minute, running, running, latency_s=latency_s, **fields)


def test_the_first_sample_already_leads_to_a_decision() -> None:
    decision = agent().decide(measured(1, 4, 90.0), Bounds(SPACE))
    assert decision.target == Configuration(5, 2_000_000)
    assert "scale out at latency 90 s with the load rising" in decision.reason


def test_it_decides_once_an_interval() -> None:
    policy = agent()
    policy.decide(measured(1, 8, 90.0), Bounds(SPACE))
    waiting = policy.decide(measured(1.5, 9, 90.0), Bounds(SPACE))
    assert waiting.target.executors == 9
    assert waiting.reason == "within the decision interval"
    assert policy.decide(measured(2, 9, 90.0), Bounds(SPACE)).target.executors == 10


def test_without_a_latency_it_keeps() -> None:
    decision = agent().decide(measured(1, 8, None), Bounds(SPACE))
    assert decision.target.executors == 8
    assert decision.reason == "no latency measured"


def test_a_long_queue_brings_many_executors_at_once() -> None:
    decision = agent().decide(measured(1, 4, 120.0, wait_s=100.0), Bounds(SPACE))
    assert decision.target.executors == 4 + 10 - 3


def test_far_below_the_target_with_a_falling_load_it_scales_in() -> None:
    policy = agent()
    policy.decide(measured(1, 12, 8.0, arrivals_per_s=100.0), Bounds(SPACE))
    decision = policy.decide(measured(2, 12, 8.0, arrivals_per_s=80.0), Bounds(SPACE))
    assert decision.target.executors == 11


def test_the_update_is_equation_4_4() -> None:
    policy = agent()
    before = policy.values
    policy.decide(measured(1, 8, 65.0), Bounds(SPACE))
    policy.decide(measured(2, 9, 75.0), Bounds(SPACE))
    first, second = State(6, True).index, State(7, True).index
    # Rule 2: latency and load rose, so scaling out is worth the violation of five steps.
    expected = 0.3 * before[(*first, Action.SCALE_OUT)] + 0.7 * (
        5.0 + 0.9 * before[(*second, Action.SCALE_OUT)]
    )
    after = policy.values
    assert after[(*first, Action.SCALE_OUT)] == pytest.approx(expected)
    after[(*first, Action.SCALE_OUT)] = before[(*first, Action.SCALE_OUT)]
    assert np.array_equal(after, before)


def test_a_table_can_be_handed_on() -> None:
    teacher = agent()
    teacher.decide(measured(1, 8, 65.0), Bounds(SPACE))
    teacher.decide(measured(2, 9, 75.0), Bounds(SPACE))
    pupil = QLearningPolicy(SPACE, PARAMETERS, np.random.default_rng(2), values=teacher.values)
    assert np.array_equal(pupil.values, teacher.values)
    with pytest.raises(ValueError, match="do not fit"):
        QLearningPolicy(SPACE, PARAMETERS, np.random.default_rng(2), values=np.zeros((2, 2, 3)))


@given(
    latencies_s=st.lists(st.one_of(st.none(), st.floats(0, 1e4)), min_size=1, max_size=30),
    strategy=st.sampled_from(["static", "linear", "queue-aware"]),
    wait_s=st.floats(0, 1e6),
)
def test_executors_stay_within_the_space_and_the_values_finite(
    latencies_s: list[float | None], strategy: str, wait_s: float
) -> None:
    policy = agent(executor_strategy=strategy, initialisation="random", exploration="epsilon")
    executors = 4
    for minute, latency_s in enumerate(latencies_s):
        decision = policy.decide(
            measured(minute, executors, latency_s, wait_s=wait_s), Bounds(SPACE)
        )
        executors = decision.target.executors
        assert 4 <= executors <= 24
    assert np.isfinite(policy.values).all()


def test_value_iteration_finds_the_values_of_a_known_model() -> None:
    """Two states; keeping is worth 1 in the first, moving on is worth 0 and leads to worth 2."""
    here, there = State(0, False), State(1, False)
    model = TransitionModel()
    for _ in range(3):
        model.count(here, Action.KEEP, here, 1.0)
        model.count(there, Action.KEEP, there, 2.0)
    model.count(here, Action.SCALE_OUT, there, 0.0)
    solved = model.solved(np.zeros((2, 2, 3)), 0.9, iterations=400)
    assert solved[0, 0, Action.KEEP] == pytest.approx(1.0 + 0.9 * 18.0)
    assert solved[0, 0, Action.SCALE_OUT] == pytest.approx(0.9 * 20.0)
    assert solved[1, 0, Action.KEEP] == pytest.approx(20.0)
    assert solved[1, 0, Action.SCALE_IN] == 0.0


def test_value_iteration_averages_what_it_saw() -> None:
    here, there = State(0, False), State(1, False)
    model = TransitionModel()
    for after, worth in ((here, 1.0), (there, 4.0), (there, 4.0), (there, 3.0)):
        model.count(here, Action.KEEP, after, worth)
    once = model.solved(np.full((2, 2, 3), 2.0), 0.5, iterations=1)
    assert once[0, 0, Action.KEEP] == pytest.approx(3.0 + 0.5 * 2.0)


def test_training_ends_with_a_table_and_learning_goes_on() -> None:
    policy = ValueIterationPolicy(
        SPACE,
        replace(PARAMETERS, initialisation="zero", epsilon=0.0),
        np.random.default_rng(1),
        training_s=300.0,
    )
    for minute in range(6):
        assert policy.training
        assert not policy.values.any()
        policy.decide(measured(minute, 8, 40.0 + 10.0 * minute), Bounds(SPACE))
    # Zeros keep, the latency rises under a rising load, and that is punished.
    solved = policy.decide(measured(6, 8, 100.0), Bounds(SPACE))
    assert not policy.training
    assert policy.values[4, 1, Action.KEEP] < 0
    assert solved.target.executors == 8  # a state it has never seen
    known = policy.decide(measured(7, 8, 45.0), Bounds(SPACE))
    assert known.target.executors == 9
