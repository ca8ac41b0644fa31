"""The executors of a live Spark application, through its driver's JVM.

The only file that touches py4j for scaling. It gives orders and reads lists; what to order is
decided in `runtime.spark.scaling.scaler`. Tried on standalone clusters and on Spark's Kubernetes
scheduler (`make test-platforms`); YARN has the same calls but is untested.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from py4j.protocol import Py4JError

from runtime.spark.driver import Driver
from runtime.spark.scaling.executors import ExecutorInfo, SchedulerUnavailable
from runtime.spark.scaling.state_stores import state_stores

_log = logging.getLogger("foresight")
_POD_ALLOCATOR = "spark.kubernetes.allocation.pods.allocator"
_WAITS_FOR_VOLUMES = "spark.kubernetes.driver.waitToReusePersistentVolumeClaim"
_DEFAULT_INSTANCES = 2
"""Of YARN and Kubernetes."""


class ScalingRefused(Exception):
    """This application cannot be scaled; the message says what to change."""


def is_standalone(master: str | None) -> bool:
    """Whether the cluster manager is Spark's own; one that nobody has named may be."""
    return not master or master.startswith(("spark://", "local"))


def why_refused(driver: Driver) -> str | None:
    """Why the executors of this application cannot be scaled; None if they can."""
    if _is_true(driver, "spark.dynamicAllocation.enabled"):
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
    if is_standalone(master) and not driver.option("spark.executor.cores"):
        return (
            "spark.executor.cores is not set, so that one executor takes a whole worker: "
            "set it, such as to 1"
        )
    if (driver.option(_POD_ALLOCATOR) or "direct") != "direct":
        return (
            f"{_POD_ALLOCATOR} is {driver.option(_POD_ALLOCATOR)}, which deletes pods of its own "
            "choice when the target falls: set it to direct"
        )
    if _is_true(driver, _WAITS_FOR_VOLUMES):
        return (
            f"{_WAITS_FOR_VOLUMES} is true, with which Spark never starts more executors than it "
            "began with: set it to false"
        )
    return None


def _is_true(driver: Driver, key: str) -> bool:
    return (driver.option(key) or "false").strip().lower() == "true"


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
        """What `spark.cores.max` allows, which a standalone Master alone goes by; None without a
        cap. There it is the number the application starts with as well: see `start_with`.
        """
        cores = self._driver.option("spark.cores.max")
        if cores is None or not is_standalone(self._driver.option("spark.master")):
            return None
        return int(cores) // self.executor_cores

    @property
    def starting_executors(self) -> int:
        """How many Spark itself asks for when an application begins; 0 where nobody can say."""
        if is_standalone(self._driver.option("spark.master")):
            return self.most_executors or 0
        return int(self._driver.option("spark.executor.instances") or _DEFAULT_INSTANCES)

    @property
    def executor_cores(self) -> int:
        return int(self._driver.option("spark.executor.cores") or 1)

    @property
    def executor_slots(self) -> int:
        """Tasks that an executor runs side by side."""
        return max(self.executor_cores // int(self._driver.option("spark.task.cpus") or 1), 1)

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
        taken = self._order(lambda: self._context.requestTotalExecutors(executors, 0, none))
        if not taken:
            # YARN says so while its application master is not ready, and forgets the order.
            raise SchedulerUnavailable(f"the cluster manager did not take {executors} executors")

    def state_stores(self) -> Mapping[str, int]:
        try:
            return state_stores(self._driver)
        except (Py4JError, OSError, msgspec.DecodeError) as error:
            # Other versions of Spark may have no such methods: then nothing is known of states.
            _log.warning("where state lies is not known: %s", _reason(error))
            return {}

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

    def _order(self, call: Any) -> Any:
        try:
            return call()
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
