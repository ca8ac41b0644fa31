import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.protocol import Py4JNetworkError

from mpc.events import Event, EventKind
from mpc.values import BatchSample, Configuration
from tests.runtime.spark.fake_query import BETWEEN_TRIGGERS, IDLE, RUNNING, FakeQuery
from tests.runtime.spark.sensor_bench import Bench, batch, begun


def test_rows_are_taken_over_the_time_between_their_triggers() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.2, 0.5, 600))
    measured = bench.at(1.0)
    assert measured.arrivals_per_s == pytest.approx(500.0)
    assert measured.completions_per_s == pytest.approx(500.0)
    assert measured.batches == (BatchSample(600, 0.5, Configuration(2, 1_000_000)),)
    assert bench.sensor.readings[0].arrivals_kind == "input"


def test_a_step_in_which_no_batch_ended_is_unknown_and_repeats_nothing() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.2, 0.5, 600))
    bench.at(1.0)
    query.state = RUNNING
    measured = bench.at(2.0)
    assert measured.arrivals_per_s is None
    assert measured.completions_per_s is None
    assert measured.latency_s is None
    assert measured.batches == ()
    assert bench.sensor.readings[0].activity == "waiting"


def test_a_long_batch_is_no_burst() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.0, 0.5, 100))
    bench.at(1.0)
    query.state = RUNNING
    for second in range(2, 6):
        assert bench.at(second).arrivals_per_s is None
    query.report(batch(2, 5.0, 0.9, 500))
    assert bench.at(6.0).arrivals_per_s == pytest.approx(100.0)


def test_an_idle_stream_has_no_arrivals_and_is_never_stale() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.state = IDLE
    for second in range(1, 100):
        measured = bench.at(second)
        assert measured.arrivals_per_s == 0.0
        assert measured.backlog_items == 0.0
        assert bench.events == []
    query.state = BETWEEN_TRIGGERS
    query.report(batch(1, 99.6, 0.2, 60))
    assert bench.at(100.0).arrivals_per_s == pytest.approx(100.0)


def test_rows_right_after_an_idle_moment_wait_for_a_whole_span() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.state = IDLE
    bench.at(1.0)
    query.state = RUNNING
    query.report(batch(1, 1.1, 0.5, 60))
    measured = bench.at(2.0)
    assert measured.arrivals_per_s is None
    assert measured.batches[0].rows == 60
    query.report(batch(2, 2.0, 0.5, 40))
    assert bench.at(3.0).arrivals_per_s == pytest.approx(100.0)


def test_a_query_that_is_being_set_up_is_not_idle() -> None:
    query = FakeQuery()
    query.state = IDLE
    bench = Bench(query)
    assert bench.at(1.0).arrivals_per_s is None
    assert bench.events == ["query_started"]


def test_a_batch_that_does_not_end_is_stale_until_it_does() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.2, 2.0, 600))
    bench.at(3.0)
    query.state = RUNNING
    for second in range(4, 10):
        bench.at(second)
        assert bench.events == []
    assert bench.at(9.5).arrivals_per_s is None
    assert bench.events == ["query_stale"]
    bench.at(10.0)
    assert bench.events == []
    query.report(batch(2, 2.2, 7.5, 200))
    assert bench.at(11.0).arrivals_per_s == pytest.approx(100.0)
    assert bench.events == ["query_recovered"]


def test_a_query_that_cannot_be_scaled_is_told_once_and_nothing_is_measured_of_it() -> None:
    query = FakeQuery()
    query.mode = "continuous processing ends with the first executor that is lost"
    bench = Bench(query)
    query.report(batch(1, 0.2, 2.0, 600))
    measured = bench.at(3.0)
    assert bench.events == ["query_started", "query_unsupported"]
    assert (measured.arrivals_per_s, measured.latency_s, measured.oldest_wait_s) == (None,) * 3
    assert not measured.is_fresh
    bench.at(4.0)
    assert bench.events == []


def test_waiting_for_the_next_trigger_is_not_stale() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.state = BETWEEN_TRIGGERS
    for second in range(1, 60):
        assert bench.at(second).arrivals_per_s is None
        assert bench.events == []


def test_a_source_that_tells_its_newest_offset_gives_true_arrivals() -> None:
    """The consumer takes 300 of 1,000 rows a second."""
    query = FakeQuery()
    bench = Bench(query)
    bench.at(0.0)
    for number in range(8):
        done = {"index": 300 * number}
        latest = {"index": 1000 * number}
        before = {"index": max(300 * (number - 1), 0)} if number else None
        rows = 300 if number else 0
        query.report(batch(number, number, 0.9, rows, start=before, end=done, latest=latest))
        measured = bench.at(number + 1.0)
    reading = bench.sensor.readings[0]
    assert reading.arrivals_kind == "source"
    assert measured.arrivals_per_s == pytest.approx(1000.0)
    assert measured.completions_per_s == pytest.approx(300.0)
    assert reading.waiting_rows == pytest.approx(4900.0)
    assert measured.backlog_items == pytest.approx(5900.0)


