"""What the tests of the control loop on a live application share: waiting, and reading its journal.

Waits are for conditions and end long after anything that is well has happened.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from mpc.events import EventKind
from runtime.agent.wire.messages import Status
from runtime.config import Config, load_config
from runtime.control.journal import StepRecord, read
from runtime.control.loop import ControlLoop
from runtime.fleet.local import LocalHosts
from runtime.spark.driver import Driver
from runtime.spark.scaling.scaler import ExecutorScaler
from runtime.spark.scaling.scheduler import Scheduler

PATIENCE_S = 240.0


def one_executor(spark: SparkSession) -> None:
    """By hand: without a query nothing is measured, and so nothing is scaled in."""
    scaler = ExecutorScaler(Scheduler(Driver.of(spark)), time.monotonic)
    state = scaler.steer(1)
    deadline_s = time.monotonic() + PATIENCE_S
    while (len(state.executors), state.requested) != (1, 1):
        assert time.monotonic() < deadline_s, state
        time.sleep(0.2)
        state = scaler.steer(1)


def config(folder: Path, *options: str) -> Config:
    return load_config(None, ["executors.max=3", f'journal.folder="{folder}"', *options])


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s, f"waited in vain for {what}"
        time.sleep(0.1)


def until(controller: ControlLoop, holds: Callable[[StepRecord], bool]) -> StepRecord:
    """The first finished step for which it holds."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        assert controller.running
        last = controller.last
        if last is not None and holds(last):
            return last
        time.sleep(0.1)
    raise AssertionError(f"not within {PATIENCE_S:.0f} s; last {controller.last}")


def runs(executors: int) -> Callable[[StepRecord], bool]:
    def holds(step: StepRecord) -> bool:
        applied = step.applied
        return applied.requested.executors == applied.observed.executors == executors

    return holds


def kinds(records: Iterable[StepRecord]) -> set[EventKind]:
    return {event.kind for record in records for event in record.events}


def journaled(folder: Path) -> list[StepRecord]:
    return list(read(folder / "foresight-tests"))


def limits_khz(hosts: LocalHosts) -> dict[str, set[int | None]]:
    """The frequency limits in force on every host."""
    return {
        name: {policy.effective_khz for policy in status(hosts, name).policies}
        for name in hosts.sockets
    }


def status(hosts: LocalHosts, name: str) -> Status:
    with hosts.agents[name]() as client:
        return client.status()
