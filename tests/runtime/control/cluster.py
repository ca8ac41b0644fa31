"""Runs of the real control loop over a cluster in memory, in a time of their own."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runtime.config import load_config
from runtime.control.assembly import PolicyFactory, control_loop
from runtime.control.journal import StepJournal, StepRecord
from runtime.control.loop import ControlLoop
from tests.runtime.spark.fake_scheduler import FakeScheduler
from tests.support.memory_cluster import FakeDriver, FakeFleet, MemoryCluster, WaveSensor

SHORT = ("executors.max=6", "frequency.list_khz=[1000000, 2000000]", "limits.dead_time_s=1")


class ManualTime(threading.Event):
    """The event that stops a loop; to wait for it is to let time pass."""

    def __init__(self, now_s: float = 1000.0) -> None:
        super().__init__()
        self.now_s = now_s

    def wait(self, timeout: float | None = None) -> bool:
        self.now_s += timeout or 0.0
        return self.is_set()


def two_executors() -> FakeScheduler:
    scheduler = FakeScheduler(start_s=0.0, drain_s=0.0)
    scheduler.launch(2)
    return scheduler


@dataclass(slots=True)
class LoopRun:
    """A control loop over some steps, and what it did."""

    folder: Path
    options: tuple[str, ...] = SHORT
    steps: int = 30
    scheduler: FakeScheduler = field(default_factory=two_executors)
    fleet: FakeFleet | None = field(default_factory=FakeFleet)
    failure: Exception | None = None
    """Raised by every order."""
    useful: int | None = None
    most_executors: int | None = None
    start_up_s: float = 1.0
    time: ManualTime = field(default_factory=ManualTime)
    first_step: int = 0
    failing: frozenset[int] = frozenset()
    stale: frozenset[int] = frozenset()
    seen: list[StepRecord] = field(default_factory=list)
    make_policy: PolicyFactory | None = None
    resume_steps: int = 600
    on_step: Callable[[StepRecord], None] | None = None
    cluster: MemoryCluster | None = None

    def run(self) -> list[StepRecord]:
        """All steps, to the end; the loop ends by itself with the application."""
        loop = self.start()
        loop.join(120.0)
        assert not loop.running
        loop.stop()
        return self.seen

    def start(self) -> ControlLoop:
        journal = StepJournal(self.folder, 10_000_000)
        records = journal.recent(self.resume_steps)
        self.scheduler.most_executors = self.most_executors
        self.cluster = MemoryCluster(
            self.scheduler,
            WaveSensor(self.first_step, failing=self.failing, stale=self.stale),
            self.fleet,
            FakeDriver(self.steps, self.useful),
            instant=True,
            requested_khz=records[-1].applied.requested.frequency_khz if records else None,
            start_up_s=self.start_up_s,
        )
        self.cluster.failure = self.failure
        return control_loop(
            load_config(None, self.options),
            self.cluster,
            journal,
            records,
            self.make_policy,
            listeners=[self._note],
            stop=self.time,
            monotonic_s=lambda: self.time.now_s,
            wall_s=lambda: self.time.now_s,
        ).start()

    @property
    def touched(self) -> tuple[int, int]:
        """Orders to the cluster manager and to the hosts."""
        return len(self.scheduler.orders), len(self.fleet.requests) if self.fleet else 0

    def slow_down(self, start_up_s: float) -> None:
        """Executors take so long to start from now on."""
        self.start_up_s = start_up_s
        if self.cluster is not None:
            self.cluster.start_up_s = start_up_s

    def _note(self, record: StepRecord) -> None:
        self.seen.append(record)
        if self.on_step is not None:
            self.on_step(record)


def restarted(before: LoopRun, steps: int, **changed: Any) -> LoopRun:
    """The application once more, one step later, on the cluster as the first run left it."""
    return replace(
        before,
        steps=steps,
        time=ManualTime(before.time.now_s),
        first_step=before.seen[-1].measurement.step + 1,
        seen=[],
        **changed,
    )


def outcome(record: StepRecord) -> tuple[object, ...]:
    """What a step was about and what came of it, without what a restart may change."""
    return (
        record.measurement.step,
        record.measurement.time_s,
        record.dead_time_s,
        record.bounds,
        record.decision.target,
        record.decision.reason,
        record.decision.plan,
        record.target,
    )
