"""What `attach` makes of a session before anything is started, and how it translates."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mpc.events import EventKind
from mpc.values import Applied, Configuration
from runtime.agent.wire.client import AgentClient
from runtime.config import load_config
from runtime.control.assembly import open_journal
from runtime.control.ports import Executors
from runtime.fleet.fleet import Fleet
from runtime.spark.attach import UsefulExecutors, attach
from runtime.spark.live import LiveExecutors, LiveFleet, LiveSensor, agent_connections
from runtime.spark.scaling.executors import ExecutorInfo
from runtime.spark.scaling.scaler import ExecutorScaler
from runtime.spark.scaling.scheduler import ScalingRefused
from runtime.spark.sensing.sensor import SparkSensor

PLACE = Configuration(1, 2_000_000)


class FakeScheduler:
    """Executors that appear and leave at once."""

    def __init__(self, count: int) -> None:
        self.ids = [str(number) for number in range(count)]
        self.orders: list[str] = []

    def executors(self) -> tuple[ExecutorInfo, ...]:
        return tuple(ExecutorInfo(name, f"w{name}", 1, 0, 1, 0, 0, age_s=10.0) for name in self.ids)

    def set_target(self, executors: int) -> None:
        self.orders.append(f"target {executors}")
        missing = range(len(self.ids), executors)
        self.ids += [str(number) for number in missing]

    def decommission(self, executor_ids: Sequence[str]) -> None:
        self.orders.append(f"decommission {','.join(executor_ids)}")
        self.ids = [name for name in self.ids if name not in executor_ids]

    def kill(self, executor_ids: Sequence[str]) -> None:
        self.orders.append(f"kill {','.join(executor_ids)}")


def live(scheduler: FakeScheduler, starting: int = 0) -> LiveExecutors:
    return LiveExecutors(ExecutorScaler(scheduler, lambda: 0.0, max_executors=4), starting)


def test_a_connect_session_is_refused_with_a_sentence(tmp_path: Path) -> None:
    session: Any = SimpleNamespace()
    with pytest.raises(ScalingRefused, match="Spark Connect client"):
        attach(session)


def test_dynamic_allocation_is_refused_with_a_sentence() -> None:
    conf = {"spark.dynamicAllocation.enabled": "true"}
    context = SimpleNamespace(getConf=lambda: conf, master="spark://m:7077")
    session: Any = SimpleNamespace(_jsparkSession=object(), sparkContext=context)
    with pytest.raises(ScalingRefused, match="two allocators would undo each other"):
        attach(session)


def test_looking_gives_no_order() -> None:
    scheduler = FakeScheduler(2)
    executors = live(scheduler)
    assert executors.look() == Executors(2, 2, frozenset({"w0", "w1"}))
    assert executors.reconcile().requested == 2
    assert scheduler.orders == []


def test_before_the_first_executor_has_come_what_spark_asked_for_counts_as_requested() -> None:
    scheduler = FakeScheduler(0)
    executors = live(scheduler, starting=3)
    assert executors.look() == Executors(3, 0, frozenset())
    executors.request(2)
    assert executors.reconcile().requested == 2
    assert live(FakeScheduler(1), starting=3).look().requested == 1


def test_requests_become_orders_and_events() -> None:
    scheduler = FakeScheduler(1)
    executors = live(scheduler)
    executors.look()
    executors.request(3)
    executors.reconcile()
    assert executors.reconcile().observed == 3
    executors.request(2)
    executors.reconcile()
    assert executors.reconcile().observed == 2
    kinds = [event.kind for event in executors.news()]
    assert kinds.count(EventKind.EXECUTOR_STARTED) == 2
    assert kinds.count(EventKind.EXECUTOR_DRAINING) == 1
    assert kinds.count(EventKind.EXECUTOR_DRAINED) == 1
    assert executors.news() == ()
    assert len(executors.start_up_samples.registered_s) == 2
    assert executors.start_up_s > 0


def test_a_lost_executor_is_news() -> None:
    scheduler = FakeScheduler(2)
    executors = live(scheduler)
    executors.look()
    scheduler.ids = ["0"]
    executors.look()
    (event,) = executors.news()
    assert event.kind == EventKind.EXECUTOR_LOST
    assert event.detail.startswith("1 on w1: ")


def test_the_sensor_of_an_application_without_queries_knows_nothing() -> None:
    sensor = LiveSensor(SparkSensor(lambda: (), lambda: Applied(PLACE, PLACE), 1.0))
    assert sensor.measure().requested == PLACE
    assert sensor.queries == ()
    assert sensor.news() == ()


def test_a_session_that_cannot_be_read_is_news_and_no_error() -> None:
    def gone() -> Sequence[Any]:
        raise ConnectionError("the gateway is gone")

    sensor = LiveSensor(SparkSensor(gone, lambda: Applied(PLACE, PLACE), 1.0))
    assert sensor.measure().arrivals_per_s is None
    assert [event.kind for event in sensor.news()] == [EventKind.SESSION_UNREADABLE]


def test_an_empty_fleet_is_silent() -> None:
    fleet = LiveFleet(Fleet({}))
    fleet.request(1_000_000, {"w1"})
    assert fleet.frequency_khz is None
    assert fleet.news() == ()
    fleet.close()


def test_agents_are_reached_as_their_urls_say() -> None:
    config = load_config(
        None,
        ['agents.urls=["http://w1:9", "w2=http://127.0.0.1:8", "w3=unix:/run/a=b.sock"]'],
    )
    clients = {host: connect() for host, connect in agent_connections(config.agents).items()}
    assert {
        host: client.where for host, client in clients.items() if isinstance(client, AgentClient)
    } == {"w1": "w1:9", "w2": "127.0.0.1:8", "w3": "/run/a=b.sock"}


def test_useful_executors_follow_the_widest_stage_and_the_shuffle() -> None:
    stages: dict[int, int] = {}
    tracker = SimpleNamespace(
        getActiveStageIds=lambda: list(stages),
        getStageInfo=lambda number: SimpleNamespace(numTasks=stages[number]),
    )
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))
    scheduler: Any = SimpleNamespace(usable_tasks=4, executor_cores=2)
    useful = UsefulExecutors(spark, scheduler)
    assert useful() is None
    stages[1] = 1
    assert useful() == 2
    stages[2] = 9
    assert useful() == 5
    stages.clear()
    assert useful() == 5


@pytest.mark.parametrize(
    ("application", "folder"),
    [("quotes", "quotes"), ("my app/1", "my_app_1"), ("..", "application"), ("", "application")],
)
def test_each_application_has_its_own_journal(
    tmp_path: Path, application: str, folder: str
) -> None:
    config = load_config(None, [f'journal.folder="{tmp_path}"'])
    with open_journal(config, application) as journal:
        assert journal.path == tmp_path / folder / "journal.jsonl"
