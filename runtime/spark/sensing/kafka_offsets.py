"""The newest offsets of Kafka's brokers, asked from the driver's JVM.

There are Kafka's own client, in the version of the application, and its credentials: the reader's
options. A request does not wait for its answer, so a broker that hangs delays no step. One client
serves all queries with the same options, as long as the application lives.
"""

import re
from typing import Any

from runtime.spark.driver import Driver
from runtime.spark.sensing.offsets import Offset

_PREFIX = "kafka."
_ISOLATION = "kafka.isolation.level"
_TIMEOUT_MS = "10000"
_ANSWER = re.compile(r"([^\s,{]+)-(\d+)=ListOffsetsResultInfo\(offset=(-?\d+)")


class KafkaOffsets:
    """Implements `NewestOffsets`."""

    def __init__(self, driver: Driver, options: dict[str, str]) -> None:
        self._kafka = driver.jvm.org.apache.kafka
        self._java = driver.jvm.java.util
        self._admin = self._client(driver, options)
        admin = self._kafka.clients.admin
        self._options = admin.ListOffsetsOptions()
        if options.get(_ISOLATION) == "read_committed":
            committed = self._kafka.common.IsolationLevel.READ_COMMITTED
            self._options = admin.ListOffsetsOptions(committed)
        self._partitions: frozenset[tuple[str, ...]] = frozenset()
        self._asked_for: Any = None
        self._under_way: Any = None

    def request(self, partitions: frozenset[tuple[str, ...]]) -> None:
        if self._under_way is not None:
            return
        if partitions != self._partitions:
            self._asked_for = self._java.HashMap()
            latest = self._kafka.clients.admin.OffsetSpec.latest()
            for topic, partition in partitions:
                place = self._kafka.common.TopicPartition(topic, int(partition))
                self._asked_for.put(place, latest)
            self._partitions = partitions
        self._under_way = self._admin.listOffsets(self._asked_for, self._options).all()

    def answer(self) -> Offset | None:
        if self._under_way is None or not self._under_way.isDone():
            return None
        done, self._under_way = self._under_way, None
        # Raises what the brokers answered: a topic that is gone, or nobody to be reached.
        return parse_answer(str(done.get().toString()))

    def _client(self, driver: Driver, options: dict[str, str]) -> Any:
        given = {
            key.removeprefix(_PREFIX): value
            for key, value in options.items()
            if key.startswith(_PREFIX) and key != _ISOLATION
        }
        key = repr(sorted(given.items()))
        if key not in driver.clients:
            properties = self._java.Properties()
            for name, value in {
                "request.timeout.ms": _TIMEOUT_MS,
                "default.api.timeout.ms": _TIMEOUT_MS,
                **given,
            }.items():
                properties.setProperty(name, value)
            driver.clients[key] = self._kafka.clients.admin.Admin.create(properties)
        return driver.clients[key]


def parse_answer(text: str) -> Offset:
    """The text of a whole map: one call, where its entries would be four each."""
    return {(topic, number): int(offset) for topic, number, offset in _ANSWER.findall(text)}
