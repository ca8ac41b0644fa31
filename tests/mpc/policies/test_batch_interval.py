"""Policies that reckon in trigger intervals take the measured one, not the control step."""

from dataclasses import replace

import numpy as np
import pytest

from mpc.bounds import Bounds
from mpc.policies.batch_interval import BatchInterval
from mpc.policies.mdp.response import ResponseModel
from mpc.policies.spark_ratio.options import SparkRatioOptions
from mpc.policies.spark_ratio.policy import SparkRatioPolicy
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement
from tests.support.contexts import context

SPACE = ConfigurationSpace(1, 8, (2_000_000,))
NOW = Configuration(4, 2_000_000)
QUIET = Measurement(0, 0.0, NOW, NOW, arrivals_per_s=100.0)


@pytest.mark.parametrize(
    ("configured_s", "measured_s", "expected_s"),
    [(None, None, 1.0), (None, 10.0, 10.0), (5.0, 10.0, 5.0)],
)
def test_configured_before_measured_before_the_step(
    configured_s: float | None, measured_s: float | None, expected_s: float
) -> None:
    interval = BatchInterval(configured_s, 1.0)
    interval.observe(replace(QUIET, trigger_interval_s=measured_s))
    interval.observe(QUIET)
    assert interval.seconds == expected_s


@pytest.mark.parametrize(("trigger_interval_s", "change"), [(10.0, 0), (None, 4)])
def test_spark_ratio_divides_by_the_measured_interval(
    trigger_interval_s: float | None, change: int
) -> None:
    """Batches of four seconds: four times a step of one second, but 0.4 of the interval."""
    policy = SparkRatioPolicy(SparkRatioOptions(scaling_interval_s=60.0), context(SPACE))
    batch = BatchSample(100, 4.0, NOW)
    for time_s in (0.0, 60.0):
        measured = replace(
            QUIET, time_s=time_s, batches=(batch,), trigger_interval_s=trigger_interval_s
        )
        target = policy.decide(measured, Bounds(SPACE)).target
    assert target.executors == NOW.executors + change


def test_the_response_of_a_batch_has_the_wait_for_its_trigger() -> None:
    slow, quick = (ResponseModel(SPACE, 1.0) for _ in range(2))
    batches = tuple(BatchSample(100 * n, 0.2 + 0.1 * n, NOW) for n in (1, 2, 3, 4))
    for model, interval_s in ((slow, 20.0), (quick, None)):
        model.observe(replace(QUIET, batches=batches, trigger_interval_s=interval_s))
    rates = np.asarray([100.0])
    waits, none = slow.response_s(rates), quick.response_s(rates)
    assert waits is not None
    assert none is not None
    assert (waits - none).min() > 5.0
