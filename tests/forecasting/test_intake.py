"""The rules that separate glitches from new levels."""

import pytest

from forecasting.intake import Intake, Reading


def accept_all(intake: Intake, values: list[float]) -> list[Reading]:
    readings = [intake.accept(value) for value in values]
    return [reading for reading in readings if reading is not None]


def test_the_first_outlier_is_cut_and_the_second_is_not() -> None:
    intake = Intake()
    accept_all(intake, [10.0, 12.0, 11.0])
    first, second = accept_all(intake, [500.0, 500.0])
    assert first == Reading(36.0)
    assert second == Reading(500.0)


def test_three_in_a_row_are_a_level() -> None:
    intake = Intake()
    accept_all(intake, [10.0, 12.0, 11.0])
    *_, third = accept_all(intake, [400.0, 500.0, 600.0])
    assert third.new_level == pytest.approx(500.0)
    assert third.old_level == pytest.approx(11.0)
    assert intake.ceiling == pytest.approx(1800.0)


def test_a_gap_neither_confirms_nor_clears_a_suspicion() -> None:
    intake = Intake()
    accept_all(intake, [10.0, 12.0, 11.0, 400.0])
    assert intake.accept(None) is None
    assert intake.accept(float("nan")) is None
    second, third = accept_all(intake, [500.0, 600.0])
    assert second.new_level is None
    assert third.new_level == pytest.approx(500.0)


def test_an_ordinary_value_clears_a_suspicion() -> None:
    intake = Intake()
    readings = accept_all(intake, [10.0, 12.0, 400.0, 11.0, 400.0, 12.0, 400.0])
    assert all(reading.new_level is None for reading in readings)


def test_bursts_that_come_again_are_let_through() -> None:
    intake = Intake()
    bursts = accept_all(intake, [10.0, 400.0] * 5)[1::2]
    assert [reading.value for reading in bursts] == [30.0, 90.0, 270.0, 400.0, 400.0]


def test_a_fall_needs_three_values_too() -> None:
    intake = Intake()
    accept_all(intake, [300.0, 330.0, 360.0])
    first, second, third = accept_all(intake, [10.0, 0.0, 2.0])
    assert (first, second) == (Reading(10.0), Reading(0.0))
    assert third.new_level == pytest.approx(4.0)


def test_a_series_with_zeros_never_falls() -> None:
    intake = Intake()
    readings = accept_all(intake, [30.0, 0.0, 25.0, 0.0, 0.0, 0.0, 0.0])
    assert all(reading.new_level is None for reading in readings)


def test_one_value_in_the_old_range_ends_a_young_rise() -> None:
    intake = Intake()
    accept_all(intake, [10.0, 12.0, 11.0, 400.0, 500.0, 600.0, 550.0])
    reading = intake.accept(12.0)
    assert reading is not None
    assert reading.new_level == pytest.approx(11.0)
    assert intake.ceiling == pytest.approx(36.0)


def test_an_old_rise_stays() -> None:
    intake = Intake()
    accept_all(intake, [10.0, 12.0, 11.0, *([500.0] * 40)])
    assert intake.accept(12.0) == Reading(12.0)
