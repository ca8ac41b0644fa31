"""The history: bounded whatever comes, and no violation is thinned away."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from runtime.metrics.points import History, StepPoint, thinned


def point(at_s: float, latency_s: float | None = 1.0) -> StepPoint:
    return StepPoint(at_s=at_s, step=int(at_s), age_s=0.0, worst=latency_s, values={})


latencies = st.lists(st.none() | st.floats(0, 100), min_size=1, max_size=200)


@given(latencies, st.integers(1, 50))
def test_thinning_keeps_the_worst_and_the_order(found: list[float | None], most: int) -> None:
    points = [point(float(at_s), latency_s) for at_s, latency_s in enumerate(found)]
    kept = thinned(points, most)
    assert len(kept) <= most
    assert [each.at_s for each in kept] == sorted(each.at_s for each in kept)
    known = [latency_s for latency_s in found if latency_s is not None]
    if known:
        assert max(known) in [each.worst for each in kept]


@given(latencies, st.integers(2, 30))
def test_a_history_without_a_window_is_bounded_and_keeps_both_ends(
    found: list[float | None], most: int
) -> None:
    history = History(None, most)
    for at_s, latency_s in enumerate(found):
        history.add(point(float(at_s), latency_s))
    assert len(history) <= most
    assert history.points[-1].at_s == len(found) - 1
    known = [latency_s for latency_s in found if latency_s is not None]
    if known:
        assert max(known) in [each.worst for each in history.points]


def test_a_window_forgets_what_is_older() -> None:
    history = History(10.0, 1000)
    for at_s in range(100):
        history.add(point(float(at_s)))
    assert [each.at_s for each in history.points] == [float(at_s) for at_s in range(89, 100)]
    assert [each.at_s for each in history.since(95.0, 100)] == [96.0, 97.0, 98.0, 99.0]


def test_a_clock_that_was_set_back_leaves_no_future() -> None:
    history = History(None, 1000)
    for at_s in (1.0, 2.0, 3.0, 4.0):
        history.add(point(at_s))
    history.add(replace(point(2.5), step=5))
    assert [each.at_s for each in history.points] == [1.0, 2.0, 2.5]
