"""The running minima that stand for past requests, against the requests themselves."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mpc.horizon.core import Core, core_of
from mpc.horizon.problem import Constraints, HorizonProblem, QosCurve
from mpc.horizon.staircase import minima_needed, stairs_over, tail_count
from mpc.values import ConfigurationSpace, IntArray

many = settings(max_examples=4 * settings().max_examples)


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


@st.composite
def walks(draw: st.DrawFn) -> tuple[int, int, list[int]]:
    executors = draw(st.integers(2, 6))
    horizon = draw(st.integers(2, 9))
    dead_time = draw(st.integers(1, horizon + 2))
    requests = draw(st.lists(st.integers(0, executors - 1), min_size=horizon, max_size=horizon))
    return executors, dead_time, requests


@many
@given(walks())
def test_as_many_minima_as_needed_are_the_whole_truth(walk: tuple[int, int, list[int]]) -> None:
    executors, dead_time, requests = walk
    shape = core(executors, len(requests), dead_time)
    minima = minima_needed(dead_time, len(requests))
    levels = np.arange(executors, dtype=np.int64)
    assert walked_caps(shape, levels, minima, requests, True) == true_caps(requests, dead_time)


@many
@given(walks(), st.data())
def test_fewer_minima_and_levels_err_on_the_side_they_are_asked_to(
    walk: tuple[int, int, list[int]], data: st.DataObject
) -> None:
    executors, dead_time, requests = walk
    shape = core(executors, len(requests), dead_time)
    minima = data.draw(st.integers(1, minima_needed(dead_time, len(requests))))
    between = data.draw(st.sets(st.integers(1, executors - 1), max_size=executors))
    levels = np.array(sorted({0, executors - 1} | between), dtype=np.int64)
    truth = true_caps(requests, dead_time)
    hopeful = walked_caps(shape, levels, minima, requests, True)
    assert all(cap >= true for cap, true in zip(hopeful, truth, strict=True))
    needed = minima_needed(dead_time, len(requests))
    cautious = walked_caps(shape, levels, needed, requests, False)
    assert all(cap <= true for cap, true in zip(cautious, truth, strict=True))


@given(st.integers(1, 7), st.integers(1, 5))
def test_tails_are_counted(levels: int, minima: int) -> None:
    shape = core(levels, 12, minima)
    stairs = stairs_over(np.arange(levels, dtype=np.int64), minima, shape, True)
    assert stairs.lowest.size == tail_count(levels, minima)
