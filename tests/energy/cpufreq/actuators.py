"""One command of a fresh actuator, as the tests give it."""

import time
from collections.abc import Mapping, Sequence

from energy.cpufreq.actuation import CapActuator, SpeedActuator
from energy.cpufreq.limits import Wait
from energy.cpufreq.policy import CpuPolicy, LimitOutcome, LimitRequest
from energy.tree import Tree


def apply_limits(
    tree: Tree,
    policies: Mapping[str, CpuPolicy],
    requests: Sequence[LimitRequest],
    may_move_minimum: bool = False,
    previous: Mapping[str, LimitRequest] | None = None,
    wait: Wait = time.sleep,
) -> tuple[LimitOutcome, ...]:
    actuator = CapActuator(tree, may_move_minimum=may_move_minimum, wait=wait)
    return actuator.apply(policies, requests, previous)


def apply_speeds(
    tree: Tree, policies: Mapping[str, CpuPolicy], requests: Sequence[LimitRequest]
) -> tuple[LimitOutcome, ...]:
    return SpeedActuator(tree).apply(policies, requests)
