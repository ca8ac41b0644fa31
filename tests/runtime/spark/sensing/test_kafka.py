"""What brokers answer, and what is made of it."""

import pytest

from runtime.spark.sensing.kafka_offsets import parse_answer
from runtime.spark.sensing.offsets import Offset
from runtime.spark.sensing.sources.contract import SourceInfo
from runtime.spark.sensing.sources.kafka import KafkaCounter


class Brokers:
    """Answer at once, unless they hang."""

    def __init__(self) -> None:
        self.ends: dict[tuple[str, ...], int] = {("a", "0"): 100}
        self.hanging = False
        self.asked: list[frozenset[tuple[str, ...]]] = []
        self._under_way: Offset | None = None

    def request(self, partitions: frozenset[tuple[str, ...]]) -> None:
        if self._under_way is None:
            self.asked.append(partitions)
            self._under_way = {path: self.ends[path] for path in partitions}

    def answer(self) -> Offset | None:
        if self.hanging or self._under_way is None:
            return None
        found, self._under_way = self._under_way, None
        return found


def counter_on(brokers: Brokers) -> KafkaCounter:
    return KafkaCounter(SourceInfo("KafkaTable", "KafkaV2[Subscribe[a]]", {}, newest=brokers))


def arrived(counter: KafkaCounter) -> float:
    found = counter.count(0.0)
    assert found is not None
    return found.arrived_rows


def test_before_a_batch_is_known_nobody_knows_which_partitions() -> None:
    brokers = Brokers()
    counter = counter_on(brokers)
    assert counter.count(0.0) is None
    counter.reached({("a", "0"): 90})
    assert arrived(counter) == 0.0
    brokers.ends["a", "0"] = 130
    assert arrived(counter) == 30.0
    found = counter.count(0.0)
    assert found is not None
    assert found.unfinished_rows is None


def test_a_broker_that_hangs_is_no_answer_and_nothing_is_lost() -> None:
    brokers = Brokers()
    counter = counter_on(brokers)
    counter.finished({("a", "0"): 100}, 10)
    arrived(counter)
    brokers.hanging = True
    brokers.ends["a", "0"] = 150
    assert [counter.count(0.0) for _ in range(3)] == [None] * 3
    assert len(brokers.asked) == 2
    brokers.hanging = False
    counter.count(0.0)
    assert arrived(counter) == 50.0


def test_a_partition_that_is_found_is_a_backlog_and_no_burst() -> None:
    brokers = Brokers()
    counter = counter_on(brokers)
    counter.finished({("a", "0"): 100}, 10)
    arrived(counter)
    brokers.ends["b", "0"] = 1_000_000
    counter.finished({("a", "0"): 100, ("b", "0"): 20}, 20)
    assert arrived(counter) == 0.0
    brokers.ends["b", "0"] += 7
    found = counter.count(0.0)
    assert found is not None
    assert found.arrived_rows == 7.0
    assert found.unfinished_rows == 1_000_000 + 7 - 20


def test_a_topic_made_anew_goes_on_from_where_it_is() -> None:
    brokers = Brokers()
    counter = counter_on(brokers)
    counter.finished({("a", "0"): 100}, 10)
    arrived(counter)
    brokers.ends["a", "0"] = 5
    assert arrived(counter) == 0.0
    brokers.ends["a", "0"] = 8
    assert arrived(counter) == 3.0


def test_how_many_rows_an_offset_is_follows_the_batches() -> None:
    brokers = Brokers()
    counter = counter_on(brokers)
    for end in range(200, 2_000, 100):
        counter.finished({("a", "0"): end}, 50)
    brokers.ends["a", "0"] = 1_900
    arrived(counter)
    brokers.ends["a", "0"] = 2_000
    assert arrived(counter) == pytest.approx(50.0)


def test_without_brokers_it_is_not_counted() -> None:
    with pytest.raises(ValueError, match="no way to ask the brokers"):
        KafkaCounter(SourceInfo("KafkaTable", "KafkaV2", {}))


def test_the_answer_is_read_from_the_text_of_its_map() -> None:
    text = (
        "{rows-of.a_b-0=ListOffsetsResultInfo(offset=12, timestamp=-1, leaderEpoch=Optional[0]), "
        "rows-of.a_b-11=ListOffsetsResultInfo(offset=0, timestamp=-1, leaderEpoch=Optional.empty)}"
    )
    assert parse_answer(text) == {("rows-of.a_b", "0"): 12, ("rows-of.a_b", "11"): 0}
    assert parse_answer("{}") == {}
