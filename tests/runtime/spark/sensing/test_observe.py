import pytest

from runtime.spark.sensing.progress import EVENT_TIME_LEVELS
from tests.runtime.spark.fake_query import FakeQuery, recorded
from tests.runtime.spark.sensor_bench import EPOCH_S, Bench, batch, begun, ended_s, started_s


def event_times(rows: int, mean_s: float, first_s: float) -> tuple[int, float, float]:
    return rows, EPOCH_S + mean_s, EPOCH_S + first_s


def test_observed_event_times_make_the_latency_exact_until_the_commit() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 1.0, 0.5, 100, event_times=event_times(100, 0.8, 0.2)))
    measured = bench.at(2.0)
    assert measured.latency_s == pytest.approx(0.7)
    assert measured.wait_s == pytest.approx(0.2)
    assert measured.latency_kind == "exact"
    assert bench.sensor.readings[0].longest_latency_s == pytest.approx(1.3)


def test_batches_of_a_step_are_weighted_by_their_rows() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.0, 0.5, 300, event_times=event_times(300, 0.0, 0.0)))
    query.report(batch(2, 0.5, 0.5, 100, event_times=event_times(100, 0.1, 0.1)))
    assert bench.at(1.5).latency_s == pytest.approx((300 * 0.5 + 100 * 0.9) / 400)


def test_without_them_it_is_half_the_gathering_and_the_whole_batch() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.2, 0.5, 100))
    measured = bench.at(1.0)
    assert measured.latency_s == pytest.approx(1.2 / 2 + 0.5)
    assert measured.latency_kind == "estimated"
    assert bench.sensor.readings[0].longest_latency_s == pytest.approx(1.2 + 0.5)


def test_an_estimate_includes_the_rows_that_wait_at_the_source() -> None:
    query = FakeQuery()
    bench = begun(query)
    for number in (1, 2, 3):
        end, latest = 100 * number, 100 * number + 400
        query.report(batch(number, number, 0.5, 100, start=end - 100, end=end, latest=latest))
        measured = bench.at(number + 1.0)
    assert measured.latency_s == pytest.approx(1.0 / 2 + 0.5 + 400 / (100 / 0.5))


def test_a_clock_that_is_ahead_is_not_believed() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.2, 0.5, 100, event_times=event_times(100, 60.0, 60.0)))
    measured = bench.at(1.0)
    assert measured.latency_kind == "estimated"
    assert measured.latency_s == pytest.approx(1.1)


def test_a_mixture_is_an_estimate() -> None:
    one, two = FakeQuery("run-1", "one"), FakeQuery("run-2", "two")
    bench = begun(one)
    bench.queries.append(two)
    two.report(batch(0, -0.5, 0.1, 1, run_id="run-2"))
    one.report(batch(1, 0.0, 0.5, 100, event_times=event_times(100, 0.0, 0.0)))
    two.report(batch(1, 0.5, 0.5, 300, run_id="run-2"))
    measured = bench.at(1.5)
    assert measured.latency_s == pytest.approx((100 * 0.5 + 300 * 1.0) / 400)
    assert measured.latency_kind == "estimated"


def test_of_a_recorded_run() -> None:
    """The rate source stamps rows evenly, so their mean is half a batch back."""
    documents = recorded("rate-observed-shuffle")
    query = FakeQuery(documents[0]["runId"])
    bench = Bench(query)
    bench.clock.advance(started_s(documents[0]))
    for made in documents:
        query.report(made)
        measured = bench.at(ended_s(made))
        if made["numInputRows"]:
            mean_s = made["observedMetrics"]["foresight_latency"]["mean_epoch_s"] - EPOCH_S
            assert measured.latency_s == pytest.approx(ended_s(made) - mean_s)
            assert measured.latency_kind == "exact"
        else:
            assert measured.latency_s is None


def test_event_times_tell_how_many_rows_missed_the_target() -> None:
    """Most rows are young and a few are old, which a mean would not tell."""
    query = FakeQuery()
    bench = begun(query)
    # Committed at 1.5 s, so that rows before 0.5 s are late: 6 % of them.
    by_level = [EPOCH_S + (0.0 if level < 0.06 else 1.0) for level in EVENT_TIME_LEVELS]
    seen = event_times(1000, 0.94, 0.0)
    query.report(batch(1, 1.0, 0.5, 1000, event_times=seen, epoch_s_by_level=by_level))
    measured = bench.at(2.0)
    assert measured.latency_s == pytest.approx(0.56)
    assert measured.late_share == pytest.approx(0.06, abs=0.005)
    assert bench.sensor.readings[0].judged_rows == 1000


def test_late_rows_of_several_batches_add_up() -> None:
    query = FakeQuery()
    bench = begun(query)
    for number, (rows, at_s) in enumerate(((300, -1.0), (100, 0.5)), 1):
        levels = [EPOCH_S + at_s] * len(EVENT_TIME_LEVELS)
        seen = event_times(rows, at_s, at_s)
        query.report(
            batch(number, 0.5 * number, 0.5, rows, event_times=seen, epoch_s_by_level=levels)
        )
    assert bench.at(2.0).late_share == pytest.approx(0.75)


def test_without_event_times_rows_are_taken_as_evenly_late() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.2, 0.5, 100))
    # From 0.5 to 1.7 s: above 1 s are 0.7 of 1.2.
    assert bench.at(1.0).late_share == pytest.approx(0.7 / 1.2)
