"""Agents that see nothing but their own operator stay within bounds and reach their target."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpc.policies.mdp.controllers import DecentralisedAgents, Slot
from mpc.policies.mdp.problem import Instances, MdpWeights

INSTANCES = Instances(3, 1, 5)


def slots(level: int, before: int, after: int, following: int, loads: tuple[float, ...]) -> Slot:
    return Slot(level, before, after, following, violated=False, utilisations=loads)


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), *(st.floats(0, 2) for _ in range(3))),
        min_size=2,
        max_size=40,
    )
)
def test_every_agent_moves_by_one_within_its_bounds(
    steps: list[tuple[int, float, float, float]],
) -> None:
    agents = DecentralisedAgents(5, INSTANCES, MdpWeights(), 0.7)
    counts = INSTANCES.counts
    at = 0
    for (level, *loads), (following, *_) in pairwise(steps):
        after = agents.decide(level, at)
        assert 0 <= after < INSTANCES.size
        assert np.abs(counts[after] - counts[at]).max() <= 1
        agents.learn(slots(level, at, after, following, tuple(loads)))
        at = after


def test_each_finds_the_fewest_instances_that_keep_its_target() -> None:
    service_per_s, rate_per_s = (3.7, 3.3, 2.7), 6.0
    agents = DecentralisedAgents(1, INSTANCES, MdpWeights(), 0.7)
    counts = INSTANCES.counts
    at = INSTANCES.size - 1
    for _ in range(3000):
        after = agents.decide(0, at)
        loads = tuple(
            rate_per_s / (mu * count)
            for mu, count in zip(service_per_s, counts[after], strict=True)
        )
        agents.learn(slots(0, at, after, 0, loads))
        at = after
    assert counts[at].tolist() == [3, 3, 4]


def test_an_agent_has_a_table_of_its_own_and_a_target() -> None:
    agents = DecentralisedAgents(3, INSTANCES, MdpWeights(), 0.7)
    assert [learner.values.shape for learner in agents.learners] == [(3, 5)] * 3
    with pytest.raises(ValueError, match="target_utilisation"):
        DecentralisedAgents(3, Instances(1, 1, 5), MdpWeights(), 1.5)
