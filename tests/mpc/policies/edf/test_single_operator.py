"""The local policies behind the contract of every policy."""

import numpy as np
import pytest

from mpc.bounds import Bounds
from mpc.policies.edf.single_operator import SingleOperatorPolicy
from mpc.policies.edf.threshold import ThresholdParameters, ThresholdScaling
from mpc.ports import Policy
from mpc.snapshot import load, save
from mpc.values import Configuration, ConfigurationSpace, Measurement
from runtime.config.policies.edf import EdfModelBased, EdfQLearning, EdfThreshold
from runtime.policies.edf import (
    edf_model_based_policy,
    edf_q_learning_policy,
    edf_threshold_policy,
)

SPACE = ConfigurationSpace(1, 6, (1_000_000, 2_000_000))


def policies() -> dict[str, Policy]:
    def generator() -> np.random.Generator:
        return np.random.default_rng(1)

    return {
        "threshold": edf_threshold_policy(EdfThreshold(), SPACE, 0.1, 1.0, generator()),
        "q-learning": edf_q_learning_policy(EdfQLearning(), SPACE, 0.1, 1.0, generator()),
        "model-based": edf_model_based_policy(EdfModelBased(), SPACE, 0.1, 1.0, generator()),
    }


def measured(
    step: int, executors: int, observed: int | None = None, arrivals_per_s: float = 700.0
) -> Measurement:
    """1e7 cycles an item at 2 GHz: an executor serves 200 items/s."""
    running = executors if observed is None else observed
    served = min(arrivals_per_s, 200.0 * running)
    return Measurement(
        step,
        float(step),
        Configuration(executors, 2_000_000),
        Configuration(running, 2_000_000),
        arrivals_per_s=arrivals_per_s,
        completions_per_s=served,
        cost_cycles=1e7,
        latency_s=0.02 if served == arrivals_per_s else 2.0,
    )


def targets(policy: Policy, steps: range, executors: int) -> list[int]:
    decided = []
    for step in steps:
        executors = policy.decide(measured(step, executors), Bounds(SPACE)).target.executors
        decided.append(executors)
    return decided


@pytest.mark.parametrize("name", ["threshold", "model-based"])
def test_comes_to_enough_executors_and_stays(name: str) -> None:
    decided = targets(policies()[name], range(1, 61), 1)
    assert decided[-20:] == [decided[-1]] * 20
    assert decided[-1] >= 4


def test_q_learning_gets_out_of_an_overload_but_does_not_stay() -> None:
    decided = targets(policies()["q-learning"], range(1, 61), 1)
    assert max(decided[:15]) >= 4
    assert len(set(decided[-20:])) > 2


@pytest.mark.parametrize("name", ["threshold", "q-learning", "model-based"])
def test_a_restored_policy_decides_as_the_saved_one(name: str) -> None:
    policy = policies()[name]
    executors = targets(policy, range(1, 80), 1)[-1]
    restored = load(save(policy))
    assert targets(restored, range(80, 200), executors) == targets(
        policy, range(80, 200), executors
    )


def test_waits_while_executors_start_but_not_for_ever() -> None:
    local = ThresholdScaling(ThresholdParameters(1, 6))
    policy = SingleOperatorPolicy(SPACE, local, settle_s=10.0)
    assert policy.decide(measured(1, 1), Bounds(SPACE)).target.executors == 2
    for step in range(2, 11):
        decision = policy.decide(measured(step, 2, observed=1), Bounds(SPACE))
        assert decision.target.executors == 2
        assert "waiting" in decision.reason
    assert policy.decide(measured(11, 2, observed=1), Bounds(SPACE)).target.executors == 3


def test_frequency_stays_at_the_top_and_gaps_change_nothing() -> None:
    for policy in policies().values():
        here = Configuration(3, 1_000_000)
        decision = policy.decide(Measurement(1, 1.0, here, here), Bounds(SPACE))
        assert decision.target == Configuration(3, 2_000_000)
        assert "no " in decision.reason
