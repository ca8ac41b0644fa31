"""Node manager and application manager: who may move where, and which requests are granted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.policies.edf.application_manager import (
    ApplicationManager,
    BucketParameters,
    TokenBucket,
    prioritised,
    without_conflicts,
)
from mpc.policies.edf.node_manager import NodeManager, choose_node, replica_to_end
from mpc.policies.edf.values import ClusterView, Migration, Request, ScaleIn, ScaleOut

DELAYS_S = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])


def cluster(*utilisations: float, free: tuple[int, ...] = (1, 1, 1)) -> ClusterView:
    return ClusterView(utilisations, free, DELAYS_S)


def bucket(capacity: int = 1) -> TokenBucket:
    return TokenBucket(BucketParameters(high_s=0.225, low_s=0.125, capacity=capacity))


def test_closer_nodes_are_likelier() -> None:
    generator = np.random.default_rng(1)
    view = cluster(0.1, 0.1, 0.1)
    drawn = [choose_node(view, 0, generator) for _ in range(2000)]
    shares = [drawn.count(node) / 2000 for node in range(3)]
    np.testing.assert_allclose(shares, np.array([6, 3, 2]) / 11, atol=0.04)


def test_full_and_excluded_nodes_are_never_chosen() -> None:
    generator = np.random.default_rng(1)
    view = cluster(0.1, 0.1, 0.1, free=(0, 2, 2))
    assert {choose_node(view, 0, generator, frozenset({1})) for _ in range(50)} == {2}
    assert choose_node(cluster(0, 0, 0, free=(0, 0, 0)), 0, generator) is None


def test_the_replica_on_the_busiest_node_goes() -> None:
    assert replica_to_end(cluster(0.2, 0.9, 0.4), (0, 2, 1)) == 2


def test_a_node_below_its_target_moves_nothing() -> None:
    manager = NodeManager(0, np.random.default_rng(1))
    assert manager.propose(cluster(0.8, 0.1, 0.1), [("parser", 0)]) is None
    assert manager.propose(cluster(0.9, 0.1, 0.1), []) is None


def test_an_overloaded_node_sends_a_replica_to_one_that_is_not() -> None:
    manager = NodeManager(0, np.random.default_rng(1))
    for _ in range(20):
        move = manager.propose(cluster(0.9, 0.95, 0.1), [("parser", 0), ("rank", 2)])
        assert move is not None
        assert move.target_node == 2
        assert (move.operator, move.replica) in {("parser", 0), ("rank", 2)}
        assert move.score == pytest.approx(0.5)


def test_nowhere_to_go_is_no_request() -> None:
    manager = NodeManager(0, np.random.default_rng(1))
    assert manager.propose(cluster(0.9, 0.9, 0.9), [("parser", 0)]) is None


def test_of_two_requests_for_a_node_the_higher_score_wins() -> None:
    low, high = ScaleOut("a", 0.2, 1), Migration("b", 0.7, 0, 1)
    apart = ScaleIn("c", 0.1, 0)
    assert ApplicationManager().grant(0.0, 0.1, [low, apart, high]) == [high, apart]


def test_one_operator_is_reconfigured_once_at_a_time() -> None:
    ending, moving = ScaleIn("a", 0.9, 0), Migration("a", 0.3, 0, 2)
    assert without_conflicts(prioritised([moving, ending])) == [ending]


def test_a_bucket_without_token_grants_nothing() -> None:
    manager = ApplicationManager(bucket())
    requests: list[Request] = [ScaleOut("a", 1.0, 0), ScaleIn("b", 1.0, 0)]
    assert manager.grant(0.0, 0.2, requests) == []  # Between the thresholds.
    assert manager.grant(60.0, None, requests) == []


def test_slow_grants_the_best_scale_out_and_fast_the_best_scale_in() -> None:
    requests: list[Request] = [
        ScaleOut("a", 0.1, 0),
        Migration("b", 0.5, 0, 1),
        ScaleIn("c", 0.9, 0),
        ScaleIn("d", 0.95, 0),
    ]
    manager = ApplicationManager(bucket())
    assert manager.grant(0.0, 0.3, requests) == [requests[1]]
    assert manager.grant(30.0, 0.3, requests) == []  # The next token comes after 60 s.
    assert manager.grant(60.0, 0.05, requests) == [requests[3]]


def test_a_token_of_the_other_kind_empties_the_bucket() -> None:
    tokens = bucket(capacity=3)
    tokens.fill(0.0, 0.3)
    tokens.fill(60.0, 0.3)
    assert (tokens.kind, tokens.tokens) == ("H", 2)
    tokens.fill(120.0, 0.1)
    assert (tokens.kind, tokens.tokens) == ("L", 1)
    assert not tokens.take(ScaleOut("a", 1.0, 0))
    assert tokens.take(ScaleIn("a", 1.0, 0))
    assert tokens.kind is None


scores = st.floats(-1, 1)
names = st.sampled_from("abcdef")
positions = st.integers(0, 3)
any_request: st.SearchStrategy[Request] = st.one_of(
    st.builds(ScaleOut, names, scores, positions),
    st.builds(ScaleIn, names, scores, positions),
    st.builds(Migration, names, scores, positions, positions),
)


@given(st.lists(any_request, max_size=12))
def test_what_remains_is_free_of_conflicts_and_nothing_is_lost_needlessly(
    requests: list[Request],
) -> None:
    def node(request: Request) -> int | None:
        return None if isinstance(request, ScaleIn) else request.target_node

    granted = ApplicationManager().grant(0.0, None, requests)
    operators = [request.operator for request in granted]
    nodes = [node(request) for request in granted if node(request) is not None]
    assert len(operators) == len(set(operators))
    assert len(nodes) == len(set(nodes))
    for request in requests:
        blocking = [
            other
            for other in granted
            if other.operator == request.operator
            or (node(other) is not None and node(other) == node(request))
        ]
        assert request in granted or any(other.score >= request.score for other in blocking)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.lists(any_request, max_size=5)), max_size=30),
    st.integers(1, 3),
)
def test_never_more_grants_than_tokens(
    steps: list[tuple[float, list[Request]]], capacity: int
) -> None:
    manager = ApplicationManager(bucket(capacity))
    granted = 0
    for number, (response_s, requests) in enumerate(steps):
        granted += len(manager.grant(30.0 * number, response_s, requests))
        assert granted <= number // 2 + 1
