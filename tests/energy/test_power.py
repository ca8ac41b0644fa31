import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.power import (
    PAPER_VOLTAGES_V,
    CalibratedPower,
    PowerModel,
    ProportionalPower,
    prior_power,
)

coefficients = st.floats(0, 1e3)
executor_counts = st.integers(0, 1_000)
frequencies_khz = st.integers(200_000, 6_000_000)
models = st.one_of(
    st.builds(CalibratedPower, coefficients, coefficients, coefficients, coefficients),
    st.builds(ProportionalPower, st.floats(1e-3, 1e3)),
)


def test_proportional_is_the_authors_formula() -> None:
    power = ProportionalPower()
    # V^2 * f * (n + 3), f in GHz: the table entry at 1.6 GHz is 0.8906 V.
    assert float(power.power_w(5, 1_600_000)) == pytest.approx(0.8906**2 * 1.6 * 8)


def test_proportional_interpolates_voltages_and_holds_the_ends() -> None:
    power = ProportionalPower(service_threads=0)
    between = (PAPER_VOLTAGES_V[0][1] + PAPER_VOLTAGES_V[1][1]) / 2
    assert float(power.power_w(1, 1_250_000)) == pytest.approx(between**2 * 1.25)
    assert float(power.power_w(1, 4_000_000)) == pytest.approx(PAPER_VOLTAGES_V[-1][1] ** 2 * 4.0)


def test_calibrated_sums_its_four_terms() -> None:
    power = CalibratedPower(10.0, 2.0, 3.0, 0.5)
    assert float(power.power_w(4, 2_000_000)) == pytest.approx(10 + 2 * 2 + 3 * 4 * 2 + 0.5 * 4 * 8)


def test_prior_draws_the_stated_shares_of_full_load() -> None:
    prior = prior_power(max_executors=24, max_frequency_khz=2_400_000, max_power_w=200.0)
    assert float(prior.power_w(24, 2_400_000)) == pytest.approx(200.0)
    assert float(prior.power_w(0, 2_400_000)) == pytest.approx((0.081 + 0.168) * 200.0)
    half = 0.081 + 0.168 * 0.5 + 0.576 * 0.5 * 0.5 + 0.175 * 0.5 * 0.125
    assert float(prior.power_w(12, 1_200_000)) == pytest.approx(half * 200.0)


@given(models, executor_counts, executor_counts, frequencies_khz, frequencies_khz)
def test_more_executors_or_frequency_never_draw_less(
    model: PowerModel, few: int, more: int, slow_khz: int, fast_khz: int
) -> None:
    few, more = sorted((few, more))
    slow_khz, fast_khz = sorted((slow_khz, fast_khz))
    power_w = model.power_w(np.array([few, more])[:, None], np.array([slow_khz, fast_khz]))
    assert (np.diff(power_w, axis=0) >= -1e-9 * power_w.max()).all()
    assert (np.diff(power_w, axis=1) >= -1e-9 * power_w.max()).all()


@pytest.mark.parametrize("model", [ProportionalPower(), CalibratedPower(1, 2, 3, 4)])
def test_a_grid_is_its_single_values(model: PowerModel) -> None:
    executors, khz = np.arange(1, 4), np.array([1_200_000, 1_700_000])
    grid = model.power_w(executors[:, None], khz)
    assert grid.shape == (3, 2)
    for row, n in enumerate(executors):
        for column, frequency_khz in enumerate(khz):
            assert grid[row, column] == float(model.power_w(n, frequency_khz))


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_calibrated_refuses_coefficients_that_break_its_promise(bad: float) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        CalibratedPower(1.0, bad, 1.0, 1.0)


def test_proportional_refuses_a_voltage_table_out_of_order() -> None:
    with pytest.raises(ValueError, match="ascend"):
        ProportionalPower(voltages_v=((2_000_000, 0.9), (1_000_000, 0.8)))
