"""A cluster manager that behaves as a standalone Master does, on a manual clock.

It fills up to its target within its slots, counts executors that drain, and removes none by
itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runtime.spark.scaling.executors import ExecutorInfo, SchedulerUnavailable


@dataclass(slots=True)
class FakeExecutor:
    executor_id: str
    host: str
    ready_s: float
    running_tasks: int = 0
    completed_tasks: int = 0
    shuffle_bytes: int = 0
    stored_bytes: int = 0
    state_stores: int = 0
    drained_s: float | None = None
    """When it will end; None while nobody asked for that."""


@dataclass(slots=True)
class FakeScheduler:
    start_s: float = 3.0
    drain_s: float = 1.0
    slots: int = 16
    now_s: float = 1000.0
    target: int = 2**31 - 1
    is_reachable: bool = True
    cluster: dict[str, FakeExecutor] = field(default_factory=dict)
    orders: list[tuple[str, object]] = field(default_factory=list)
    most_executors: int | None = None
    executor_slots: int = 1
    _next_id: int = 0

    def clock_s(self) -> float:
        return self.now_s

    def launch(self, count: int) -> None:
        """Executors that have been there for long; the target becomes their number."""
        self.target = count
        self._fill()
        for executor in self.cluster.values():
            executor.ready_s = self.now_s - 100.0
            executor.completed_tasks = 1

    def advance(self, seconds: float) -> None:
        self.now_s += seconds
        for executor in list(self.cluster.values()):
            if executor.drained_s is not None and executor.drained_s <= self.now_s:
                del self.cluster[executor.executor_id]
        self._fill()

    def crash(self, executor_id: str) -> None:
        del self.cluster[executor_id]
        self._fill()

    def ids(self) -> list[str]:
        """Registered ones."""
        return [info.executor_id for info in self._registered()]

    def draining(self) -> set[str]:
        return {each.executor_id for each in self.cluster.values() if each.drained_s is not None}

    def executors(self) -> tuple[ExecutorInfo, ...]:
        self._reach()
        return self._registered()

    def set_target(self, executors: int) -> None:
        self._reach()
        self.orders.append(("target", executors))
        self.target = executors
        self._fill()

    def state_stores(self) -> Mapping[str, int]:
        self._reach()
        return {each.executor_id: each.state_stores for each in self.cluster.values()}

    def decommission(self, executor_ids: Sequence[str]) -> None:
        self._reach()
        self.orders.append(("decommission", tuple(executor_ids)))
        for executor_id in executor_ids:
            if executor_id in self.cluster:
                self.cluster[executor_id].drained_s = self.now_s + self.drain_s

    def kill(self, executor_ids: Sequence[str]) -> None:
        self._reach()
        self.orders.append(("kill", tuple(executor_ids)))
        for executor_id in executor_ids:
            self.cluster.pop(executor_id, None)
        self._fill()

    def _reach(self) -> None:
        if not self.is_reachable:
            raise SchedulerUnavailable("the driver does not answer")

    def _registered(self) -> tuple[ExecutorInfo, ...]:
        return tuple(
            ExecutorInfo(
                executor_id=each.executor_id,
                host=each.host,
                cores=1,
                running_tasks=each.running_tasks,
                completed_tasks=each.completed_tasks,
                shuffle_bytes=each.shuffle_bytes,
                stored_bytes=each.stored_bytes,
                age_s=self.now_s - each.ready_s,
            )
            for each in self.cluster.values()
            if each.ready_s <= self.now_s
        )

    def _fill(self) -> None:
        while len(self.cluster) < min(self.target, self.slots):
            name = str(self._next_id)
            host = f"127.0.0.{2 + self._next_id % 2}"
            self.cluster[name] = FakeExecutor(name, host, self.now_s + self.start_s)
            self._next_id += 1
