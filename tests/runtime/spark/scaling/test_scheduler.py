"""What the driver's lists mean, and which applications cannot be scaled."""

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from runtime.spark.driver import Driver
from runtime.spark.scaling.executors import SchedulerUnavailable
from runtime.spark.scaling.scheduler import ScalingRefused, Scheduler, parse_executors, why_refused


def summary(executor_id: str, host_port: str = "10.0.0.1:4711", **values: int) -> dict[str, Any]:
    names = ("activeTasks", "completedTasks", "totalShuffleWrite", "memoryUsed", "diskUsed")
    zeros = dict.fromkeys(names, 0)
    return {"id": executor_id, "hostPort": host_port, "totalCores": 1, **zeros, **values}


def test_an_executor_is_read() -> None:
    (info,) = parse_executors(
        {"3": 1_000_000},
        [
            summary("driver"),
            summary(
                "3",
                activeTasks=2,
                completedTasks=7,
                totalShuffleWrite=10,
                memoryUsed=20,
                diskUsed=30,
            ),
        ],
        1_002_500,
    )
    assert (info.executor_id, info.host, info.cores) == ("3", "10.0.0.1", 1)
    assert (info.running_tasks, info.completed_tasks) == (2, 7)
    assert (info.shuffle_bytes, info.stored_bytes, info.age_s) == (10, 50, 2.5)


def test_only_those_that_the_backend_knows_and_whose_address_is_known() -> None:
    gone, early, alive = summary("1"), summary("2", "CANNOT FIND ADDRESS"), summary("3")
    found = parse_executors({"2": 0, "3": 0, "4": 0}, [gone, early, alive], 0)
    assert [info.executor_id for info in found] == ["3"]


def test_an_ipv6_host_has_no_brackets() -> None:
    (info,) = parse_executors({"1": 0}, [summary("1", "[fd00::2]:4711")], 0)
    assert info.host == "fd00::2"


def driver_with(options: dict[str, str]) -> Driver:
    return cast(Driver, SimpleNamespace(option=lambda key: options.get(key) or None))


CLUSTER = {"spark.master": "spark://host:7077", "spark.executor.cores": "1"}


@pytest.mark.parametrize(
    ("conf", "sentence"),
    [
        ({"spark.dynamicAllocation.enabled": "true"}, "two allocators"),
        ({"spark.dynamicAllocation.enabled": " True"}, "two allocators"),
        ({"spark.master": "local[2]"}, "use a cluster"),
        ({"spark.executor.cores": ""}, "takes a whole worker"),
        ({"spark.kubernetes.allocation.pods.allocator": "statefulset"}, "its own choice"),
        ({"spark.kubernetes.driver.waitToReusePersistentVolumeClaim": "true"}, "set it to false"),
    ],
)
def test_what_cannot_be_scaled_is_refused_in_a_sentence(
    conf: dict[str, str], sentence: str
) -> None:
    driver = driver_with({**CLUSTER, **conf})
    with pytest.raises(ScalingRefused, match=sentence):
        Scheduler(driver)


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[2,1,512]", "yarn"])
def test_clusters_can_be_scaled(master: str) -> None:
    assert why_refused(driver_with({**CLUSTER, "spark.master": master})) is None


class Manager:
    """A cluster manager that takes orders, or does not."""

    def __init__(self, *, takes: bool = True) -> None:
        self.takes = takes
        self.targets: list[int] = []

    def request(self, executors: int, *_: object) -> bool:
        self.targets.append(executors)
        return self.takes


def scheduler_on(manager: Manager, **options: str) -> Scheduler:
    given = {**CLUSTER, **{f"spark.{key.replace('_', '.')}": text for key, text in options.items()}}
    context = SimpleNamespace(schedulerBackend=lambda: None, requestTotalExecutors=manager.request)
    driver: Any = SimpleNamespace(
        option=lambda key: given.get(key) or None, context=context, jvm=MagicMock()
    )
    return Scheduler(driver)


def test_an_order_that_is_not_taken_is_not_forgotten() -> None:
    """YARN answers so until its application master is ready."""
    manager = Manager(takes=False)
    scheduler = scheduler_on(manager, master="yarn")
    with pytest.raises(SchedulerUnavailable, match="did not take 4"):
        scheduler.set_target(4)
    manager.takes = True
    scheduler.set_target(4)
    assert manager.targets == [4, 4]


def test_what_an_application_starts_with_depends_on_the_cluster_manager() -> None:
    alone = scheduler_on(Manager(), cores_max="6", executor_cores="2")
    assert (alone.most_executors, alone.starting_executors) == (3, 3)
    pods = scheduler_on(Manager(), master="k8s://host", cores_max="6", executor_instances="1")
    assert (pods.most_executors, pods.starting_executors) == (None, 1)
    assert scheduler_on(Manager(), master="yarn").starting_executors == 2


def test_tasks_of_several_cores_leave_fewer_slots() -> None:
    assert scheduler_on(Manager(), executor_cores="4", task_cpus="2").executor_slots == 2
    assert scheduler_on(Manager(), executor_cores="4").executor_slots == 4
