"""Where the state of streaming queries lies: how many state stores each executor holds.

A batch whose state lies on an executor that has gone loads it from the checkpoint first, which may
take longer than the batch. Spark's driver knows where every store was last used; asked by number of
operator and partition, one call after the other, so only when executors are about to be given up.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from runtime.spark.driver import Driver

_MOST_ASKED = 64
"""Partitions of an operator: in larger states they are a sample, evenly spread."""
_STORES = ("default", "left-keyToNumValues")
"""Names of one store for every partition: of joins of two streams, and of everything else."""
_CACHED = "executor_"


class _StateOperator(msgspec.Struct, rename="camel"):
    num_shuffle_partitions: int = 0


class _Progress(msgspec.Struct, rename="camel"):
    state_operators: tuple[_StateOperator, ...] = ()


def state_stores(driver: Driver) -> Counter[str]:
    """Stores by the id of the executor; none for queries without state."""
    held: Counter[str] = Counter()
    for query in driver.active_queries():
        progress = query.lastProgress()
        if progress is None:
            continue
        operators = msgspec.json.decode(str(progress.json()), type=_Progress).state_operators
        for operator, each in enumerate(operators):
            held.update(_executors(driver, query, operator, each.num_shuffle_partitions))
    return held


def _executors(driver: Driver, query: Any, operator: int, partitions: int) -> Iterator[str]:
    state = driver.jvm.org.apache.spark.sql.execution.streaming.state
    coordinator = driver.session.streams().stateStoreCoordinator()
    root = f"{driver.execution_of(query).resolvedCheckpointRoot()}/state"
    run_id = query.runId()
    for partition in range(0, partitions, max(-(-partitions // _MOST_ASKED), 1)):
        for name in _STORES:
            store = state.StateStoreId(root, operator, partition, name)
            found = coordinator.getLocation(state.StateStoreProviderId(store, run_id))
            if found.isDefined():
                yield executor_of(str(found.get()))
                break


def executor_of(location: str) -> str:
    """Of a location that names a host and an executor: `executor_host_7`."""
    return location.removeprefix(_CACHED).rpartition("_")[2]
