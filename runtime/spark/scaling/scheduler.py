"""The executors of a live Spark application, through its driver's JVM.

The only file that touches py4j for scaling. It gives orders and reads lists; what to order is
decided in `runtime.spark.scaling.scaler`. Tried on standalone clusters; YARN and Kubernetes have
the same scheduler backend but are untested.
"""

import json
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JError

from runtime.spark.driver import Driver
from runtime.spark.scaling.executors import ExecutorInfo, SchedulerUnavailable

_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


class ScalingRefused(Exception):
    """This application cannot be scaled; the message says what to change."""


def why_refused(driver: Driver) -> str | None:
    """Why the executors of this application cannot be scaled; None if they can."""
    if (driver.option("spark.dynamicAllocation.enabled") or "false").strip().lower() == "true":
        return (
            "spark.dynamicAllocation.enabled is true, and two allocators would undo each other: "
            "set it to false"
        )
    master = driver.option("spark.master") or ""
    if master.startswith("local") and not master.startswith("local-cluster"):
        return (
            f"the master is {master}, where the driver is the only executor: "
            "use a cluster, such as spark://host:7077"
        )
    standalone = master.startswith(("spark://", "local-cluster"))
    if standalone and not driver.option("spark.executor.cores"):
        return (
            "spark.executor.cores is not set, so that one executor takes a whole worker: "
            "set it, such as to 1"
        )
    return None


class Scheduler:
    """Implements `SchedulerPort` on a live driver."""

    def __init__(self, driver: Driver) -> None:
        reason = why_refused(driver)
        if reason is not None:
            raise ScalingRefused(reason)
        self._driver = driver
        self._jvm = driver.jvm
        self._context = driver.context
        self._backend = self._context.schedulerBackend()
        jackson = self._jvm.com.fasterxml.jackson
        self._json = jackson.databind.ObjectMapper()
        self._json.registerModule(jackson.module.scala.DefaultScalaModule())

    @property
    def most_executors(self) -> int | None:
        """What `spark.cores.max` allows; None without a cap.

        It is the number the application starts with as well: see `start_with`.
        """
        cores = self._driver.option("spark.cores.max")
        return None if cores is None else int(cores) // self.executor_cores

    @property
    def executor_cores(self) -> int:
        return int(self._driver.option("spark.executor.cores") or 1)

    @property
    def usable_tasks(self) -> int:
        """Tasks of a stage after a shuffle: cores beyond them stay idle. As set now."""
        return int(self._driver.sql_option(_SHUFFLE_PARTITIONS) or 0)

    def start_with(self, executors: int) -> None:
        """Keep only the first executors of an application that has just begun.

        Without dynamic allocation a standalone Master starts all of `spark.cores.max` at once, and
        later requests never exceed it. Those that are not wanted yet are killed while they start,
        which `kill` cannot: it knows registered executors alone.
        """
        self.set_target(executors)
        most = self.most_executors
        if most is not None:
            surplus = [str(number) for number in range(executors, most)]
            self._order(lambda: self._backend.doKillExecutors(self._sequence(surplus)))

    def executors(self) -> tuple[ExecutorInfo, ...]:
        try:
            # One text for all: a call for each field would take a millisecond per executor.
            registered = json.loads(
                self._json.writeValueAsString(self._backend.getExecutorsWithRegistrationTs())
            )
            summaries = json.loads(
                self._json.writeValueAsString(self._context.statusStore().executorList(True))
            )
            now_ms = self._jvm.System.currentTimeMillis()
        except (Py4JError, OSError) as error:
            raise SchedulerUnavailable(f"no list of executors: {_reason(error)}") from error
        return parse_executors(registered, summaries, now_ms)

    def set_target(self, executors: int) -> None:
        none = self._jvm.PythonUtils.toScalaMap(self._jvm.java.util.HashMap())
        self._order(lambda: self._context.requestTotalExecutors(executors, 0, none))

    def decommission(self, executor_ids: Sequence[str]) -> None:
        info = self._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
            "not needed any more", self._jvm.scala.Option.empty()
        )
        pairs = self._driver.gateway.new_array(self._jvm.scala.Tuple2, len(executor_ids))
        for index, executor_id in enumerate(executor_ids):
            pairs[index] = self._jvm.scala.Tuple2(executor_id, info)
        # The target was set before: adjusting it here would subtract twice.
        self._order(lambda: self._backend.decommissionExecutors(pairs, False, False))

    def kill(self, executor_ids: Sequence[str]) -> None:
        ids = self._sequence(executor_ids)
        # The target stays, it is no failure, and busy executors go too.
        self._order(lambda: self._backend.killExecutors(ids, False, False, True))

    def _sequence(self, items: Sequence[str]) -> Any:
        return self._jvm.PythonUtils.toSeq(list(items))

    def _order(self, call: Any) -> None:
        try:
            call()
        except (Py4JError, OSError) as error:
            raise SchedulerUnavailable(_reason(error)) from error


def parse_executors(
    registered_ms: dict[str, int], summaries: list[dict[str, Any]], now_ms: int
) -> tuple[ExecutorInfo, ...]:
    """From the backend's registration times and the summaries of the status store, which lags a
    little: it may still list an executor that is gone, or have one without its address yet."""
    return tuple(
        ExecutorInfo(
            executor_id=summary["id"],
            host=summary["hostPort"].rpartition(":")[0].strip("[]"),
            cores=summary["totalCores"],
            running_tasks=summary["activeTasks"],
            completed_tasks=summary["completedTasks"],
            shuffle_bytes=summary["totalShuffleWrite"],
            stored_bytes=summary["memoryUsed"] + summary["diskUsed"],
            age_s=max(0.0, (now_ms - registered_ms[summary["id"]]) / 1000),
        )
        for summary in summaries
        if summary["id"] in registered_ms and ":" in summary["hostPort"]
    )


def _reason(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
