"""`foresight` acts on a jump of the load at once, before the forecaster believes in it."""

import numpy as np

from energy.power import prior_power
from mpc.bounds import Bounds
from mpc.ports import Policy
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement
from tests.support import contexts
from tests.support.contexts import context

SPACE = ConfigurationSpace(1, 10, (1_200_000, 1_600_000, 2_000_000))
ROW_CYCLES = 2e6
OVERHEAD_S = 0.3


def foresight() -> Policy:
    power = prior_power(10, 2_000_000, 100.0)
    return contexts.foresight(
        context(SPACE, step_s=5.0, target_s=5.0, power=power, latency_model="micro-batch")
    )


def served_per_s(configuration: Configuration) -> float:
    return configuration.executors * configuration.frequency_khz * 1e3 / ROW_CYCLES


def drive(policy: Policy, rates_per_s: list[float]) -> list[Configuration]:
    """Batches as an engine that runs them back to back would report them."""
    current = SPACE.largest
    decided = []
    for number, rate in enumerate(rates_per_s, start=1):
        load = min(rate / served_per_s(current), 0.95)
        duration_s = OVERHEAD_S / (1.0 - load)
        rows = int(load * served_per_s(current) * duration_s)
        current = policy.decide(
            Measurement(
                step=number,
                time_s=5.0 * number,
                requested=current,
                observed=current,
                arrivals_per_s=rate,
                completions_per_s=load * served_per_s(current),
                cost_cycles=ROW_CYCLES,
                latency_s=1.5 * duration_s,
                batches=(BatchSample(rows, duration_s, current),) * 2,
            ),
            Bounds(SPACE),
        ).target
        decided.append(current)
    return decided


def test_a_jump_beyond_every_scenario_is_provisioned_for_in_the_same_step() -> None:
    noise = np.random.default_rng(1).normal(0.0, 10.0, 60)
    calm = [400.0 + each for each in noise]
    decided = drive(foresight(), [*calm, 4_000.0])
    assert served_per_s(decided[-2]) < 2_000.0
    assert served_per_s(decided[-1]) > 4_000.0


def test_a_rate_that_is_foreseen_changes_nothing() -> None:
    noise = np.random.default_rng(1).normal(0.0, 10.0, 60)
    calm = [400.0 + each for each in noise]
    decided = drive(foresight(), [*calm, 405.0])
    assert decided[-1] == decided[-2]


def test_an_expected_fall_is_no_surprise() -> None:
    """While the rate falls, what was measured is above all that is expected next."""
    falling = [4_000.0 - 30.0 * step for step in range(100)]
    policy = foresight()
    decided = drive(policy, falling)
    alone = foresight()
    alone.__dict__["_scenarios"].__dict__["with_surprise"] = lambda paths, _measured_per_s: paths
    assert drive(alone, falling) == decided
