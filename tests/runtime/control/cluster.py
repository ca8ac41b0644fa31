"""A small cluster in memory behind the ports of the control loop, in a time of its own.

Executors come at once, batches follow the micro-batch formula, and everything that is asked
for is written down.
"""

import threading
from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from math import sin
from pathlib import Path
from typing import Any

from mpc.events import Event
from mpc.values import Applied, BatchSample, Measurement
from runtime.config import load_config
from runtime.control.assembly import ClusterPorts, PolicyFactory, controller
from runtime.control.journal import Journal, StartUpSamples, StepRecord
from runtime.control.loop import Controller
from runtime.control.ports import Executors

OVERHEAD_S = 0.2
ROW_CYCLES = 1e6
SHORT = ("executors.max=6", "frequency.list_khz=[1000000, 2000000]", "limits.dead_time_s=1")


class ManualTime(threading.Event):
    """The event that stops a loop; to wait for it is to let time pass."""

    def __init__(self, now_s: float = 1000.0) -> None:
        super().__init__()
        self.now_s = now_s

    def wait(self, timeout: float | None = None) -> bool:
        self.now_s += timeout or 0.0
        return self.is_set()


@dataclass(slots=True)
class FakeExecutors:
    observed: int = 2
    requests: list[int] = field(default_factory=list)
    reconciled: int = 0
    events: list[Event] = field(default_factory=list)
    start_up_s: float = 1.0
    failure: Exception | None = None

    @property
    def start_up_samples(self) -> StartUpSamples:
        return StartUpSamples((self.start_up_s,), (0.5,))

    def request(self, executors: int) -> None:
        self.requests.append(executors)

    def reconcile(self) -> Executors:
        if self.failure is not None:
            raise self.failure
        self.reconciled += 1
        self.observed = self.requests[-1]
        return self.look()

    def look(self) -> Executors:
        requested = self.requests[-1] if self.requests else self.observed
        return Executors(requested, self.observed, frozenset({"w1"}))

    def news(self) -> tuple[Event, ...]:
        news, self.events = tuple(self.events), []
        return news


@dataclass(slots=True)
class FakeFleet:
    requests: list[tuple[int, frozenset[str]]] = field(default_factory=list)
    closed: int = 0

    @property
    def frequency_khz(self) -> int | None:
        return self.requests[-1][0] if self.requests else None

    def request(self, frequency_khz: int, busy_hosts: Set[str]) -> None:
        self.requests.append((frequency_khz, frozenset(busy_hosts)))

    def news(self) -> tuple[Event, ...]:
        return ()

    def close(self) -> None:
        self.closed += 1


@dataclass(slots=True)
class FakeSensor:
    """A wave of arrivals on whatever runs."""

    current: Callable[[], Applied]
    first_step: int = 0
    steps: int = 0
    failing: frozenset[int] = frozenset()
    stale: frozenset[int] = frozenset()

    @property
    def queries(self) -> tuple[dict[str, object], ...]:
        return ({"query": "q", "activity": "fresh"},)

    def news(self) -> tuple[Event, ...]:
        return ()

    def measure(self) -> Measurement:
        step = self.steps
        self.steps += 1
        if step in self.failing:
            raise ConnectionError("the gateway is gone")
        now = self.current()
        if step in self.stale:
            return Measurement(step, 0.0, now.requested, now.observed)
        return measurement(self.first_step + step, now)


def measurement(step: int, now: Applied) -> Measurement:
    rows = round(4000 + 3000 * sin(step / 4))
    speed_hz = max(now.observed.executors, 1) * now.observed.frequency_khz * 1e3
    duration_s = OVERHEAD_S + rows * ROW_CYCLES / speed_hz
    return Measurement(
        step,
        float(step),
        now.requested,
        now.observed,
        arrivals_per_s=float(rows),
        completions_per_s=float(rows),
        latency_s=1.5 * duration_s,
        latency_kind="estimated",
        batches=(BatchSample(rows, duration_s, now.observed),),
    )


@dataclass(slots=True)
class FakeCluster:
    """Runs a controller over so many steps and keeps what it did."""

    folder: Path
    options: tuple[str, ...] = SHORT
    steps: int = 30
    executors: FakeExecutors = field(default_factory=FakeExecutors)
    fleet: FakeFleet | None = field(default_factory=FakeFleet)
    sensor: FakeSensor | None = None
    useful: int | None = None
    most_executors: int | None = None
    time: ManualTime = field(default_factory=ManualTime)
    first_step: int = 0
    failing: frozenset[int] = frozenset()
    stale: frozenset[int] = frozenset()
    seen: list[StepRecord] = field(default_factory=list)
    make_policy: PolicyFactory | None = None
    resume_steps: int = 600
    on_step: Callable[[StepRecord], None] | None = None

    def run(self) -> list[StepRecord]:
        """All steps, to the end; the loop ends by itself with the application."""
        begun = self.start()
        begun._thread.join(120.0)
        assert not begun.running
        begun.stop()
        return self.seen

    def start(self) -> Controller:
        journal = Journal(self.folder, 10_000_000)
        records = journal.recent(self.resume_steps)
        ports = ClusterPorts(
            executors=self.executors,
            fleet=self.fleet,
            make_sensor=self._make_sensor,
            useful_executors=lambda: self.useful,
            most_executors=self.most_executors,
            alive=lambda: self.sensor is not None and self.sensor.steps < self.steps,
            stop=self.time,
            monotonic_s=lambda: self.time.now_s,
            wall_s=lambda: self.time.now_s,
        )
        config = load_config(None, self.options)
        begun = controller(config, ports, journal, records, self.make_policy, self._note)
        return begun.start()

    def _make_sensor(self, current: Callable[[], Applied]) -> FakeSensor:
        self.sensor = FakeSensor(current, self.first_step, failing=self.failing, stale=self.stale)
        return self.sensor

    def _note(self, record: StepRecord) -> None:
        self.seen.append(record)
        if self.on_step is not None:
            self.on_step(record)


def restarted(before: FakeCluster, steps: int, **changed: Any) -> FakeCluster:
    """The application once more, one step later, on the cluster as the first run left it."""
    after = replace(
        before,
        steps=steps,
        sensor=None,
        time=ManualTime(before.time.now_s),
        first_step=before.seen[-1].measurement.step + 1,
        seen=[],
        **changed,
    )
    after.executors.requests = [before.seen[-1].applied.requested.executors]
    return after


def told(record: StepRecord) -> tuple[object, ...]:
    """What a step was about and what came of it, without what a restart may change."""
    return (
        record.measurement.step,
        record.measurement.time_s,
        record.dead_time_s,
        record.decision.target,
        record.decision.reason,
        record.decision.plan,
        record.target,
    )
