"""A sensor on a manual clock, with queries and hosts that a test drives."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mpc.events import Events
from mpc.values import Applied, Configuration, Measurement
from runtime.fleet.state import ExecutorUse, FleetState, HostState
from runtime.spark.sensing.sensor import SparkSensor
from tests.runtime.spark.fake_query import FakeQuery, document
from tests.support.clock import ManualClock

EPOCH_S = 1_700_000_000.0
APPLICATION = "app-1"
TARGET_S = 1.0


class Bench:
    """Times are seconds after `EPOCH_S`, when the sensor began."""

    def __init__(self, *queries: FakeQuery, step_s: float = 1.0) -> None:
        self.queries = list(queries)
        self.clock = ManualClock(wall_s=EPOCH_S)
        self.current = Configuration(2, 1_000_000)
        self.fleet = FleetState(())
        self.session_error: Exception | None = None
        self.hosts_error: Exception | None = None
        self.seen: Events = ()
        self.sensor = SparkSensor(
            self._active,
            step_s,
            hosts=self._hosts,
            application=APPLICATION,
            clock=self.clock,
            target_s=TARGET_S,
        )

    def at(self, time_s: float) -> Measurement:
        """Measures at that time."""
        self.clock.advance(EPOCH_S + time_s - self.clock.wall_s())
        measured, self.seen = self.sensor.measure(Applied(self.current, self.current))
        return measured

    @property
    def events(self) -> list[str]:
        return [event.kind.value for event in self.seen]

    def _active(self) -> list[FakeQuery]:
        if self.session_error is not None:
            raise self.session_error
        return self.queries

    def _hosts(self) -> FleetState:
        if self.hosts_error is not None:
            raise self.hosts_error
        return self.fleet


def begun(query: FakeQuery, step_s: float = 1.0) -> Bench:
    """A sensor that knows of one batch, which ended before the sensor began."""
    query.report(batch(0, -1.0, 0.5, 10, run_id=query.run_id))
    bench = Bench(query, step_s=step_s)
    assert bench.at(0.0).batches == ()
    return bench


def batch(
    batch_id: int, started_s: float, duration_s: float, rows: int, **more: Any
) -> dict[str, Any]:
    """As `document`, with the time of the bench."""
    return document(batch_id, EPOCH_S + started_s, duration_s, rows, **more)


def hosts(
    cpu_s: Mapping[str, float],
    others_s: Mapping[str, float] | None = None,
    power_w: float | None = None,
) -> FleetState:
    """One host that runs the application's executors, and those of another application."""
    applications = {APPLICATION: cpu_s, "app-2": others_s or {}}
    executors = tuple(
        ExecutorUse(application, executor, cores=1, cpu_s=used_s)
        for application, uses in applications.items()
        for executor, used_s in uses.items()
    )
    host = HostState("host", True, power_w=power_w, source="emulated", executors=executors)
    return FleetState((host,), frozenset({"host"}))


def started_s(recorded: dict[str, Any]) -> float:
    """When a recorded trigger began, in the time of the bench."""
    return datetime.fromisoformat(recorded["timestamp"]).timestamp() - EPOCH_S


def ended_s(recorded: dict[str, Any]) -> float:
    return started_s(recorded) + float(recorded["durationMs"]["triggerExecution"]) / 1e3
