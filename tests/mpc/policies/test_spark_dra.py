"""`spark-dra` adds executors for tasks that wait and removes those that have none."""

from typing import Any

import pytest

from mpc.bounds import Bounds
from mpc.policies.spark_dra import SparkDraParameters, SparkDraPolicy
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement

SPACE = ConfigurationSpace(1, 40, (1_000_000, 2_000_000))


def decided(
    policy: SparkDraPolicy, executors: int, observed: int | None = None, **values: Any
) -> int:
    requested = Configuration(executors, 2_000_000)
    running = Configuration(executors if observed is None else observed, 2_000_000)
    decision = policy.decide(Measurement(1, 1.0, requested, running, **values), Bounds(SPACE))
    assert decision.target.frequency_khz == 2_000_000
    assert decision.reason
    return decision.target.executors


def batch(duration_s: float, executors: int) -> tuple[BatchSample, ...]:
    return (BatchSample(100, duration_s, Configuration(executors, 2_000_000)),)


@pytest.mark.parametrize(
    ("duration_s", "added"),
    [(1.1, 0), (1.3, 1), (2.5, 3), (3.75, 7), (5.0, 15), (1e6, 16)],
)
def test_every_second_of_pending_tasks_doubles_what_is_added(duration_s: float, added: int) -> None:
    # 20 tasks on 4 slots are 5 waves: tasks wait for four fifths of the batch.
    parameters = SparkDraParameters(tasks=20)
    policy = SparkDraPolicy(ConfigurationSpace(1, 1000, (2_000_000,)), 1.0, parameters)
    wanted = decided(policy, 4, batches=batch(duration_s, 4))
    assert wanted == min(4 + added, 20)  # and never more than the tasks fill


def test_the_rounds_are_not_limited_but_by_the_tasks_and_the_space() -> None:
    policy = SparkDraPolicy(SPACE, 1.0)
    assert decided(policy, 4, batches=batch(60.0, 4)) == 40


def test_time_outs_of_other_lengths() -> None:
    parameters = SparkDraParameters(tasks=20, backlog_timeout_s=2.0, sustained_timeout_s=4.0)
    policy = SparkDraPolicy(SPACE, 1.0, parameters)
    assert decided(policy, 4, batches=batch(2.4, 4)) == 4  # pending for 1.92 s
    assert decided(policy, 4, batches=batch(7.0, 4)) == 5  # 5.6 s
    assert decided(policy, 4, batches=batch(8.0, 4)) == 7  # 6.4 s


def test_one_wave_leaves_no_task_waiting() -> None:
    policy = SparkDraPolicy(SPACE, 1.0, SparkDraParameters(tasks=8, slots=2))
    assert decided(policy, 4, batches=batch(30.0, 4)) == 4


def test_executors_on_their_way_are_not_asked_for_again() -> None:
    # Three of five run: the next batch asks for one more than those.
    policy = SparkDraPolicy(SPACE, 1.0)
    assert decided(policy, 5, observed=3, batches=batch(1.5, 3)) == 5


def test_a_batch_that_does_not_end_asks_for_more_and_more() -> None:
    policy = SparkDraPolicy(SPACE, 1.0, SparkDraParameters(batch_interval_s=2.0))
    wanted = [decided(policy, 4, arrivals_per_s=10.0) for _ in range(6)]
    # Silent for up to two seconds is the trigger; after that the tasks wait for 98 % of the time.
    assert wanted == [4, 4, 4, 5, 7, 11]


def test_busy_executors_are_never_removed() -> None:
    policy = SparkDraPolicy(SPACE, 10.0)
    assert {decided(policy, 30, batches=batch(0.3, 30)) for _ in range(50)} == {30}


def test_executors_without_a_task_go_after_the_time_out() -> None:
    policy = SparkDraPolicy(SPACE, 10.0, SparkDraParameters(tasks=8))
    wanted = [decided(policy, 30, batches=batch(0.3, 30)) for _ in range(6)]
    assert wanted == [30] * 5 + [8]


def test_all_go_when_nothing_arrives() -> None:
    policy = SparkDraPolicy(SPACE, 10.0)
    quiet = [decided(policy, 30, arrivals_per_s=0.0) for _ in range(6)]
    assert quiet == [30] * 5 + [1]


def test_a_step_that_tells_nothing_is_no_idle_time() -> None:
    policy = SparkDraPolicy(SPACE, 10.0)
    assert {decided(policy, 30) for _ in range(20)} == {30}
