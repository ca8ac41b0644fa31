"""Series of which only some steps are known: where values belong, and what lies between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecasting.sparse import bridged, held, reaches, where_they_belong, without_gaps

series = st.lists(st.none() | st.floats(0, 1e6), max_size=60)


def test_a_value_belongs_to_an_earlier_step_than_it_is_told_in() -> None:
    told = where_they_belong([5.0, None, None, 7.0, 9.0], [2, None, 0, 1, 2])
    assert told == {-2: 5.0, 2: 9.0}
    assert list(told) == [-2, 2]


def test_values_lie_on_the_line_between_those_told() -> None:
    told = {-2: 10.0, 2: 30.0, 6: 10.0}
    assert bridged(told, 8) == (20.0, 25.0, 30.0, 25.0, 20.0, 15.0, 10.0, None)
    assert list(without_gaps(told, 8)) == [20.0, 25.0, 30.0, 25.0, 20.0, 15.0, 10.0, 10.0]


@pytest.mark.parametrize("usual", [1, 2, 12, 40])
def test_how_far_a_gap_is_bridged_follows_the_usual_distance(usual: int) -> None:
    often = [usual * index for index in range(10)]
    assert reaches(often) == [3.5 * usual] * 10
    for times, is_bridged in ((3, True), (4, False)):
        end = often[-1] + times * usual
        told = dict.fromkeys([*often, end], 1.0)
        between = bridged(told, end + 1)[often[-1] + 1 : end]
        assert all((value is not None) is is_bridged for value in between)


def test_what_is_usual_may_change() -> None:
    """An idle stream is told at every step, a busy one by the batch; an outage is neither."""
    idle, busy = range(200), range(210, 400, 12)
    after = range(busy[-1] + 120, 600, 12)
    told = dict.fromkeys([*idle, *busy, *after], 1.0)
    shown = bridged(told, 600)
    outage = slice(busy[-1] + 1, after[0])
    assert None not in shown[:200] + shown[busy[0] : busy[-1]] + shown[after[0] : after[-1]]
    assert set(shown[outage]) == {None}


def test_a_value_holds_until_the_next_one_but_not_for_ever() -> None:
    values = [None, 1.0, None, None, 2.0, None, None, 3.0, *[None] * 20]
    shown = held(values)
    assert shown[:8] == (None, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0)
    assert shown[8:18] == (3.0,) * 10
    assert shown[18:] == (None,) * 10


@given(series)
def test_what_is_known_stays_as_it_is(values: list[float | None]) -> None:
    told = where_they_belong(values, [0] * len(values))
    for shown in (bridged(told, len(values)), held(values), without_gaps(told, len(values))):
        assert len(shown) == len(values)
        for value, own in zip(values, shown, strict=True):
            assert value is None or value == pytest.approx(own)


def test_nothing_told_is_nothing_known() -> None:
    assert bridged({}, 3) == (None, None, None)
    assert held([None, None]) == (None, None)
    assert list(without_gaps({}, 2)) == [0.0, 0.0]
    assert bridged({4: 2.0}, 3) == (None, None, None)
