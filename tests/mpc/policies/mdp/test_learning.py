"""What is learned step by step approaches the truth (Algorithm 1, Eq. 5 and 6 of Russo Russo
2018).
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.policies.mdp.learner import ModelBasedLearner
from mpc.policies.mdp.problem import Instances, MdpWeights, stage_cost
from mpc.policies.mdp.value_iteration import greedy, solve
from mpc.policies.rate_transitions import (
    TransitionEstimate,
    counted_transitions,
    merged_pairs,
    probabilities,
)
from tests.mpc.policies.mdp.chains import random_transitions

WEIGHTS = MdpWeights()


@given(st.lists(st.integers(0, 6), min_size=2, max_size=60))
def test_counting_at_once_or_one_by_one_is_the_same(path: list[int]) -> None:
    levels = np.asarray(path, dtype=np.int64)
    size = int(levels.max()) + 1
    estimate = TransitionEstimate(size)
    for before, after in pairwise(path):
        estimate.observe(before, after)
    counts = counted_transitions(levels)
    assert (estimate.counts == counts).all()
    assert estimate.matrix == pytest.approx(probabilities(counts))
    assert estimate.matrix.sum(axis=1) == pytest.approx(np.ones(size))


def test_a_level_never_left_is_taken_to_stay() -> None:
    assert probabilities(np.asarray([[0.0, 0.0], [3.0, 1.0]])).tolist() == [[1, 0], [0.75, 0.25]]


@given(st.integers(2, 9), st.integers(0, 100))
def test_merging_levels_keeps_every_count(levels: int, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 9, (levels, levels)).astype(np.float64)
    estimate = TransitionEstimate(levels)
    estimate.counts = counts
    estimate.merge_pairs()
    assert estimate.counts.sum() == counts.sum()
    assert estimate.counts[0, 0] == counts[0, 0]
    assert estimate.counts[1, 0] == counts[1:3, 0].sum()
    assert not estimate.counts[levels // 2 + 1 :].any()
    assert merged_pairs(np.arange(5.0)).tolist() == [0.0, 3.0, 7.0, 0.0, 0.0]


def walk(learner: ModelBasedLearner, truth: np.ndarray, violated: np.ndarray, steps: int) -> None:
    random = np.random.default_rng(11)
    cumulative = truth.cumsum(axis=1)
    level, at = 0, 0
    for _ in range(steps):
        action = learner.choose(level, at)
        after = learner.after(at, action)
        following = min(int(np.searchsorted(cumulative[level], random.random())), len(truth) - 1)
        learner.learn(level, at, action, following, bool(violated[level, after]))
        level, at = following, after


@pytest.mark.parametrize("known", [True, False])
def test_it_approaches_the_optimal_policy(known: bool) -> None:
    random = np.random.default_rng(2)
    instances = Instances(1, 1, 4)
    truth = random_transitions(5, random)
    violated = (np.arange(5)[:, None] > np.arange(1, 5)[None, :]).astype(np.float64)
    learner = ModelBasedLearner(
        5, instances, WEIGHTS, known_violations=violated if known else None, discount=0.95
    )
    walk(learner, truth, violated, 30_000)
    assert np.abs(learner.transitions - truth).max() < 0.03
    best = solve(
        truth, stage_cost(instances, WEIGHTS, violated), instances, WEIGHTS.reconfiguration, 0.95
    )
    if known:
        assert learner.values == pytest.approx(best.values, abs=0.1)
    # Where it goes in the end is where the optimal policy goes.
    policy = greedy(best.ahead, instances.neighbours(), WEIGHTS.reconfiguration)
    at = 0
    for level in [0, 1, 2, 3, 4, 3, 2, 1, 0] * 3:
        after = learner.after(at, learner.choose(level, at))
        assert after == policy[level, at]
        at = after


def test_equation_6_averages_the_penalty_of_what_was_done() -> None:
    learner = ModelBasedLearner(
        2, Instances(1, 1, 2), WEIGHTS, known_violations=None, violation_smoothing=0.1
    )
    for violated in (True, True, False):
        learner.learn(1, 0, 0, 1, violated)
    assert learner.penalties is not None
    assert learner.penalties[1, 0, 0] == pytest.approx(0.4 * (0.1 + 0.9 * 0.1) * 0.9)
    assert np.count_nonzero(learner.penalties) == 1