def test_batch_ids_that_were_skipped_are_asked_for() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.0, 0.2, 10))
    bench.at(0.5)
    assert len(query.asked_for) == 1
    for number in range(2, 6):
        query.report(batch(number, 0.2 * number, 0.2, 20))
    measured = bench.at(1.5)
    assert [sample.rows for sample in measured.batches] == [20, 20, 20, 20]
    assert measured.arrivals_per_s == pytest.approx(80.0)
    assert len(query.asked_for) == 2


def test_an_idle_trigger_among_those_that_were_skipped_hides_no_batch() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.1, 0.1, 20))
    query.report(batch(2, 0.3, 0.01, 0, ran=False), batch(2, 0.5, 0.1, 30))
    assert [sample.rows for sample in bench.at(1.0).batches] == [20, 30]


def test_a_batch_is_counted_once() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.2, 0.5, 600))
    assert len(bench.at(1.0).batches) == 1
    assert len(bench.at(2.0).batches) == 0


def test_triggers_that_spark_has_forgotten_are_a_hole_and_not_silence() -> None:
    query = FakeQuery(keeps=10)
    bench = begun(query, step_s=1.0)
    for number in range(1, 101):
        query.report(batch(number, 0.1 * number, 0.1, 5))
    assert bench.at(10.2).arrivals_per_s == pytest.approx(50.0)


def test_an_idle_trigger_has_the_id_of_the_next_batch() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.5, 0.01, 0, ran=False))
    assert bench.at(1.0).batches == ()
    query.report(batch(1, 1.5, 0.3, 50))
    measured = bench.at(2.0)
    assert measured.batches[0].rows == 50
    assert measured.arrivals_per_s == pytest.approx(50.0)


def test_a_restarted_query_begins_anew() -> None:
    first = FakeQuery("run-1", "quotes")
    bench = begun(first)
    first.report(batch(40, 0.5, 0.2, 30))
    bench.at(1.0)
    second = FakeQuery("run-2", "quotes")
    bench.queries = [second]
    second.report(batch(12, 1.2, 0.5, 5000, run_id="run-2"))
    measured = bench.at(2.0)
    assert bench.events == ["query_stopped", "query_started"]
    assert measured.arrivals_per_s is None
    assert measured.batches[0].rows == 5000
    second.report(batch(13, 2.2, 0.5, 100, run_id="run-2"))
    assert bench.at(3.0).arrivals_per_s == pytest.approx(100.0)


def test_a_query_that_failed_says_why() -> None:
    query = FakeQuery(name="quotes")
    bench = begun(query)
    query.failed = "division by zero"
    bench.queries = []
    assert bench.at(1.0).arrivals_per_s is None
    event = bench.seen[0]
    assert event == Event(EventKind.QUERY_FAILED, "quotes: division by zero")


def test_what_py4j_raises_is_an_event_once_and_no_error() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.error = Py4JNetworkError("the JVM is gone")
    assert bench.at(1.0).arrivals_per_s is None
    assert bench.events == ["query_stale"]
    assert bench.at(2.0).arrivals_per_s is None
    assert bench.events == []
    query.error = None
    query.report(batch(1, 2.0, 0.5, 300))
    assert bench.at(3.0).arrivals_per_s == pytest.approx(100.0)
    assert bench.events == ["query_recovered"]


def test_a_closed_session_is_an_event_once_and_no_error() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.0, 0.5, 100))
    bench.at(1.0)
    bench.session_error = AttributeError("'NoneType' object has no attribute 'streams'")
    bench.hosts_error = ConnectionError("no agent")
    measured = bench.at(2.0)
    assert (measured.arrivals_per_s, measured.power_w) == (None, None)
    assert sorted(bench.events) == ["hosts_unreadable", "session_unreadable"]
    assert bench.at(3.0).latency_s is None
    assert bench.events == []
    bench.session_error = bench.hosts_error = None
    query.report(batch(2, 3.0, 0.5, 300))
    assert bench.at(4.0).arrivals_per_s == pytest.approx(100.0)
    assert {"session_recovered", "hosts_recovered"} <= set(bench.events)


def test_without_queries_nothing_is_known() -> None:
    measured = Bench().at(1.0)
    assert measured.arrivals_per_s is None
    assert measured.observed == measured.requested == Configuration(2, 1_000_000)


def test_several_queries_are_added_up_and_reported_each() -> None:
    one, two = FakeQuery("run-1", "one"), FakeQuery("run-2", "two")
    one.report(batch(0, -1.0, 0.5, 10))
    two.report(batch(0, -1.0, 0.5, 10, run_id="run-2"))
    bench = Bench(one, two)
    bench.at(0.0)
    one.report(batch(1, 0.0, 0.5, 100))
    assert bench.at(1.0).arrivals_per_s is None  # the other one has not been known yet
    two.report(batch(1, 1.0, 0.5, 400, run_id="run-2"))
    measured = bench.at(2.0)
    assert measured.arrivals_per_s == pytest.approx(100.0 + 200.0)
    assert [reading.query for reading in bench.sensor.readings] == ["one", "two"]
    assert [reading["arrivals_per_s"] for reading in bench.sensor.queries] == [None, 200.0]
    one.state = two.state = RUNNING
    assert bench.at(3.0).arrivals_per_s is None
    two.error = Py4JNetworkError("gone")
    one.report(batch(2, 3.0, 0.5, 300))
    assert bench.at(4.0).arrivals_per_s is None


