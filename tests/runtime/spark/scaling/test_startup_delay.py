"""The learned start-up delay is sane from the first sample on and forgives odd ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.spark.scaling.startup_delay import (
    PRIOR_REGISTER_S,
    PRIOR_WARM_S,
    DelayEstimate,
    StartUpDelay,
)


def test_the_prior_stands_until_there_is_more() -> None:
    delay = StartUpDelay()
    assert delay.seconds == PRIOR_REGISTER_S + PRIOR_WARM_S
    delay.register.update(50.0)
    assert delay.register.seconds == (PRIOR_REGISTER_S + 50.0) / 2


def test_it_learns_within_a_few_starts() -> None:
    assert DelayEstimate(4.0, [9.0, 9.0]).seconds == 9.0


@pytest.mark.parametrize("slow_s", [57.0, 300.0])
def test_nodes_that_take_minutes_are_learned(slow_s: float) -> None:
    assert DelayEstimate(4.0, [slow_s, slow_s]).seconds == slow_s


def test_outliers_do_not_move_it() -> None:
    usual = [3.0] * 8
    assert DelayEstimate(4.0, [*usual, 55.0, 0.0, 580.0]).seconds == 3.0


def test_what_has_not_come_yet_is_at_least_so_long() -> None:
    delay = StartUpDelay([5.0] * 4)
    delay.observe_waiting(4.0)
    assert delay.seconds == 5.0 + PRIOR_WARM_S
    delay.observe_waiting(90.0)
    assert delay.seconds == 90.0 + PRIOR_WARM_S
    delay.observe_waiting(0.0)
    assert delay.seconds == 5.0 + PRIOR_WARM_S


def test_it_forgets_a_machine_that_was_slow_once() -> None:
    delay = DelayEstimate(4.0, [20.0] * 30)
    assert delay.seconds == 20.0
    for _ in range(15):
        delay.update(2.0)
    assert delay.seconds == 2.0


@given(st.lists(st.floats(0.0, 3600.0), max_size=40))
def test_it_stays_within_what_was_seen(samples_s: list[float]) -> None:
    delay = DelayEstimate(4.0, samples_s)
    assert min([4.0, *samples_s]) <= delay.seconds <= max([4.0, *samples_s])
    assert DelayEstimate(4.0, delay.samples_s).seconds == delay.seconds
