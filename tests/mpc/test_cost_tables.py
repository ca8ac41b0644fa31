"""The fused tables are the plain formulas: latency of every scenario, its cost, the mean."""

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from mpc.cost_tables import (
    OperatorTerms,
    batch_costs,
    capacities_of,
    operator_costs,
)
from mpc.horizon.qos import QosCurve
from mpc.latency_curve import LatencyCurve, add_costs, curve_of
from mpc.micro_batch import BatchModel, micro_batch_latency_s
from mpc.queueing import overload_delay_s, partitioned_wait_s, service_time_s, utilisation
from mpc.values import ConfigurationSpace, FloatArray, IntArray

SPACE = ConfigurationSpace(2, 13, (1_200_000, 1_300_000, 1_600_000, 2_000_000))
SHARPNESS = 30.0


def plain_cost(qos: QosCurve, target_s: float, latency_s: FloatArray) -> FloatArray:
    violation = expit(SHARPNESS * (latency_s - target_s) / qos.scale_s)
    return np.asarray(qos.weight * violation + 0.03 * qos.cost(latency_s))


def curve(qos: QosCurve, target_s: float) -> LatencyCurve:
    return curve_of(qos, 0.03, target_s, qos.weight, SHARPNESS)


def capped(table: FloatArray, most_active: IntArray) -> FloatArray:
    """More executors than can be active cost what those that can be do."""
    rows = np.arange(table.shape[1])
    return np.stack([table[t, np.minimum(rows, last)] for t, last in enumerate(most_active)])


@given(
    st.lists(st.floats(0.0, 1e9), min_size=1, max_size=30),
    st.floats(1e-4, 1e3),
    st.floats(0.0, 1e3),
    st.sampled_from(["normalised", "exponential"]),
)
def test_costs_of_any_latency_are_added(
    latencies_s: list[float],
    target_s: float,
    floor_s: float,
    mode: Literal["normalised", "exponential"],
) -> None:
    scale_s = max(target_s - floor_s, 0.1 * target_s)
    qos = QosCurve(1.25, floor_s, scale_s, mode=mode)
    values = np.array(latencies_s)
    sums = np.full(values.size, 1.0)
    add_costs(values, values.size, 1.5, curve(qos, target_s), sums)
    np.testing.assert_allclose(sums, 1.0 + plain_cost(qos, target_s, 1.5 * values), rtol=1e-9)


def random_case(seed: int) -> tuple[FloatArray, FloatArray, IntArray]:
    random = np.random.default_rng(seed)
    arrivals_per_s = random.uniform(0.0, 9_000.0, (7, 5))
    ratios = random.uniform(0.3, 3.0, 7)
    return arrivals_per_s, ratios, random.integers(0, 12, 5)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("interval_s", [0.0, 0.5])
@pytest.mark.parametrize("quantile", [0.0, 0.95])
def test_a_micro_batch_engine(seed: int, interval_s: float, quantile: float) -> None:
    arrivals_per_s, ratios, most_active = random_case(seed)
    model = BatchModel(0.2, 2.5e6, 1e8, 0.2, 0.1, 1.5, interval_s, 1.0, quantile)
    qos = QosCurve(1.25, 0.3, 0.7, mode="normalised")
    latency_s = micro_batch_latency_s(arrivals_per_s, model, SPACE)
    plain = plain_cost(qos, 1.0, ratios[:, None, None, None] * latency_s).mean(axis=0)
    table = batch_costs(
        arrivals_per_s,
        ratios,
        model,
        capacities_of(SPACE),
        most_active,
        curve(qos, 1.0),
    )
    np.testing.assert_allclose(table, capped(plain, most_active), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_continuous_operator(seed: int) -> None:
    arrivals_per_s, ratios, most_active = random_case(seed)
    cycles = np.random.default_rng(seed).uniform(1e6, 4e6, arrivals_per_s.shape)
    qos = QosCurve(0.8, 0.001, 0.02, mode="normalised")
    rho = utilisation(arrivals_per_s, cycles, SPACE)
    service_s = service_time_s(cycles, SPACE)
    wait_s = partitioned_wait_s(rho, service_s, SPACE.executors, 1.7, 0.4)
    latency_s = ratios[:, None, None, None] * wait_s + overload_delay_s(rho, step_s=2.0) + service_s
    plain = plain_cost(qos, 0.02, latency_s).mean(axis=0)
    table = operator_costs(
        arrivals_per_s,
        ratios,
        OperatorTerms(cycles, random_part=(1.0 + 0.4**2) / 2.0, bursts=0.35, step_s=2.0),
        (SPACE.executors.astype(np.float64), SPACE.frequencies_hz),
        most_active,
        curve(qos, 0.02),
    )
    np.testing.assert_allclose(table, capped(plain, most_active), rtol=1e-9, atol=1e-12)


def test_equal_capacities_are_one_and_those_of_few_executors_come_first() -> None:
    found = capacities_of(SPACE)
    grid_hz = np.multiply.outer(SPACE.executors, SPACE.frequencies_hz)
    np.testing.assert_array_equal(found.capacity_hz[found.number], grid_hz)
    assert found.capacity_hz.size == np.unique(grid_hz).size < grid_hz.size
    for row, count in enumerate(found.upto):
        assert found.number[: row + 1].max() == count - 1
