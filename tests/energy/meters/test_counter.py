import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.meters.counter import HIGHEST_POWER_W, REFRESH_S, WrappingCounter
from tests.energy.meters.rapl_tree import AMD_RANGE_UJ, INTEL_RANGE_UJ

ranges_uj = st.sampled_from([AMD_RANGE_UJ, INTEL_RANGE_UJ, 2**32 - 1, 10_000_000_000])
polls = st.lists(st.tuples(st.floats(0.01, 2.0), st.floats(0, HIGHEST_POWER_W)), max_size=60)


@given(ranges_uj, st.data(), polls)
def test_any_sequence_of_plausible_gains_adds_up_exactly(
    range_uj: int, data: st.DataObject, polls: list[tuple[float, float]]
) -> None:
    value_uj = data.draw(st.integers(0, range_uj))
    counter = WrappingCounter(range_uj)
    now_s, true_uj = 0.0, 0
    counter.add(value_uj, now_s)
    # Of a gap in which a counter may turn twice nothing can be known; see below.
    longest_s = range_uj / 1e6 / HIGHEST_POWER_W / 2
    for wanted_s, power_w in polls:
        elapsed_s = min(wanted_s, longest_s)
        gained_uj = int(elapsed_s * power_w * 1e6)
        now_s += elapsed_s
        value_uj = (value_uj + gained_uj) % (range_uj + 1)
        counter.add(value_uj, now_s)
        true_uj += gained_uj
    assert counter.total_uj == true_uj
    assert counter.rejected == 0


def test_a_turn_is_one_more_than_the_last_value() -> None:
    counter = WrappingCounter(AMD_RANGE_UJ)
    counter.add(AMD_RANGE_UJ, 0.0)
    counter.add(0, 1.0)
    assert counter.total_uj == 1


def test_an_amd_socket_at_240_w_for_an_hour() -> None:
    counter = WrappingCounter(AMD_RANGE_UJ)
    for second in range(3601):
        counter.add(second * 240_000_000 % (AMD_RANGE_UJ + 1), float(second))
    assert counter.total_uj == 3600 * 240_000_000
    assert counter.rejected == 0


def test_a_reset_is_rejected_once_and_counting_goes_on() -> None:
    counter = WrappingCounter(INTEL_RANGE_UJ)
    counter.add(50_000_000_000, 0.0)
    counter.add(50_100_000_000, 1.0)
    counter.add(3, 2.0)
    counter.add(70_000_003, 3.0)
    assert counter.total_uj == 170_000_000
    assert counter.rejected == 1


def test_a_jump_no_hardware_draws_is_rejected() -> None:
    counter = WrappingCounter(INTEL_RANGE_UJ)
    counter.add(0, 0.0)
    counter.add(10_000_000_000, 1.0)
    assert (counter.total_uj, counter.rejected) == (0, 1)


def test_without_a_range_a_fall_is_a_reset() -> None:
    counter = WrappingCounter(None)
    counter.add(1_000_000, 0.0)
    counter.add(0, 1.0)
    counter.add(5_000_000, 2.0)
    assert (counter.total_uj, counter.rejected) == (5_000_000, 1)


def test_a_gap_in_which_it_may_have_turned_twice_is_unknown() -> None:
    counter = WrappingCounter(AMD_RANGE_UJ)
    counter.add(0, 0.0)
    longest_s = AMD_RANGE_UJ / 1e6 / HIGHEST_POWER_W
    counter.add(1_000_000, longest_s + 1)
    assert (counter.total_uj, counter.rejected) == (0, 1)
    counter.add(3_000_000, longest_s + 2)
    assert (counter.total_uj, counter.rejected) == (2_000_000, 1)


def test_the_same_moment_adds_nothing_and_loses_nothing() -> None:
    counter = WrappingCounter(INTEL_RANGE_UJ)
    counter.add(0, 5.0)
    counter.add(1_000_000, 5.0)
    assert counter.total_uj == 0
    counter.add(2_000_000, 6.0)
    assert (counter.total_uj, counter.rejected) == (2_000_000, 0)


def test_time_that_runs_backwards_is_rejected_and_starts_again() -> None:
    counter = WrappingCounter(INTEL_RANGE_UJ)
    counter.add(0, 100.0)
    counter.add(1_000_000, 50.0)
    counter.add(3_000_000, 51.0)
    assert (counter.total_uj, counter.rejected) == (2_000_000, 1)


def test_two_readings_within_one_step_of_the_hardware_are_plausible() -> None:
    counter = WrappingCounter(INTEL_RANGE_UJ)
    counter.add(0, 0.0)
    counter.add(round(HIGHEST_POWER_W * REFRESH_S / 2 * 1e6), 1e-6)
    assert counter.rejected == 0
    assert counter.total_uj > 0


@pytest.mark.parametrize("garbage", [-1, INTEL_RANGE_UJ + 1])
def test_a_value_the_counter_cannot_hold_is_rejected_and_is_no_base(garbage: int) -> None:
    counter = WrappingCounter(INTEL_RANGE_UJ)
    counter.add(10, 0.0)
    counter.add(garbage, 1.0)
    counter.add(60, 2.0)
    assert (counter.total_uj, counter.rejected) == (50, 1)


@given(
    st.one_of(st.none(), ranges_uj),
    st.lists(st.tuples(st.integers(-10, 2**40), st.floats(-1e6, 1e6))),
)
def test_whatever_is_read_the_total_never_falls(
    range_uj: int | None, readings: list[tuple[int, float]]
) -> None:
    counter = WrappingCounter(range_uj)
    total_uj = rejected = 0
    for value_uj, now_s in readings:
        counter.add(value_uj, now_s)
        assert counter.total_uj >= total_uj
        assert counter.rejected >= rejected
        total_uj, rejected = counter.total_uj, counter.rejected
