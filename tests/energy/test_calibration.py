import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energy.calibration import (
    PowerPoint,
    calibrated,
    mape,
    points_to_measure,
    proportional,
    spread,
)
from energy.power import CalibratedPower, PowerModel, ProportionalPower

EXECUTORS = range(1, 13)
FREQUENCIES_KHZ = range(1_200_000, 2_000_001, 100_000)
HOST = CalibratedPower(8.0, 7.0, 2.0, 0.6)


def measured(model: PowerModel, places: tuple[tuple[int, int], ...]) -> list[PowerPoint]:
    return [PowerPoint(n, khz, float(model.power_w(n, khz))) for n, khz in places]


def everywhere(model: PowerModel) -> list[PowerPoint]:
    return measured(model, tuple((n, khz) for n in EXECUTORS for khz in FREQUENCIES_KHZ))


def test_seven_points_are_full_load_corners_middle_and_edges() -> None:
    places = points_to_measure(range(1, 12), FREQUENCIES_KHZ)
    assert places == (
        (11, 2_000_000),
        (1, 1_200_000),
        (11, 1_200_000),
        (1, 2_000_000),
        (6, 1_600_000),
        (11, 1_600_000),
        (6, 2_000_000),
    )


def test_fewer_configurations_than_asked_for_are_all_measured() -> None:
    assert set(points_to_measure([1, 2], [1_000_000, 2_000_000], 7)) == {
        (n, khz) for n in (1, 2) for khz in (1_000_000, 2_000_000)
    }
    assert points_to_measure([4], [1_000_000], 7) == ((4, 1_000_000),)


def test_the_order_of_places_does_not_matter() -> None:
    places = [(n, khz) for n in EXECUTORS for khz in FREQUENCIES_KHZ]
    assert spread(places, 12) == spread(places[::-1], 12)


@settings(max_examples=50)
@given(st.lists(st.floats(0.05, 20.0), min_size=4, max_size=4))
def test_calibration_recovers_an_exact_host(coefficients: list[float]) -> None:
    host = CalibratedPower(*coefficients)
    model = calibrated(measured(host, points_to_measure(EXECUTORS, FREQUENCIES_KHZ)))
    assert mape(model, everywhere(host)) < 1e-6


@settings(max_examples=100)
@given(
    st.lists(
        st.builds(
            PowerPoint, st.integers(0, 64), st.integers(400_000, 5_000_000), st.floats(0.1, 1e4)
        ),
        min_size=2,
        max_size=12,
    )
)
def test_any_points_give_a_finite_model_that_never_falls(points: list[PowerPoint]) -> None:
    if len({point.executors for point in points}) < 2:
        with pytest.raises(ValueError, match="two executor counts"):
            calibrated(points)
        return
    power_w = calibrated(points).power_w(np.arange(65)[:, None], np.array([1_000_000, 4_000_000]))
    assert np.isfinite(power_w).all()
    assert (np.diff(power_w, axis=0) >= 0).all()
    assert (np.diff(power_w, axis=1) >= 0).all()


def test_one_bad_reading_does_not_bend_the_model() -> None:
    points = measured(HOST, points_to_measure(EXECUTORS, FREQUENCIES_KHZ, 12))
    worst = 0.0
    for index, point in enumerate(points):
        bad = PowerPoint(point.executors, point.frequency_khz, 0.5 * point.power_w)
        model = calibrated([*points[:index], bad, *points[index + 1 :]])
        worst = max(worst, mape(model, everywhere(HOST)))
    assert worst < 0.05


def test_a_host_with_one_frequency_is_calibrated_at_it() -> None:
    places = tuple((n, 2_000_000) for n in EXECUTORS)
    model = calibrated(measured(HOST, places[::4]))
    assert mape(model, measured(HOST, places)) < 1e-6


def test_proportional_recovers_its_capacitance() -> None:
    host = ProportionalPower(2.5)
    assert proportional(everywhere(host)).effective_capacitance == pytest.approx(2.5)


def test_mape_is_a_fraction_of_the_measured_power() -> None:
    points = [PowerPoint(1, 1_000_000, 10.0), PowerPoint(2, 1_000_000, 40.0)]
    flat = CalibratedPower(20.0, 0.0, 0.0, 0.0)
    assert mape(flat, points) == pytest.approx((1.0 + 0.5) / 2)


@pytest.mark.parametrize("power_w", [0.0, -3.0, float("nan"), float("inf")])
def test_a_point_without_power_is_refused(power_w: float) -> None:
    with pytest.raises(ValueError, match="power_w"):
        PowerPoint(1, 1_000_000, power_w)
