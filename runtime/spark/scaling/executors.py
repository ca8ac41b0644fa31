"""What the scaling of executors needs from a cluster manager: one port and its values.

Pure. `runtime.spark.scaling.scheduler` implements the port on a live Spark driver.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ExecutorInfo:
    """One registered executor, the driver excluded."""

    executor_id: str
    host: str
    cores: int
    running_tasks: int
    completed_tasks: int
    shuffle_bytes: int
    """Written by it since its start; what of that is still needed is not known."""
    stored_bytes: int
    """Cached and replicated blocks it holds, in memory and on disk."""
    age_s: float
    """Since its registration, on the clock of the driver's JVM."""


class SchedulerPort(Protocol):
    """Target, decommission and kill are orders: they return before they have an effect, and a
    cluster manager that is out of reach raises `SchedulerUnavailable`."""

    def executors(self) -> tuple[ExecutorInfo, ...]:
        """Those that are registered now, in any order."""
        ...

    def set_target(self, executors: int) -> None:
        """How many the cluster manager keeps filled; it removes none by itself."""
        ...

    def state_stores(self) -> Mapping[str, int]:
        """How many state stores an executor holds, by its id; it may be missing. Slow: asked before
        executors are given up, and empty where it cannot be told."""
        ...

    def decommission(self, executor_ids: Sequence[str]) -> None:
        """No new tasks; they end when the running ones are done. The target stays."""
        ...

    def kill(self, executor_ids: Sequence[str]) -> None:
        """At once; their tasks run again elsewhere. The target stays."""
        ...


class SchedulerUnavailable(Exception):
    """The scheduler did not take an order or did not answer."""
