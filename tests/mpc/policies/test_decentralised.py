"""`decentralised`: every executor decides for itself, in its own turn."""

import pickle

import numpy as np
import pytest

from mpc.bounds import Bounds
from mpc.policies.decentralised import DecentralisedParameters, DecentralisedPolicy
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement
from runtime.config.policies.decentralised import Decentralised
from runtime.policies.decentralised import decentralised_policy

SPACE = ConfigurationSpace(1, 50, (1_000_000, 2_000_000))
KNOWN = DecentralisedParameters(capacity_per_s=500.0)


def policy(seed: int = 0, parameters: DecentralisedParameters = KNOWN) -> DecentralisedPolicy:
    return DecentralisedPolicy(SPACE, parameters, np.random.default_rng(seed))


def measurement(step: int, executors: int, arrivals_per_s: float | None) -> Measurement:
    now = Configuration(executors, 2_000_000)
    return Measurement(step, float(step), now, now, arrivals_per_s=arrivals_per_s)


def run(
    subject: DecentralisedPolicy,
    arrivals_per_s: list[float | None],
    executors: int,
    space: ConfigurationSpace = SPACE,
) -> list[int]:
    wanted = []
    for step, each in enumerate(arrivals_per_s, start=1):
        decision = subject.decide(measurement(step, executors, each), Bounds(space))
        executors = decision.target.executors
        assert decision.target.frequency_khz == 2_000_000
        wanted.append(executors)
    return wanted


def test_executors_decide_every_fifth_step_of_their_own_life() -> None:
    wanted = run(policy(), [3500.0] * 5, 1)
    assert wanted == [1, 1, 1, 1, 10]
    # Nine of them are new and are asked five steps after they came, the keeper before.
    subject = policy()
    run(subject, [3500.0] * 5, 1)
    assert run(subject, [0.0] * 4, 10) == [10, 10, 10, 10]
    assert run(subject, [0.0], 10) == [1]


def test_what_is_wanted_is_right_on_average() -> None:
    """10 executors with the load of 16: each duplicates itself with probability 0.6."""
    wanted = [run(policy(seed), [5600.0] * 5, 10)[-1] for seed in range(300)]
    assert np.mean(wanted) == pytest.approx(16.0, abs=0.4)
    assert len(set(wanted)) > 5


def test_the_keeper_stays_and_the_bounds_hold() -> None:
    assert run(policy(), [0.0] * 5, 8)[-1] == 1
    few = ConfigurationSpace(3, 6, (2_000_000,))
    assert run(policy(), [0.0] * 5, 6, few)[-1] == 3
    assert run(policy(), [1e6] * 5, 3, few)[-1] == 6


def test_without_arrivals_or_capacity_nothing_changes() -> None:
    assert run(policy(), [None] * 6, 4) == [4] * 6
    assert run(policy(parameters=DecentralisedParameters()), [1e6] * 6, 4) == [4] * 6


def test_the_capacity_is_measured_by_batches_or_cost() -> None:
    """4e6 cycles at 2 GHz are 500 items/s either way; 5,250/s then need 15 executors."""
    now = Configuration(1, 2_000_000)
    batches = tuple(
        BatchSample(rows, 0.2 + rows / 500.0, now) for rows in (100, 900, 300, 1500, 700) * 6
    )
    by_cost = policy(parameters=DecentralisedParameters())
    by_batches = policy(parameters=DecentralisedParameters())
    for step in range(1, 6):
        costs = by_cost.decide(
            Measurement(step, float(step), now, now, arrivals_per_s=5250.0, cost_cycles=4e6),
            Bounds(SPACE),
        )
        batch = by_batches.decide(
            Measurement(step, float(step), now, now, arrivals_per_s=5250.0, batches=batches),
            Bounds(SPACE),
        )
    assert costs.target.executors == 15
    assert batch.target.executors in {14, 15, 16}


def test_a_copy_goes_on_as_the_original() -> None:
    subject = policy(3)
    run(subject, [2000.0] * 7, 4)
    copy: DecentralisedPolicy = pickle.loads(pickle.dumps(subject))
    later: list[float | None] = [200.0, 4000.0, 4000.0, 900.0, 8000.0, 100.0, 100.0, 100.0]
    assert run(copy, later, 6) == run(subject, later, 6)


def test_the_options_reach_the_policy() -> None:
    options = Decentralised(period_steps=1, capacity_per_s=100.0)
    subject = decentralised_policy(options, SPACE, 1.0, 1.0, np.random.default_rng(0))
    assert subject.decide(measurement(1, 1, 700.0), Bounds(SPACE)).target.executors == 10
    with pytest.raises(ValueError, match="load band"):
        decentralised_policy(
            Decentralised(lower_load=0.9), SPACE, 1.0, 1.0, np.random.default_rng(0)
        )


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="period_steps must be"):
        DecentralisedParameters(period_steps=0)
    with pytest.raises(ValueError, match="capacity_per_s must be"):
        DecentralisedParameters(capacity_per_s=0.0)
