"""A cluster in memory: `SparkCluster` with its real scaler on a cluster manager without processes.

Only what lies beyond the driver is replaced: the cluster manager behaves as a standalone Master
does on a manual clock, batches follow the micro-batch formula, agents note what they are asked.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from math import sin
from typing import Any

from mpc.events import Events
from mpc.values import Applied, BatchSample, Configuration, Measurement
from runtime.fleet.targets import HostFrequencies
from runtime.spark.cluster import SparkCluster
from runtime.spark.scaling.scaler import ExecutorScaler
from runtime.spark.sensing.reading import BatchMoment
from tests.runtime.spark.fake_scheduler import FakeScheduler

OVERHEAD_S = 0.2
ROW_CYCLES = 1e6
HIGHEST_KHZ = 2_000_000
HOST = HostFrequencies(HIGHEST_KHZ // 2, HIGHEST_KHZ)


@dataclass(slots=True)
class FakeFleet:
    """Hosts that run at what was asked for last."""

    requests: list[tuple[int, frozenset[str]]] = field(default_factory=list)
    closed: int = 0

    def state(self) -> Any:
        return self

    @property
    def frequency_khz(self) -> int | None:
        return self.requests[-1][0] if self.requests else None

    def request(self, frequency_khz: int, busy_hosts: Collection[str]) -> None:
        self.requests.append((frequency_khz, frozenset(busy_hosts)))

    def events(self) -> Events:
        return ()

    def stop(self) -> None:
        self.closed += 1


@dataclass(slots=True)
class FakeDriver:
    """An application that ends after some steps; its widest stage has so many tasks."""

    steps_left: int = 10**9
    stage_tasks: int | None = None

    def is_alive(self) -> bool:
        self.steps_left -= 1
        return self.steps_left >= 0

    def query_stage_tasks(self) -> list[int]:
        return [] if self.stage_tasks is None else [self.stage_tasks]


@dataclass(slots=True)
class WaveSensor:
    """A wave of arrivals on whatever runs."""

    first_step: int = 0
    steps: int = 0
    failing: frozenset[int] = frozenset()
    stale: frozenset[int] = frozenset()

    @property
    def batch_moment(self) -> BatchMoment:
        return BatchMoment(longest_s=OVERHEAD_S)

    @property
    def queries(self) -> tuple[dict[str, object], ...]:
        return ({"query": "q", "activity": "fresh"},)

    def measure(self, ran: Applied) -> tuple[Measurement, Events]:
        step = self.steps
        self.steps += 1
        if step in self.failing:
            raise ConnectionError("the gateway is gone")
        if step in self.stale:
            return Measurement(0, 0.0, ran.requested, ran.observed), ()
        return wave(self.first_step + step, ran), ()


def wave(step: int, ran: Applied) -> Measurement:
    rows = round(4000 + 3000 * sin(step / 4))
    speed_hz = max(ran.observed.executors, 1) * ran.observed.frequency_khz * 1e3
    duration_s = OVERHEAD_S + rows * ROW_CYCLES / speed_hz
    return Measurement(
        step,
        float(step),
        ran.requested,
        ran.observed,
        arrivals_per_s=float(rows),
        completions_per_s=float(rows),
        latency_s=1.5 * duration_s,
        latency_kind="estimated",
        batches=(BatchSample(rows, duration_s, ran.observed),),
    )


class MemoryCluster(SparkCluster):
    """`instant` executors come and go within the step that orders them."""

    def __init__(
        self,
        scheduler: FakeScheduler,
        sensor: Any,
        fleet: FakeFleet | None,
        driver: FakeDriver | None = None,
        *,
        instant: bool = False,
        max_executors: int | None = None,
        requested_khz: int | None = None,
        start_up_s: float | None = None,
    ) -> None:
        beyond: Any = driver or FakeDriver()
        manager: Any = scheduler
        hosts: Any = fleet
        super().__init__(
            beyond,
            manager,
            sensor,
            ExecutorScaler(scheduler, scheduler.clock_s, max_executors=max_executors),
            hosts,
            highest_khz=HIGHEST_KHZ,
            host_frequencies=() if fleet is None else (HOST,),
            requested_khz=requested_khz,
        )
        self.scheduler = scheduler
        self.instant = instant
        self.start_up_s = start_up_s
        """What executors are said to take; None: as learned."""
        self.targets: list[Configuration] = []
        self.failure: Exception | None = None

    def measure(self, ran: Applied) -> tuple[Measurement, Events]:
        measured, events = super().measure(ran)
        if self.start_up_s is not None:
            measured = replace(measured, startup_s=self.start_up_s)
        return measured, events

    def steer(self, target: Configuration) -> tuple[Applied, Events]:
        if self.failure is not None:
            raise self.failure
        self.targets.append(target)
        applied, events = super().steer(target)
        if self.instant:
            self.scheduler.advance(0.0)
            applied, more = self.watch()
            events += more
        return applied, events