@given(
    st.lists(st.tuples(st.floats(0.01, 5.0), st.integers(0, 10_000)), min_size=1, max_size=30),
    st.floats(0.2, 5.0),
)
def test_no_row_is_lost_or_counted_twice(batches: list[tuple[float, int]], step_s: float) -> None:
    query = FakeQuery()
    bench = begun(query, step_s=step_s)
    due = []
    started_s = 0.1
    for number, (duration_s, rows) in enumerate(batches):
        due.append((started_s + duration_s, batch(number + 1, started_s, duration_s, rows)))
        started_s += duration_s
    completed = 0
    now_s = 0.0
    while due:
        now_s += step_s
        while due and due[0][0] <= now_s - 0.01:
            query.report(due.pop(0)[1])
        completed += sum(sample.rows for sample in bench.at(now_s).batches)
    assert completed == sum(rows for _, rows in batches)


@pytest.mark.parametrize(
    ("intervals_s", "told_s"), [((None,), None), ((2.0,), 2.0), ((2.0, None, 5.0), 5.0)]
)
def test_the_longest_trigger_interval_is_told(
    intervals_s: tuple[float | None, ...], told_s: float | None
) -> None:
    queries = [
        FakeQuery(f"run-{number}", trigger_interval_s=interval_s)
        for number, interval_s in enumerate(intervals_s)
    ]
    assert Bench(*queries).at(1.0).trigger_interval_s == told_s


def test_a_query_that_does_not_tell_its_interval_is_taken_as_back_to_back() -> None:
    query = FakeQuery(trigger_interval_s=2.0)
    query.error = Py4JNetworkError("no such method")
    assert Bench(query).at(1.0).trigger_interval_s is None


def test_a_batch_with_new_executors_is_cold() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.1, 0.5, 100))
    assert [sample.cold for sample in bench.at(1.0).batches] == [False]
    bench.current = Configuration(4, 1_000_000)
    query.report(batch(2, 1.1, 1.5, 100))
    assert [sample.cold for sample in bench.at(3.0).batches] == [True]
    query.report(batch(3, 6.0, 0.5, 100))
    assert [sample.cold for sample in bench.at(7.0).batches] == [False]


def test_a_run_is_cold_until_a_batch_has_had_rows() -> None:
    query = FakeQuery()
    bench = Bench(query)
    bench.at(0.5)
    query.report(batch(0, 0.6, 9.0, 0))
    assert [sample.cold for sample in bench.at(10.0).batches] == [True]
    query.report(batch(1, 10.0, 5.0, 100))
    assert [sample.cold for sample in bench.at(16.0).batches] == [True]
    query.report(batch(2, 16.0, 0.5, 100))
    assert [sample.cold for sample in bench.at(17.0).batches] == [False]


def test_arrivals_are_as_old_as_the_middle_of_the_time_they_were_counted_over() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 2.0, 1.0, 100))
    bench.at(3.0)
    query.report(batch(2, 10.0, 4.0, 800))
    measured = bench.at(14.0)
    assert measured.arrivals_per_s == pytest.approx(100.0)
    # They came from 2 to 10 s, the step is from 13 to 14.
    assert measured.arrivals_age_s == pytest.approx(13.5 - 6.0)
    assert bench.at(15.0).arrivals_age_s == 0.0


def test_rows_that_wait_grow_older_until_their_batch_ends() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.report(batch(1, 0.2, 2.0, 600))
    query.state = RUNNING
    waits_s = [bench.at(second).oldest_wait_s for second in (3.0, 4.0, 9.0)]
    assert waits_s == [pytest.approx(2.8), pytest.approx(3.8), pytest.approx(8.8)]
    query.report(batch(2, 2.2, 7.5, 200))
    query.state = IDLE
    assert bench.at(11.0).oldest_wait_s is None
    query.state = RUNNING
    assert bench.at(12.0).oldest_wait_s == pytest.approx(1.0), "nothing waited while it was idle"


def test_one_silent_query_of_two_makes_the_whole_measurement_old() -> None:
    """The other goes on reporting; long before the silent one counts as stale."""
    talking, silent = FakeQuery("talking"), FakeQuery("silent")
    for query in (talking, silent):
        query.report(batch(0, -1.0, 0.5, 10))
    bench = Bench(talking, silent)
    bench.at(0.0)
    for query in (talking, silent):
        query.report(batch(1, 0.2, 4.0, 400))
    assert bench.at(5.0).is_fresh
    silent.state = RUNNING
    fresh = []
    for number in range(2, 10):
        talking.report(batch(number, 4.2 + number, 0.5, 100))
        fresh.append(bench.at(4.0 + number).is_fresh)
    assert fresh == [True] * 6 + [False] * 2
    assert "query_stale" not in bench.events
