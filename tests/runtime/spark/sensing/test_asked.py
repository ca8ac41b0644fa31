"""Arrivals asked of the sources: known inside a batch, and never invented."""

import pytest

from mpc.events import EventKind
from runtime.spark.sensing.asked import PATIENCE_STEPS, AskedSources, SourceAnswer
from runtime.spark.sensing.offsets import Offset
from runtime.spark.sensing.sources.contract import SourceCount, SourceInfo
from tests.runtime.spark.fake_query import RUNNING, FakeQuery
from tests.runtime.spark.sensor_bench import EPOCH_S, Bench, batch

ROWS_PER_S = 40
ANY = SourceInfo("any", "any", {})


def rate_source(began_s: float = -20.0) -> SourceInfo:
    """Spark's own, which began so long before the bench."""
    description = f"RateStreamV2[rowsPerSecond={ROWS_PER_S}, rampUpTimeSeconds=0, numPartitions=1"
    return SourceInfo("RateStream", description, {}, began_s=EPOCH_S + began_s)


def rate_query(run_id: str = "run-1", name: str | None = None) -> FakeQuery:
    query = FakeQuery(run_id, name)
    query.made_of = (rate_source(),)
    query.report(batch(0, -13.0, 5.0, 280, end=7, latest=7, run_id=run_id))
    query.state = RUNNING
    return query


def test_arrivals_and_backlog_are_known_in_every_step_of_a_long_batch() -> None:
    query = rate_query()
    bench = Bench(query)
    bench.at(0.0)
    # Since the start of the last batch that ended seven seconds of rows are done.
    for second in range(1, 12):
        measured = bench.at(float(second))
        assert measured.arrivals_origin == "source"
        assert measured.arrivals_per_s == pytest.approx(ROWS_PER_S)
        assert measured.arrivals_age_s == pytest.approx(0.0, abs=1e-6)
    query.report(batch(1, 0.0, 11.5, 800, start=7, end=20, latest=20))
    measured = bench.at(12.0)
    assert measured.arrivals_per_s == pytest.approx(ROWS_PER_S)
    assert measured.backlog_items == pytest.approx(ROWS_PER_S * 12)
    # What the batch tells is in the journal beside it.
    assert bench.sensor.readings[0].arrivals_per_s is not None


def test_without_a_counter_the_batch_tells_and_says_so() -> None:
    query = rate_query()
    query.made_of = (SourceInfo("KafkaTable", "KafkaV2[Subscribe[quotes]]", {}),)
    bench = Bench(query)
    assert bench.at(0.0).arrivals_per_s is None
    assert bench.at(1.0).arrivals_per_s is None
    query.report(batch(1, 0.0, 1.5, 520, start=7, end=20, latest=20))
    measured = bench.at(2.0)
    assert measured.arrivals_per_s is not None
    assert measured.arrivals_origin == "batch"


def test_of_several_queries_all_are_asked_or_none() -> None:
    asked, told = rate_query(name="asked"), rate_query("run-2", "told")
    told.made_of = ()
    bench = Bench(asked, told)
    for second in range(3):
        measured = bench.at(float(second))
        assert measured.arrivals_per_s is None
        assert measured.arrivals_origin == "batch"
    bench.queries = [asked]
    assert bench.at(3.0).arrivals_per_s == pytest.approx(ROWS_PER_S)
    told.made_of = (rate_source(),)
    bench.queries = [asked, told]
    # The growth of one alone would be half of what comes.
    assert bench.at(4.0).arrivals_per_s is None
    assert bench.at(5.0).arrivals_per_s == pytest.approx(2 * ROWS_PER_S)


def test_a_restarted_query_has_no_rate_in_its_first_step() -> None:
    bench = Bench(rate_query())
    bench.at(0.0)
    assert bench.at(1.0).arrivals_per_s == pytest.approx(ROWS_PER_S)
    bench.queries = [rate_query("run-2")]
    assert bench.at(6.0).arrivals_per_s is None
    assert bench.at(7.0).arrivals_per_s == pytest.approx(ROWS_PER_S)


