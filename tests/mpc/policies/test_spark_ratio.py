"""`spark-ratio` adds and removes executors as the resource manager of Spark's DStreams does."""

import pytest

from mpc.bounds import Bounds
from mpc.policies.spark_ratio import SparkRatioPolicy
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement

SPACE = ConfigurationSpace(2, 10, (1_200_000, 2_000_000))


def run(policy: SparkRatioPolicy, durations_s: list[float], executors: int = 4) -> list[int]:
    """One batch a second; the executors wanted after each."""
    wanted = []
    for second, duration_s in enumerate(durations_s):
        now = Configuration(executors, 2_000_000)
        sample = BatchSample(100, duration_s, now)
        decision = policy.decide(
            Measurement(second, float(second), requested=now, observed=now, batches=(sample,)),
            Bounds(SPACE),
        )
        executors = decision.target.executors
        assert decision.target.frequency_khz == 2_000_000
        wanted.append(executors)
    return wanted


@pytest.mark.parametrize(
    ("ratio", "change"), [(0.2, -1), (0.3, -1), (0.45, 0), (0.625, 1), (1.4, 1), (2.6, 3)]
)
def test_the_ratio_decides(ratio: float, change: int) -> None:
    policy = SparkRatioPolicy(SPACE, batch_interval_s=2.0, scaling_interval_s=10.0)
    wanted = run(policy, [ratio * 2.0] * 11)
    assert wanted == [4] * 10 + [4 + change]


def test_it_decides_once_a_scaling_interval_on_the_batches_since_the_last() -> None:
    policy = SparkRatioPolicy(SPACE, batch_interval_s=1.0, scaling_interval_s=5.0)
    wanted = run(policy, [0.9] * 6 + [0.1] * 5)
    assert wanted == [4] * 5 + [5] * 5 + [4]


@pytest.mark.parametrize(("executors", "duration_s"), [(10, 5.0), (2, 0.01)])
def test_it_stays_within_the_bounds(executors: int, duration_s: float) -> None:
    policy = SparkRatioPolicy(SPACE, batch_interval_s=1.0, scaling_interval_s=1.0)
    assert set(run(policy, [duration_s] * 4, executors)) == {executors}


def test_without_batches_nothing_changes() -> None:
    policy = SparkRatioPolicy(SPACE, batch_interval_s=1.0, scaling_interval_s=1.0)
    now = Configuration(4, 2_000_000)
    for second in range(4):
        measurement = Measurement(second, float(second), requested=now, observed=now)
        assert policy.decide(measurement, Bounds(SPACE)).target == now
