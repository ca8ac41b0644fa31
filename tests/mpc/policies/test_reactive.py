"""rule-based and spl, by the words of De Matteis and Mencagli 2016, section 5.5."""

from typing import Any

import numpy as np
import pytest

from mpc.bounds import Bounds
from mpc.policies.routing import SteadyRouting
from mpc.policies.rule_based import RuleBasedPolicy
from mpc.policies.spl import SplPolicy
from mpc.values import Configuration, ConfigurationSpace, FloatArray, IntArray, Measurement

SPACE = ConfigurationSpace(1, 12, (1_200_000, 2_000_000))


def measured(executors: int, **values: Any) -> Measurement:
    ran = Configuration(executors, 2_000_000)
    return Measurement(1, 1.0, ran, ran, **values)


@pytest.mark.parametrize(
    ("latency_s", "executors", "wanted"),
    [(1.2, 5, 6), (1.0, 5, 5), (0.6, 5, 4), (0.6, 1, 1), (9.0, 12, 12)],
)
def test_rules_add_above_and_remove_below(latency_s: float, executors: int, wanted: int) -> None:
    decision = RuleBasedPolicy(SPACE, 1.0).decide(
        measured(executors, latency_s=latency_s), Bounds(SPACE)
    )
    assert decision.target == Configuration(wanted, 2_000_000)


def spl_step(policy: SplPolicy, executors: int, throughput: float, congestion: float) -> int:
    step = measured(executors, completions_per_s=throughput, congestion=congestion)
    return policy.decide(step, Bounds(SPACE)).target.executors


def test_spl_expands_while_congested_and_while_it_helps() -> None:
    policy = SplPolicy(SPACE)
    assert spl_step(policy, 2, 100.0, 0.5) == 3
    assert spl_step(policy, 3, 150.0, 0.5) == 4


def test_spl_undoes_an_expansion_that_brought_nothing_and_remembers_it() -> None:
    policy = SplPolicy(SPACE)
    spl_step(policy, 2, 100.0, 0.5)
    assert spl_step(policy, 3, 100.0, 0.5) == 4  # up is unknown, so it is tried first
    assert spl_step(policy, 4, 80.0, 0.5) == 5
    assert spl_step(policy, 12, 80.0, 0.5) == 12
    policy = SplPolicy(SPACE)
    spl_step(policy, 3, 100.0, 0.5)
    spl_step(policy, 4, 60.0, 0.5)
    assert spl_step(policy, 3, 100.0, 0.5) == 3  # 4 is known to be worse


def test_spl_contracts_when_idle_but_not_to_a_level_that_was_congested() -> None:
    policy = SplPolicy(SPACE)
    assert spl_step(policy, 4, 100.0, 0.0) == 3
    assert spl_step(policy, 3, 100.0, 0.9) == 4
    assert spl_step(policy, 4, 100.0, 0.0) == 4


def test_spl_forgets_when_the_load_falls() -> None:
    policy = SplPolicy(SPACE)
    spl_step(policy, 3, 100.0, 0.9)
    assert spl_step(policy, 4, 130.0, 0.0) == 4
    assert spl_step(policy, 4, 60.0, 0.0) == 3  # less load at the same level: try again


def test_steady_routing_moves_keys_only_when_it_must() -> None:
    routing = SteadyRouting(smoothing=0.1, tolerated_imbalance=1.03)
    random = np.random.default_rng(3)
    frequencies = random.dirichlet(np.full(500, 2.0))
    ran = Configuration(4, 2_000_000)

    def step(shares: FloatArray, executors: int) -> IntArray:
        counts = random.poisson(shares * 100_000.0).astype(np.float64)
        cost = np.full(500, 1e6)
        measurement = Measurement(
            1, 1.0, ran, ran, key_frequencies=counts / counts.sum(), key_cost_cycles=cost
        )
        table = routing.table(measurement, executors)
        assert table is not None
        return table

    first = step(frequencies, 4)
    assert all(step(frequencies, 4) is first for _ in range(30))
    assert step(frequencies, 3) is not first
    second = step(frequencies, 3)
    drifted = frequencies * np.where(second == 0, 1.2, 1.0)
    drifted /= drifted.sum()
    assert any(step(drifted, 3) is not second for _ in range(60))