def test_a_batch_that_does_not_end_leaves_no_arrivals_to_scale_in_by() -> None:
    bench = Bench(rate_query())
    seen = [bench.at(float(second)) for second in range(18)]
    assert seen[1].arrivals_per_s == pytest.approx(ROWS_PER_S)
    assert seen[1].is_fresh
    assert seen[-1].arrivals_per_s is None
    assert not seen[-1].is_fresh


def test_a_source_elsewhere_is_a_notice_once() -> None:
    query = rate_query()
    query.made_of = (SourceInfo("FileStreamSource", "FileStreamSource[s3a://quotes/in]", {}),)
    bench = Bench(query)
    bench.at(0.0)
    assert EventKind.SOURCE_UNREADABLE in bench.events
    assert bench.at(1.0).arrivals_origin == "batch"
    assert bench.events == []


class TopicCounter:
    """As one of Kafka would be: the newest offsets of the partitions, asked of a broker."""

    def __init__(self) -> None:
        self.newest = [0, 0]
        self.finished_at: Offset | None = None
        self.error: Exception | None = None

    def reached(self, _offset: Offset) -> None:
        pass

    def finished(self, offset: Offset, _rows: int) -> None:
        self.finished_at = offset

    def count(self, _wall_s: float) -> SourceCount:
        if self.error is not None:
            raise self.error
        return SourceCount(sum(self.newest), None)


class Asked:
    """The sources of one query, asked once a second."""

    def __init__(self) -> None:
        self.topic = TopicCounter()
        query = FakeQuery()
        query.made_of = (ANY,)
        self.sources = AskedSources(query, 1.0, lambda _: self.topic)
        self.now_s, self.wall_s = 50.0, EPOCH_S

    def after(self, *newest: int, clock_set_s: float = 0.0) -> SourceAnswer:
        self.topic.newest = list(newest)
        self.now_s += 1.0
        self.wall_s += 1.0 + clock_set_s
        return self.sources.ask((), self.now_s, self.wall_s)


def test_partitions_are_added_up() -> None:
    asked = Asked()
    assert asked.after(100, 7_000) == SourceAnswer("source")
    assert asked.after(130, 7_020).arrivals_per_s == pytest.approx(50.0)
    assert asked.after(130, 7_020).arrivals_per_s == 0.0


def test_a_source_made_anew_is_a_new_start() -> None:
    asked = Asked()
    asked.after(1_000_000, 1_000_000)
    assert asked.after(0, 30) == SourceAnswer("source")
    assert asked.after(40, 50).arrivals_per_s == pytest.approx(60.0)


@pytest.mark.parametrize("clock_set_s", [-3_600.0, 3_600.0])
def test_a_wall_clock_that_is_set_is_no_arrivals(clock_set_s: float) -> None:
    asked = Asked()
    asked.after(0, 0)
    assert asked.after(5_000_000, 0, clock_set_s=clock_set_s) == SourceAnswer("source")
    assert asked.after(5_000_010, 0).arrivals_per_s == pytest.approx(10.0)


def test_one_that_does_not_answer_is_waited_for_and_then_its_batches_tell() -> None:
    asked = Asked()
    asked.after(0, 0)
    asked.topic.error = TimeoutError("no broker")
    patience = int(PATIENCE_STEPS)
    origins = [asked.after(0, 0).origin for _ in range(patience + 1)]
    assert origins == ["source"] * patience + ["batch"]
    assert asked.sources.problem == "TimeoutError: no broker"
    asked.topic.error = None
    # Over all the time since it last answered, so nothing is lost and nothing is a burst.
    assert asked.after(500, 0).arrivals_per_s == pytest.approx(500 / (patience + 2))
    assert asked.sources.problem is None
