"""What configurations use: busy cores draw power, idle executors cost a share."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from energy.power import CalibratedPower
from mpc.policies.context import Context
from mpc.policies.foresight.options import Cost
from mpc.policies.foresight.resources import ResourceTerm
from mpc.values import Configuration, ConfigurationSpace, FloatArray, HostReading, Measurement

SPACE = ConfigurationSpace(1, 8, (1_000_000, 1_500_000, 2_000_000))
POWER = CalibratedPower(10.0, 5.0, 4.0, 1.0)
ROW_CYCLES = 1e6
SERVICE_PER_S = SPACE.executors[:, None] * SPACE.frequencies_hz[None, :] / ROW_CYCLES
FULL_W = float(POWER.power_w(8, 2_000_000))


def term(idle_share: float, resource: Literal["power", "executors"] = "power") -> ResourceTerm:
    cost = Cost(resource_weight=1.0, resource=resource)
    context = Context(
        space=SPACE, target_latency_s=1.0, step_s=1.0, power=POWER, idle_share=idle_share
    )
    return ResourceTerm(cost, context)


def arrivals(*per_s: float) -> FloatArray:
    return np.array(per_s)


def test_replicas_that_spin_cost_the_same_at_any_load() -> None:
    spinning = term(1.0)
    before = spinning.cost.copy()
    spinning.expect(arrivals(100.0, 3_000.0), SERVICE_PER_S)
    assert (spinning.cost == before).all()
    assert spinning.power_w[-1, -1] == FULL_W


def test_executors_without_work_draw_nothing_where_only_work_counts() -> None:
    frugal = term(0.0)
    frugal.expect(arrivals(1_000.0), SERVICE_PER_S)
    # A thousand rows of a million cycles keep half an executor busy at 2 GHz, and one at 1 GHz.
    assert frugal.power_w[:, -1] == pytest.approx(float(POWER.power_w(0.5, 2_000_000)))
    assert frugal.power_w[:, 0] == pytest.approx(float(POWER.power_w(1.0, 1_000_000)))


def test_held_executors_count_with_their_share() -> None:
    held = term(0.25)
    held.expect(arrivals(0.0), SERVICE_PER_S)
    assert held.power_w[7, 2] == pytest.approx(float(POWER.power_w(2.0, 2_000_000)))
    assert (np.diff(held.cost, axis=0) > 0).all()


def test_more_than_all_executors_cannot_be_busy() -> None:
    overloaded = term(0.3)
    overloaded.expect(arrivals(1e9), SERVICE_PER_S)
    assert overloaded.power_w[-1, -1] == pytest.approx(FULL_W)


def test_limits_hold_for_the_highest_arrivals_and_costs_for_their_mean() -> None:
    mixed = term(0.0)
    mixed.expect(arrivals(0.0, 8_000.0), SERVICE_PER_S)
    assert mixed.power_w[-1, -1] == pytest.approx(float(POWER.power_w(4.0, 2_000_000)))
    assert mixed.cost[-1, -1] == pytest.approx(float(POWER.power_w(2.0, 2_000_000)) / FULL_W)


def test_the_scale_does_not_move_with_the_load() -> None:
    scaled = term(0.3)
    costs = []
    for per_s in (0.0, 1_000.0, 16_000.0):
        scaled.expect(arrivals(per_s), SERVICE_PER_S)
        costs.append(float(scaled.cost[-1, -1] / scaled.power_w[-1, -1]))
    assert costs == pytest.approx([1 / FULL_W] * 3)


def test_counted_in_executors_nothing_depends_on_the_load() -> None:
    counted = term(0.3, resource="executors")
    counted.expect(arrivals(10.0), SERVICE_PER_S)
    assert counted.cost[:, 0] == pytest.approx(np.arange(1, 9) / 8)


def test_readings_of_hosts_change_what_a_frequency_costs() -> None:
    learned = term(0.3)
    steep = CalibratedPower(1.0, 0.0, 0.1, 8.0)
    generator = np.random.default_rng(2)
    for number in range(200):
        khz = int(generator.choice(SPACE.frequencies_khz))
        cores = float(generator.uniform(0, 8))
        ran = Configuration(8, khz)
        reading = HostReading("host", float(steep.power_w(cores, khz)), "measured", cores, 0.0, khz)
        reading = replace(reading, executors=8, executor_slots=8)
        learned.observe(Measurement(number, float(number), ran, ran, hosts=(reading,)))
    learned.expect(arrivals(8_000.0), SERVICE_PER_S)
    prior = term(0.3)
    prior.expect(arrivals(8_000.0), SERVICE_PER_S)
    assert learned.figure.origin == "learned"
    assert learned.cost[-1, 0] / learned.cost[-1, -1] < 0.6 * prior.cost[-1, 0] / prior.cost[-1, -1]
