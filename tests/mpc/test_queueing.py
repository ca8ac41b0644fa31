import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.queueing import (
    kingman_wait_s,
    overload_delay_s,
    partitioned_wait_s,
    service_time_s,
    utilisation,
)
from mpc.values import ConfigurationSpace, FloatArray

SPACE = ConfigurationSpace(1, 8, (1_000_000, 1_500_000, 2_000_000))


def wait_s(arrivals_per_s: float, cost_cycles: float, dispersion: float) -> FloatArray:
    rho = utilisation(np.asarray(arrivals_per_s), cost_cycles, SPACE)
    service_s = service_time_s(cost_cycles, SPACE)
    return partitioned_wait_s(rho, service_s, SPACE.executors, dispersion, 0.4) + overload_delay_s(
        rho, step_s=1.0
    )


def test_kingman_by_hand() -> None:
    """Expr. 7 at rho = 0.5: one time the variability, half the squares, times the service."""
    waited = kingman_wait_s(np.asarray(0.5), np.asarray(0.002), arrival_cv=1.0, cost_cv=1.0)
    assert waited == pytest.approx(0.002)
    # M/M/1 at 0.9: rho / (1 - rho) * T.
    waited = kingman_wait_s(np.asarray(0.9), np.asarray(0.002), arrival_cv=1.0, cost_cv=1.0)
    assert waited == pytest.approx(9 * 0.002)


def test_utilisation_and_service_time_by_hand() -> None:
    rho = utilisation(np.asarray([1_000.0]), 2e6, SPACE)
    assert rho.shape == (1, 8, 3)
    assert rho[0, 1, 2] == pytest.approx(0.5)  # 2e9 cycles/s on two executors at 2 GHz
    assert service_time_s(2e6, SPACE)[0].tolist() == pytest.approx([0.002, 2e6 / 1.5e9, 0.001])


@given(st.floats(0.1, 1e5), st.floats(1.01, 10), st.floats(1e3, 1e8), st.floats(0, 1e3))
def test_waits_are_finite_rise_with_arrivals_and_fall_with_every_resource(
    arrivals_per_s: float, factor: float, cost_cycles: float, dispersion: float
) -> None:
    table = wait_s(arrivals_per_s, cost_cycles, dispersion)
    assert np.isfinite(table).all()
    assert (wait_s(arrivals_per_s * factor, cost_cycles, dispersion) > table).all()
    assert (np.diff(table, axis=0) <= 0).all()
    assert (np.diff(table, axis=1) <= 0).all()


def test_bursts_of_the_whole_stream_drain_faster_with_more_replicas() -> None:
    """At equal utilisation, the random part does not depend on the replicas, the bursts do."""
    service_s = np.full((1, 1), 0.001)
    one, four = np.asarray([1]), np.asarray([4])
    rho = np.full((1, 1), 0.5)
    calm = [partitioned_wait_s(rho, service_s, n, 1.0, 0.0)[0, 0] for n in (one, four)]
    bursty = [partitioned_wait_s(rho, service_s, n, 101.0, 0.0)[0, 0] for n in (one, four)]
    assert calm[0] == calm[1] == pytest.approx(0.0005)
    assert (bursty[0] - calm[0]) == pytest.approx(4 * (bursty[1] - calm[1]))
