"""The running minima that stand for past requests, against the requests themselves."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from mpc.horizon.core import Core, core_of
from mpc.horizon.problem import Constraints, HorizonProblem, QosCurve
from mpc.horizon.staircase import minima_needed, stairs_over, tail_count
from mpc.values import ConfigurationSpace, IntArray


@cache
def core(executors: int, horizon: int, dead_time: int) -> Core:
    space = ConfigurationSpace(1, executors, (1_000_000,))
    problem = HorizonProblem(
        space=space,
        current=space.at(0, 0),
        latency_s=np.zeros((horizon, executors, 1)),
        qos=QosCurve(1.0, 0.0, 1.0),
        resource_cost=np.zeros((executors, 1)),
        executor_switching=0.0,
        frequency_switching=0.0,
    )
    return core_of(replace(problem, constraints=Constraints(dead_time_steps=dead_time)))


def walked_caps(
    shape: Core, levels: IntArray, minima: int, requests: list[int], upwards: bool
) -> list[int]:
    """What the state allows to be active in every stage but the first."""
    stairs = stairs_over(levels, minima, shape, upwards)
    tail = stairs.lowest.size - 1
    caps = []
    for stage, request in enumerate(requests[:-1]):
        before = requests[stage - 1] if stage > 0 else request
        tail = int(stairs.after[stage, tail, stairs.level[min(before, request)]])
        following = requests[stage + 1]
        assert stairs.lowest[tail] <= request or minima <= 1
        caps.append(min(following, request, int(stairs.cap[stage + 1, tail])))
    return caps


def true_caps(requests: list[int], dead_time: int) -> list[int]:
    return [
        min(requests[max(0, stage - dead_time) : stage + 1]) for stage in range(1, len(requests))
    ]


def all_walks(executors: int, horizon: int) -> Iterator[tuple[int, list[int]]]:
    for dead_time in range(1, horizon + 2):
        for requests in product(range(executors), repeat=horizon):
            yield dead_time, list(requests)


@pytest.mark.parametrize(("executors", "horizon"), [(3, 2), (3, 3), (3, 4), (3, 5), (3, 6), (2, 8)])
def test_as_many_minima_as_needed_are_the_whole_truth(executors: int, horizon: int) -> None:
    levels = np.arange(executors, dtype=np.int64)
    for dead_time, requests in all_walks(executors, horizon):
        shape = core(executors, horizon, dead_time)
        minima = minima_needed(dead_time, horizon)
        assert walked_caps(shape, levels, minima, requests, True) == true_caps(requests, dead_time)


@pytest.mark.parametrize("middle", [1, 2])
@pytest.mark.parametrize("horizon", [3, 5])
def test_fewer_minima_and_levels_err_on_the_side_they_are_asked_to(
    horizon: int, middle: int
) -> None:
    levels = np.array([0, middle, 3], dtype=np.int64)
    for dead_time, requests in all_walks(4, horizon):
        shape = core(4, horizon, dead_time)
        truth = true_caps(requests, dead_time)
        needed = minima_needed(dead_time, horizon)
        for minima in range(1, needed + 1):
            hopeful = walked_caps(shape, levels, minima, requests, True)
            assert all(cap >= true for cap, true in zip(hopeful, truth, strict=True))
        cautious = walked_caps(shape, levels, needed, requests, False)
        assert all(cap <= true for cap, true in zip(cautious, truth, strict=True))


@pytest.mark.parametrize("levels", [1, 2, 7])
@pytest.mark.parametrize("minima", [1, 2, 5])
def test_tails_are_counted(levels: int, minima: int) -> None:
    shape = core(levels, 12, minima)
    stairs = stairs_over(np.arange(levels, dtype=np.int64), minima, shape, True)
    assert stairs.lowest.size == tail_count(levels, minima)
