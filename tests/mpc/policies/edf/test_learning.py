"""The learning local policies: Eq. 1 to 5 of Cardellini et al. 2018, and what comes of them in the
end.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mpc.policies.edf.learning import LearningTask, OperatorModel
from mpc.policies.edf.model_based import ModelBasedScaling, ViolationCosts
from mpc.policies.edf.options import EdfModelBasedOptions, EdfQLearningOptions
from mpc.policies.edf.q_learning import QLearningScaling
from mpc.policies.edf.values import LocalPolicy, OperatorSample
from mpc.policies.rate_transitions import TransitionEstimate

OPTIONS = EdfModelBasedOptions(rate_levels=10)
Q_OPTIONS = EdfQLearningOptions(rate_levels=10)
TASK = LearningTask(bound_s=0.1, min_replicas=1, max_replicas=4)


def driven(policy: LocalPolicy, rates: list[float], start: int = 1) -> tuple[list[int], int]:
    """An operator that keeps its bound while a replica gets at most 100 tuples/s; every proposal
    is carried out. Replicas at every step and the number of changes."""
    replicas, history, changes = start, [], 0
    for rate in rates:
        response_s = 0.05 if rate / replicas <= 100 else 1.0
        proposal = policy.propose(OperatorSample(replicas, None, rate, response_s))
        replicas += proposal.change
        changes += proposal.change != 0
        history.append(replicas)
    return history, changes


def test_cost_is_the_weighted_sum_of_equation_1() -> None:
    model = OperatorModel(OPTIONS, TASK)
    assert model.known_cost(count_index=1, change=1) == pytest.approx(0.2 + 0.4 * 3 / 4)
    assert model.known_cost(count_index=1, change=0) == pytest.approx(0.4 * 2 / 4)
    assert model.violation_cost(0.11) == pytest.approx(0.4)
    assert model.violation_cost(0.1) == 0.0


def test_only_the_ratio_of_the_weights_counts() -> None:
    scaled = EdfModelBasedOptions(
        performance_weight=4.0, resource_weight=4.0, reconfiguration_weight=2.0
    )
    assert OperatorModel(scaled, TASK).known_cost(1, 1) == pytest.approx(
        OperatorModel(OPTIONS, TASK).known_cost(1, 1)
    )


def test_rates_are_rounded_and_the_highest_level_takes_the_rest() -> None:
    model = OperatorModel(OPTIONS, TASK)
    assert model.state(2, 74.0) == (1, 1)
    assert model.state(2, 76.0) == (1, 2)
    assert model.state(9, 1e9) == (3, 10)


updates = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 10), st.sampled_from([0.0, 0.4])), max_size=40
)


@given(updates)
def test_violation_costs_stay_monotone(sequence: list[tuple[int, int, float]]) -> None:
    costs = ViolationCosts(OperatorModel(OPTIONS, TASK), learning_rate=0.1)
    for count, level, cost in sequence:
        costs.update((count, level), cost)
        assert (np.diff(costs.estimates, axis=0) <= 0).all(), "more replicas never cost more"
        assert (np.diff(costs.estimates, axis=1) >= 0).all(), "more arrivals never cost less"
        assert 0.0 <= costs.estimates.min() <= costs.estimates.max() <= 0.4


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40))
def test_transition_estimates_are_distributions(moves: list[tuple[int, int]]) -> None:
    transitions = TransitionEstimate(6)
    for before, after in moves:
        transitions.observe(before, after)
    shares = transitions.matrix
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for before, after in moves:
        left = sum(1 for move in moves if move[0] == before)
        assert shares[before, after] == pytest.approx(moves.count((before, after)) / left)


def test_model_based_finds_the_cheapest_replicas_and_stays() -> None:
    history, changes = driven(ModelBasedScaling(OPTIONS, TASK), [290.0] * 400)
    assert history[-200:] == [3] * 200
    assert changes == 2


def test_model_based_carries_what_it_learned_to_other_rates() -> None:
    """Monotone estimates: bad at 290 tuples/s with two replicas means bad at 390, too."""
    policy = ModelBasedScaling(OPTIONS, TASK)
    driven(policy, [290.0] * 400)
    history, _ = driven(policy, [390.0] * 3, start=2)
    assert history[0] == 3


def test_q_learning_keeps_reconfiguring_where_model_based_has_settled() -> None:
    rates = [290.0] * 400
    _, by_model = driven(ModelBasedScaling(OPTIONS, TASK), rates)
    _, by_trial = driven(QLearningScaling(Q_OPTIONS, TASK, np.random.default_rng(1)), rates)
    assert by_trial > 20 * by_model


def test_q_learning_does_learn_in_the_end() -> None:
    short_sighted = replace(Q_OPTIONS, discount=0.5)
    policy = QLearningScaling(short_sighted, TASK, np.random.default_rng(1))
    history, _ = driven(policy, [290.0] * 2000)
    assert history[-500:].count(3) > 400


def test_q_learning_updates_by_equation_2() -> None:
    """First visit from a table of zeros: alpha times the cost of keeping two replicas."""
    policy = QLearningScaling(replace(Q_OPTIONS, exploration=0.0), TASK, np.random.default_rng(1))
    over = OperatorSample(2, None, 300.0, 1.0)
    assert policy.propose(over).change == 0
    # Keeping cost 0.1 * (0.4 + 0.4 * 2 / 4) = 0.06 while the untried actions stand at 0.
    proposal = policy.propose(over)
    assert proposal.change == 1
    assert proposal.score == pytest.approx(0.06)


def test_denied_proposals_are_learned_as_doing_nothing() -> None:
    policy = QLearningScaling(replace(Q_OPTIONS, exploration=0.0), TASK, np.random.default_rng(1))
    over = OperatorSample(2, None, 300.0, 1.0)
    scores = [policy.propose(over).score for _ in range(4)]
    assert scores[1:] == sorted(scores[1:])
    assert scores[3] > scores[1] > 0.0


@given(
    st.lists(
        st.tuples(
            st.integers(1, 4),
            st.none() | st.floats(0, 1e6),
            st.none() | st.floats(0, 1e3),
        ),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
)
def test_always_an_admissible_proposal(
    steps: list[tuple[int, float | None, float | None]], by_model: bool
) -> None:
    policy: LocalPolicy = (
        ModelBasedScaling(OPTIONS, TASK)
        if by_model
        else QLearningScaling(replace(Q_OPTIONS, exploration=0.5), TASK, np.random.default_rng(3))
    )
    for replicas, rate, response_s in steps:
        proposal = policy.propose(OperatorSample(replicas, None, rate, response_s))
        assert 1 <= replicas + proposal.change <= 4
        assert proposal.score <= 1.0
        assert proposal.reason
