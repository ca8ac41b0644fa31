"""Value iteration finds what exact linear equations confirm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpc.policies.mdp.problem import NO_ACTION, Instances, MdpWeights, stage_cost
from mpc.policies.mdp.value_iteration import greedy, solve
from tests.mpc.policies.mdp.chains import optimal_values, random_transitions, value_of


@settings(max_examples=15)
@given(
    operators=st.integers(1, 2),
    choices=st.integers(1, 3),
    fewest=st.integers(1, 3),
    levels=st.integers(1, 4),
    discount=st.sampled_from([0.0, 0.5, 0.9, 0.97]),
    seed=st.integers(0, 1000),
)
def test_it_is_the_exact_optimum(
    operators: int, choices: int, fewest: int, levels: int, discount: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    instances = Instances(operators, fewest, fewest + choices - 1)
    weights = MdpWeights(*random.random(3))
    transitions = random_transitions(levels, random)
    violated = (random.random((levels, instances.size)) < 0.5).astype(np.float64)
    solution = solve(
        transitions,
        stage_cost(instances, weights, violated),
        instances,
        weights.reconfiguration,
        discount,
        tolerance=1e-7,
    )
    exact = optimal_values(transitions, violated, instances, weights, discount)
    assert np.abs(solution.values - exact).max() <= 1e-7 + 1e-12
    assert solution.error <= 1e-7
    policy = greedy(solution.ahead, instances.neighbours(), weights.reconfiguration)
    achieved = value_of(policy, transitions, violated, instances, weights, discount)
    assert achieved == pytest.approx(exact, abs=1e-5)


def test_neighbours_are_one_instance_away() -> None:
    instances = Instances(2, 1, 3)
    counts, neighbours = instances.counts, instances.neighbours()
    assert neighbours.shape == (9, 9)
    assert (neighbours[:, 0] == np.arange(9)).all()
    for at, row in enumerate(neighbours):
        reached = row[row != NO_ACTION]
        assert len(set(reached.tolist())) == len(reached)
        within = [to for to in range(9) if np.abs(counts[to] - counts[at]).max() <= 1]
        assert sorted(reached.tolist()) == within


@given(operators=st.integers(1, 4), fewest=st.integers(1, 3), more=st.integers(0, 3))
def test_a_combination_has_one_place(operators: int, fewest: int, more: int) -> None:
    instances = Instances(operators, fewest, fewest + more)
    counts = instances.counts
    assert counts.shape == (instances.size, operators)
    assert [instances.place(row) for row in counts] == list(range(instances.size))
    share = counts.sum(axis=1) / (operators * instances.most)
    assert instances.resource_share() == pytest.approx(share)


def test_it_goes_on_from_an_earlier_solution() -> None:
    random = np.random.default_rng(5)
    instances, transitions = Instances(1, 1, 5), random_transitions(6, random)
    stage = stage_cost(instances, MdpWeights(), (random.random((6, 5)) < 0.5).astype(np.float64))
    first = solve(transitions, stage, instances, 0.4)
    again = solve(transitions, stage, instances, 0.4, start=first.values)
    assert again.sweeps < 5 < first.sweeps
    assert again.values == pytest.approx(first.values, abs=2e-6)
    assert solve(transitions, stage, instances, 0.4, most_sweeps=7).sweeps == 7


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="discount"):
        solve(np.eye(1), np.zeros((1, 1)), Instances(1, 1, 1), 0.4, discount=1.0)
    with pytest.raises(ValueError, match="fewest"):
        Instances(1, 3, 2)
    with pytest.raises(ValueError, match="negative"):
        MdpWeights(resource=-0.1)
