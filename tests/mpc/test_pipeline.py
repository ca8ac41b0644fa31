"""A plan counts on what runs and on what is still to come in time, never on more."""

from hypothesis import given
from hypothesis import strategies as st

from mpc.pipeline import Pipeline
from mpc.values import Configuration

KHZ = 2_000_000
counts = st.tuples(st.integers(1, 12), st.integers(0, 14))


def fed(*steps: tuple[int, int], khz: int = KHZ) -> Pipeline:
    """Requested and observed executors, one pair a step."""
    pipeline = Pipeline()
    for requested, observed in steps:
        pipeline.observe(Configuration(requested, khz), Configuration(observed, khz))
    return pipeline


@given(st.lists(counts, min_size=1, max_size=40), st.integers(0, 12))
def test_never_more_than_runs_now_nor_than_is_requested(
    steps: list[tuple[int, int]], dead_time_steps: int
) -> None:
    pipeline = fed(*steps)
    requested, observed = steps[-1]
    recent = pipeline.recent_requests(dead_time_steps)
    assert len(recent) == dead_time_steps
    assert pipeline.missing == max(requested - observed, 0)
    assert list(recent) == sorted(recent), "nobody goes without being asked to"
    if recent:
        assert recent[0] == min(requested, observed)
        assert recent[-1] <= requested


@given(st.integers(1, 12), st.integers(0, 11), st.integers(1, 30), st.integers(2, 12))
def test_what_is_missing_comes_one_dead_time_later_and_then_is_counted_on_no_more(
    requested: int, observed: int, waited: int, dead_time_steps: int
) -> None:
    observed = min(observed, requested)
    pipeline = fed((requested, requested), *[(requested, observed)] * waited)
    come = max(dead_time_steps - waited, 0)
    expected = [observed if at < come or not come else requested for at in range(dead_time_steps)]
    assert list(pipeline.recent_requests(dead_time_steps)) == expected


@given(st.lists(counts, min_size=1, max_size=20), st.integers(1, 8), st.integers(1, 12))
def test_once_all_runs_that_is_requested_nothing_is_left_of_the_past(
    steps: list[tuple[int, int]], dead_time_steps: int, executors: int
) -> None:
    pipeline = fed(*steps, (executors, executors))
    assert pipeline.recent_requests(dead_time_steps) == (executors,) * dead_time_steps
    assert pipeline.dead_time_steps(0) == 0


def test_a_scale_out_in_two_steps_comes_in_two_steps() -> None:
    pipeline = fed((2, 2), (4, 2), (7, 2))
    assert pipeline.recent_requests(4) == (2, 2, 4, 7)


def test_those_asked_for_first_come_first() -> None:
    pipeline = fed((2, 2), (4, 2), (7, 2), (7, 4))
    assert pipeline.recent_requests(4) == (4, 4, 7, 7)


def test_what_is_lost_while_others_come_is_new() -> None:
    """Two of four come, and in the next step three of the six are gone."""
    pipeline = fed((4, 4), (8, 4), (8, 6), (8, 3))
    assert pipeline.recent_requests(5) == (3, 3, 5, 5, 8)


def test_a_request_taken_back_is_not_waited_for() -> None:
    pipeline = fed((2, 2), (4, 2), (7, 2), (5, 2))
    assert pipeline.recent_requests(4) == (2, 4, 5, 5)


def test_executors_that_are_still_to_leave_do_not_count() -> None:
    assert fed((6, 6), (4, 6)).recent_requests(2) == (4, 4)


def test_while_executors_are_missing_none_comes_at_once() -> None:
    """Also before a dead time was learned: the plan must see how few there are."""
    pipeline = fed((6, 6), (6, 3))
    assert pipeline.dead_time_steps(0) == 1
    assert pipeline.recent_requests(1) == (3,)
    assert pipeline.dead_time_steps(7) == 7


def test_the_dwell_begins_with_what_was_really_requested() -> None:
    pipeline = fed((4, 4), (4, 4))
    assert pipeline.steps_since_change is None
    pipeline.observe(Configuration(4, 1_000_000), Configuration(4, 1_000_000))
    assert pipeline.steps_since_change == 1
    pipeline.observe(Configuration(4, 1_000_000), Configuration(2, 1_000_000))
    assert pipeline.steps_since_change == 2
