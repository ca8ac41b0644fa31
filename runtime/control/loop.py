"""The control loop of a live application: one daemon thread that never disturbs it.

It runs `mpc.loop.control` on the live ports and writes the journal. When it stops, executors stay
as they are and the hosts are released.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

from mpc.events import Event, EventKind, changes
from mpc.loop import ControlStep, control
from mpc.values import ConfigurationSpace
from runtime.control.actuator import ClusterActuator
from runtime.control.journal import Journal, Resumption, StartUpSamples, StepRecord
from runtime.control.safe import EventLog, GuardedPolicy, SafeActuator, SafeSensor, StepClock

JOIN_S = 10.0
"""A step that hangs in the JVM must not keep the application from ending."""

_log = logging.getLogger("foresight")
_WORRYING = {
    EventKind.STEP_FAILED,
    EventKind.JOURNAL_UNAVAILABLE,
    EventKind.SNAPSHOT_REFUSED,
    EventKind.SNAPSHOT_UNAVAILABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """What a loop runs on; `runtime.spark.attach` puts it together."""

    mode: Literal["control", "advise"]
    sensor: SafeSensor
    policy: GuardedPolicy
    space: ConfigurationSpace
    actuator: ClusterActuator
    clock: StepClock
    stop: threading.Event
    events: EventLog
    journal: Journal
    dead_time_s: Callable[[], float]
    """What the policy plans with."""
    start_up: Callable[[], StartUpSamples]
    queries: Callable[[], tuple[dict[str, object], ...]]
    held: Callable[[], Event | None] = lambda: None
    """Why nothing may be changed now; None if it may."""
    save: Callable[[StepRecord], None] | None = None
    """Saves the policy as it is after a step; None where it is not to be saved."""
    save_steps: int = 1
    resumption: Resumption | None = None
    """How it went on after a restart; journaled with the first step."""
    on_step: Callable[[StepRecord], None] | None = None
    on_release: Callable[[], None] | None = None
    """Called once, when the loop has ended."""
    wall_s: Callable[[], float] = time.time


class Controller:
    """A running control loop. Use as a context manager, or call `stop`."""

    def __init__(self, parts: LoopParts) -> None:
        self._parts = parts
        self._thread = threading.Thread(target=self._run, name="foresight-control", daemon=True)
        self._release_lock = threading.Lock()
        self._released = False
        self._last: StepRecord | None = None
        self._last_worry: Event | None = None
        self._unsaved_steps = 0
        self.page_url: str | None = None
        """Where people see it, if it has a page."""

    @property
    def last(self) -> StepRecord | None:
        """The last finished step."""
        return self._last

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Idempotent. Executors stay as they are, the agents are released."""
        self._parts.stop.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(JOIN_S)
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        parts = self._parts
        actuator = SafeActuator(parts.actuator, parts.events, parts.held)
        try:
            for step in control(parts.policy, parts.space, parts.sensor, actuator, parts.clock):
                try:
                    self._record(step)
                except Exception as error:
                    parts.events.failed("record", error)
        except Exception:
            # Every port is safe, so this is a mistake of the loop itself.
            _log.exception("the control loop ended; executors stay as they are")
        finally:
            self._save()
            self._release()

    def _record(self, step: ControlStep) -> None:
        parts = self._parts
        measurement, target = step.measurement, step.decision.target
        if parts.mode == "advise":
            for event in changes(measurement.requested, target):
                parts.events.add(EventKind.ADVISED, event.detail)
        else:
            parts.events.extend(changes(measurement.requested, step.applied.requested))
        record = StepRecord(
            at_s=parts.wall_s(),
            mode=parts.mode,
            measurement=measurement,
            decision=parts.policy.decided or step.decision,
            target=target,
            applied=step.applied,
            dead_time_s=parts.dead_time_s(),
            useful_executors=parts.policy.useful_executors,
            took_s=parts.clock.since_due_s(),
            events=parts.events.drain(),
            queries=parts.queries(),
            start_up=parts.start_up(),
            resumption=parts.resumption if self._last is None else None,
        )
        self._last = record
        try:
            parts.journal.append(record)
        except OSError as error:
            # Told with the next line that can be written.
            parts.events.add(EventKind.JOURNAL_UNAVAILABLE, str(error))
        self._unsaved_steps += 1
        if self._unsaved_steps >= parts.save_steps:
            self._save()
        self._tell(record)
        if parts.on_step is not None:
            parts.on_step(record)

    def _save(self) -> None:
        parts = self._parts
        if parts.save is None or self._last is None or not self._unsaved_steps:
            return
        self._unsaved_steps = 0
        with self._release_lock:
            if self._released:
                return  # the folder may be another controller's by now
            try:
                parts.save(self._last)
            except Exception as error:
                # Told with the next line.
                parts.events.add(EventKind.SNAPSHOT_UNAVAILABLE, f"{type(error).__name__}: {error}")

    def _tell(self, record: StepRecord) -> None:
        for event in record.events:
            if event.kind not in _WORRYING:
                _log.info("%s: %s", event.kind, event.detail)
            elif event != self._last_worry:  # once, not at every step
                self._last_worry = event
                _log.warning("%s: %s", event.kind, event.detail)

    def _release(self) -> None:
        with self._release_lock:
            if self._released:
                return
            self._released = True
            try:
                self._parts.actuator.close()
            except Exception:
                _log.exception("agents were not released; their leases end by themselves")
            self._parts.journal.close()
            if self._parts.on_release is not None:
                self._parts.on_release()
