import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agent.wire.rate_limit import RateLimit


def test_a_burst_passes_and_then_the_sustained_rate() -> None:
    limit = RateLimit(requests_per_s=2.0, burst=3)
    assert [limit.take("a", 0.0) for _ in range(4)] == [None, None, None, 0.5]
    assert limit.take("a", 0.25) == pytest.approx(0.25)
    assert limit.take("a", 0.5) is None
    assert limit.take("a", 0.5) == pytest.approx(0.5)


def test_callers_do_not_take_from_each_other() -> None:
    limit = RateLimit(1.0, 1)
    assert limit.take("a", 0.0) is None
    assert limit.take("b", 0.0) is None
    assert limit.take("a", 0.0) is not None


def test_only_so_many_callers_are_remembered_and_the_quietest_is_forgotten() -> None:
    limit = RateLimit(1.0, 1, most_callers=2)
    assert limit.take("a", 0.0) is None
    assert limit.take("b", 0.0) is None
    assert limit.take("a", 0.0) is not None
    assert limit.take("c", 0.0) is None  # pushes b out, a spoke last
    assert limit.take("a", 0.0) is not None
    assert len(limit) == 2


@pytest.mark.parametrize("bad", [(0.0, 1, 1), (1.0, 0, 1), (1.0, 1, 0)])
def test_limits_that_let_nothing_through_are_refused(bad: tuple[float, int, int]) -> None:
    with pytest.raises(ValueError, match="positive"):
        RateLimit(*bad)


@given(
    st.floats(0.1, 100),
    st.integers(1, 50),
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 2)), max_size=60),
)
def test_never_more_than_burst_and_rate_allow(
    requests_per_s: float, burst: int, calls: list[tuple[str, float]]
) -> None:
    limit = RateLimit(requests_per_s, burst)
    now_s, passed = 0.0, {"a": 0, "b": 0, "c": 0}
    for name, pause_s in calls:
        now_s += pause_s
        passed[name] += limit.take(name, now_s) is None
    assert max(passed.values()) <= burst + requests_per_s * now_s + 1e-6
