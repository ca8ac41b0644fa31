"""The product's policy on the plant with Spark's traits: start-up delay, losses, micro-batches."""

import numpy as np

from energy.power import prior_power
from mpc.controller import Controller
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.simulation.run import control
from mpc.values import ConfigurationSpace
from runtime.build import foresight_policy
from runtime.config import load_config

SPACE = ConfigurationSpace(1, 10, (1_200_000, 1_600_000, 2_000_000))
TARGET_S = 2.0


def test_it_keeps_the_target_with_less_power_than_the_largest_configuration() -> None:
    power = prior_power(10, 2_000_000, 100.0)
    step = np.arange(240)
    rates = 4_000.0 + 2_500.0 * np.sin(step / 40.0)
    plant = MicroBatchPlant(
        rates,
        MicroBatchTraits(overhead_s=0.3, row_cycles=2e6, startup_s=3.0),
        power,
        SPACE.largest,
        np.random.default_rng(1),
    )
    config = load_config(
        None,
        [
            "latency.model=micro-batch",
            "limits.dead_time_s=3.0",
            "horizon.steps=6",
            "cost.alpha=1.0",
        ],
    )
    policy = foresight_policy(config, SPACE, TARGET_S, 1.0, power)
    list(control(Controller.of(policy, SPACE, TARGET_S, 1.0), plant))
    late = plant.records[30:]
    violated = [record.latency_s is None or record.latency_s > TARGET_S for record in late]
    assert np.mean(violated) < 0.05
    assert np.mean([record.power_w for record in late]) < 0.85 * float(power.power_w(10, 2_000_000))
