"""lat-node, lat-power and foresight on hand-made steps."""

from dataclasses import replace
from itertools import pairwise
from typing import Literal

import pytest

from energy.power import ProportionalPower
from mpc.bounds import Bounds
from mpc.policies.lat.options import LatOptions
from mpc.policies.lat.policy import LatPolicy
from mpc.ports import Policy
from mpc.values import Configuration, ConfigurationSpace, Measurement
from tests.support import contexts
from tests.support.contexts import context

SPACE = ConfigurationSpace(1, 12, tuple(range(1_200_000, 2_000_001, 100_000)))
TARGET_S = 1.5e-3


def step(arrivals_per_s: float, current: Configuration, number: int = 1) -> Measurement:
    """One second of an operator that behaves as Kingman's formula says, queue by queue."""
    cost_cycles = 1e6
    rho = min(
        arrivals_per_s * cost_cycles / (current.executors * current.frequency_khz * 1e3), 0.99
    )
    service_s = cost_cycles / (current.frequency_khz * 1e3)
    wait_s = rho / (1 - rho) * 0.6 * service_s
    return Measurement(
        step=number,
        time_s=float(number),
        requested=current,
        observed=current,
        arrivals_per_s=arrivals_per_s,
        completions_per_s=arrivals_per_s,
        arrival_cv=1.0,
        arrival_dispersion=1.0,
        cost_cycles=cost_cycles,
        cost_cv=0.4,
        wait_s=wait_s,
        latency_s=wait_s + service_s,
    )


def settle(policy: Policy, arrivals_per_s: float, steps: int = 30) -> Configuration:
    current = SPACE.largest
    for number in range(1, steps + 1):
        current = policy.decide(step(arrivals_per_s, current, number), Bounds(SPACE)).target
    return current


def lat(resource: Literal["executors", "power"], weight: float = 2.0) -> LatPolicy:
    options = LatOptions(resource=resource, latency_weight=weight)
    return LatPolicy(options, context(SPACE, target_s=TARGET_S))


def foresight(*overrides: str) -> Policy:
    built_for = context(SPACE, target_s=TARGET_S)
    return contexts.foresight(built_for, "forecast.model=last", *overrides)


def test_lat_node_stays_at_full_speed_and_lat_power_does_not() -> None:
    node, power = settle(lat("executors"), 9_000.0), settle(lat("power"), 9_000.0)
    assert node.frequency_khz == SPACE.frequencies_khz[-1]
    assert node.executors < 12
    assert power.frequency_khz < SPACE.frequencies_khz[-1]
    used = ProportionalPower().power_w(
        [node.executors, power.executors], [node.frequency_khz, power.frequency_khz]
    )
    assert used[1] < used[0]


def test_lat_power_keeps_its_configuration_when_none_is_stable_and_lat_node_takes_all() -> None:
    overload, small = 1e6, Configuration(3, 2_000_000)
    assert lat("power").decide(step(overload, small), Bounds(SPACE)).target == small
    assert lat("executors").decide(step(overload, small), Bounds(SPACE)).target == SPACE.largest


def test_the_feedback_of_expression_8_raises_the_allocation_when_waits_are_longer() -> None:
    def settled(factor: float) -> int:
        policy, current = lat("executors"), SPACE.largest
        for number in range(1, 20):
            measurement = step(9_000.0, current, number)
            assert measurement.wait_s is not None
            current = policy.decide(
                replace(measurement, wait_s=measurement.wait_s * factor), Bounds(SPACE)
            ).target
        return current.executors

    assert settled(3.0) > settled(0.5)


@pytest.mark.parametrize("alpha", ["0.3", "1", "3"])
def test_foresight_keeps_the_target_on_a_steady_load(alpha: str) -> None:
    settled = settle(foresight(f"cost.alpha={alpha}"), 9_000.0)
    latency_s = step(9_000.0, settled).latency_s
    assert latency_s is not None
    assert latency_s <= TARGET_S


def test_more_latency_weight_never_takes_less_power() -> None:
    power = ProportionalPower()
    used = [
        float(power.power_w(settled.executors, settled.frequency_khz))
        for settled in (
            settle(foresight(f"cost.alpha={alpha}"), 9_000.0) for alpha in (0.01, 0.3, 100)
        )
    ]
    assert used == sorted(used)
    assert used[0] < used[-1]


def test_foresight_holds_on_a_steady_load_and_says_why() -> None:
    policy, current = foresight(), SPACE.largest
    for number in range(1, 60):
        decision = policy.decide(step(9_000.0, current, number), Bounds(SPACE))
        current = decision.target
    decision = policy.decide(step(9_000.0, current, 60), Bounds(SPACE))
    assert decision.target == current
    assert "current" in decision.reason or "costs" in decision.reason
    assert decision.plan is not None
    assert decision.plan.proven


def test_nothing_is_scaled_in_without_a_fresh_measurement() -> None:
    policy, current = foresight(), SPACE.largest
    for number in range(1, 5):
        policy.decide(step(2_000.0, current, number), Bounds(SPACE))
    assert policy.decide(step(2_000.0, current, 5), Bounds(SPACE)).target < current
    stale = Measurement(step=6, time_s=6.0, requested=current, observed=current)
    decision = policy.decide(stale, Bounds(SPACE))
    assert decision.target == current
    assert "no fresh measurement" in decision.reason


def test_a_backlog_is_drained() -> None:
    """Half of what arrived was not served: the next decision has room for both."""
    policy, current = foresight(), Configuration(6, 1_200_000)
    for number in range(1, 10):
        policy.decide(step(5_000.0, current, number), Bounds(SPACE))
    held_back = replace(step(5_000.0, current, 10), completions_per_s=1_000.0)
    target = policy.decide(held_back, Bounds(SPACE)).target
    assert target.executors * target.frequency_khz > 2 * 5_000.0 * 1e6 / 1e3


def test_a_counted_backlog_is_drained_and_rows_in_flight_are_none() -> None:
    policy, current = foresight(), Configuration(6, 1_200_000)
    for number in range(1, 10):
        policy.decide(step(5_000.0, current, number), Bounds(SPACE))
    calm = policy.decide(
        replace(step(5_000.0, current, 10), backlog_items=5.0), Bounds(SPACE)
    ).target
    # Between two batches nothing is measured, and what is in flight does not look like a backlog.
    gap = Measurement(11, 11.0, requested=calm, observed=calm, backlog_items=5.0)
    assert policy.decide(gap, Bounds(SPACE)).target == calm
    counted = replace(step(5_000.0, calm, 12), backlog_items=4_000.0)
    target = policy.decide(counted, Bounds(SPACE)).target
    assert target.executors * target.frequency_khz > calm.executors * calm.frequency_khz


def test_the_power_cap_holds() -> None:
    capped = settle(foresight("limits.power_cap_w=12", "cost.alpha=10"), 9_000.0)
    assert float(ProportionalPower().power_w(capped.executors, capped.frequency_khz)) <= 12


def test_a_dwell_holds_every_configuration_long_enough() -> None:
    policy, current = foresight("limits.min_dwell_steps=4", "horizon.steps=4"), SPACE.largest
    used = []
    for number in range(1, 60):
        load = 4_000.0 if number // 3 % 2 else 11_000.0
        current = policy.decide(step(load, current, number), Bounds(SPACE)).target
        used.append(current)
    changes = [number for number in range(1, len(used)) if used[number] != used[number - 1]]
    assert changes
    assert all(later - earlier >= 4 for earlier, later in pairwise(changes))
