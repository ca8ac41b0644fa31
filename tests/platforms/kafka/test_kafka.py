"""The sensor on queries that read a real Kafka broker: what came and what waits, every step."""

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic
from pyspark.sql import DataFrame, SparkSession

from mpc.values import Applied, Configuration, Measurement
from runtime.spark.driver import Driver
from runtime.spark.launching.local_cluster import why_unavailable
from runtime.spark.sensing.queries import active_queries
from runtime.spark.sensing.sensor import SparkSensor
from tests.platforms.kafka.broker import KafkaBroker
from tests.platforms.maven import jars

pytestmark = pytest.mark.kafka

HERE = Path(__file__).parent
CURRENT = Configuration(1, 2_000_000)
PATIENCE_S = 240.0
STEP_S = 0.5
SLOW_S = 6.0
"""A batch of the slow query takes at least so long, in which it tells nothing."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    missing = why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    with KafkaBroker(jars(HERE / "pom.xml"), tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="module")
def spark(broker: KafkaBroker) -> Iterator[SparkSession]:
    found = jars(HERE / "spark-pom.xml").glob("*.jar")
    needed = [str(path) for path in found]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local[2]")
            .appName("kafka")
            .config("spark.jars", ",".join(needed))
            .config("spark.driver.memory", "512m")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        try:
            yield session
        finally:
            with warnings.catch_warnings():
                # The gateway's sockets are left to the garbage collector.
                warnings.simplefilter("ignore", ResourceWarning)
                session.stop()


@pytest.fixture
def topic(broker: KafkaBroker, request: pytest.FixtureRequest) -> str:
    name = f"rows-{abs(hash(request.node.name))}"
    make(broker, name)
    return name


def make(broker: KafkaBroker, topic: str, partitions: int = 2) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)


def produce(broker: KafkaBroker, topic: str, rows: int) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    for number in range(rows):
        producer.produce(topic, str(number).encode())
    assert producer.flush(60) == 0


def frame(spark: SparkSession, broker: KafkaBroker, topic: str, **options: str) -> DataFrame:
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.address)
        .option("startingOffsets", "earliest")
    )
    name = "subscribePattern" if topic.endswith("*") else "subscribe"
    return reader.option(name, topic).options(**options).load()


@contextmanager
def running(rows: DataFrame, name: str, batch_s: float = 0.0) -> Iterator[SparkSensor]:
    """A query, and the sensor on it."""

    def write(batch: DataFrame, _: int) -> None:
        time.sleep(batch_s)
        batch.count()

    query = rows.writeStream.queryName(name).foreachBatch(write).start()
    active = active_queries(Driver.of(rows.sparkSession))
    try:
        yield SparkSensor(lambda: [each for each in active() if each.name == name], STEP_S)
    finally:
        query.stop()


def measure_until(
    sensor: SparkSensor, holds: Callable[[Measurement], bool], what: str
) -> list[Measurement]:
    seen: list[Measurement] = []
    deadline_s = time.monotonic() + PATIENCE_S
    while not seen or not holds(seen[-1]):
        assert time.monotonic() < deadline_s, f"waited in vain for {what}: {seen[-1]}"
        seen.append(sensor.measure(Applied(CURRENT, CURRENT))[0])
        time.sleep(STEP_S)
    return seen


def waits(rows: int, tolerance: float = 0.0) -> Callable[[Measurement], bool]:
    return lambda step: (
        step.arrivals_origin == "source"
        and step.backlog_items is not None
        and abs(step.backlog_items - rows) <= tolerance
    )


def test_what_comes_inside_a_batch_is_known_before_it_ends(
    spark: SparkSession, broker: KafkaBroker, topic: str
) -> None:
    produce(broker, topic, 10)
    with running(frame(spark, broker, topic), "slow", SLOW_S) as sensor:
        measure_until(sensor, waits(0), "the first batch")
        produce(broker, topic, 100)
        measure_until(sensor, lambda step: bool(step.backlog_items), "the batch that takes them")
        produce(broker, topic, 400)
        seen = measure_until(sensor, waits(500), "all of them")
        assert not any(step.batches for step in seen), "no batch has ended meanwhile"
        came = sum((step.arrivals_per_s or 0.0) * STEP_S for step in seen)
        assert came == pytest.approx(400, rel=0.5)  # steps are not exactly as long as wished
        measure_until(sensor, waits(0), "everything done")


def test_a_limit_of_rows_hides_no_backlog(
    spark: SparkSession, broker: KafkaBroker, topic: str
) -> None:
    limited = frame(spark, broker, topic, maxOffsetsPerTrigger="20")
    produce(broker, topic, 20)
    with running(limited, "limited", batch_s=1.0) as sensor:
        measure_until(sensor, waits(0), "the first batch")
        produce(broker, topic, 200)
        measure_until(sensor, lambda step: (step.backlog_items or 0) >= 150, "most of them")
        measure_until(sensor, waits(0), "everything done")


def test_markers_and_aborted_rows_are_not_counted(
    spark: SparkSession, broker: KafkaBroker, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": "writer"})
    producer.init_transactions(30)

    def transaction(rows: int, commit: bool = True) -> None:
        producer.begin_transaction()
        for number in range(rows):
            producer.produce(topic, str(number).encode(), partition=0)
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)

    committed = {"kafka.isolation.level": "read_committed"}
    with running(frame(spark, broker, topic, **committed), "committed", batch_s=1.0) as sensor:
        for _ in range(6):
            transaction(10)
            transaction(10, commit=False)
            measure_until(sensor, waits(0, tolerance=2.0), "a batch")
        # Of 22 offsets ten are rows, as the batches have told by now.
        for _ in range(3):
            transaction(10)
            transaction(10, commit=False)
        seen = measure_until(sensor, lambda step: bool(step.backlog_items), "rows that wait")
        assert max(step.backlog_items or 0.0 for step in seen) <= 45.0


def test_partitions_that_are_added_and_topics_that_are_found_count(
    spark: SparkSession, broker: KafkaBroker, topic: str
) -> None:
    options = {"kafka.metadata.max.age.ms": "1000"}
    produce(broker, topic, 10)
    with running(frame(spark, broker, f"{topic}.*", **options), "growing", 1.0) as sensor:
        measure_until(sensor, waits(0), "the first batch")
        admin = AdminClient({"bootstrap.servers": broker.address})
        admin.create_partitions([NewPartitions(topic, 4)])[topic].result(30)
        make(broker, f"{topic}-more")
        produce(broker, f"{topic}-more", 300)
        produce(broker, topic, 400)
        seen = measure_until(sensor, waits(0), "everything done")
        rates = [step.arrivals_per_s for step in seen if step.arrivals_per_s is not None]
        assert max(rates, default=0.0) <= 2 * 700 / STEP_S
        produce(broker, f"{topic}-more", 100)
        measure_until(sensor, lambda step: bool(step.backlog_items), "rows of the topic found")


def test_a_topic_made_anew_and_a_broker_that_hangs_break_nothing(
    spark: SparkSession, broker: KafkaBroker, topic: str
) -> None:
    produce(broker, topic, 50)
    with running(frame(spark, broker, topic, failOnDataLoss="false"), "brave", 1.0) as sensor:
        measure_until(sensor, waits(0), "the first batch")
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            silent = measure_until(
                sensor, lambda step: step.arrivals_origin == "batch", "the batches to tell"
            )
        finally:
            os.kill(broker.pid, signal.SIGCONT)
        assert all(step.arrivals_per_s in (None, 0.0) for step in silent)
        produce(broker, topic, 60)
        measure_until(sensor, lambda step: bool(step.backlog_items), "the broker again")
        measure_until(sensor, waits(0), "everything done")
        admin = AdminClient({"bootstrap.servers": broker.address})
        admin.delete_topics([topic])[topic].result(30)
        make(broker, topic)
        produce(broker, topic, 30)
        # Spark reads on where it was; the brokers' offsets have begun anew.
        seen = measure_until(sensor, lambda step: step.arrivals_origin == "source", "an answer")
        produce(broker, topic, 300)
        seen += measure_until(sensor, lambda step: bool(step.arrivals_per_s), "rows that came")
        assert all((step.arrivals_per_s or 0.0) >= 0.0 for step in seen)
