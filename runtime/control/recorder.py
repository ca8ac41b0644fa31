"""What remains of every step: a line of the journal, now and then a snapshot, the log, listeners.

None of it can disturb the control loop: what fails becomes an event of the next step.
"""

import logging
import threading
from collections.abc import Callable, Sequence

from mpc.controller import ControllerState, failure
from mpc.events import Event, EventKind, Events, Severity
from runtime.control.journal import StepJournal, StepRecord
from runtime.control.memory_file import MemoryFile
from runtime.control.snapshots import SnapshotFile

Listener = Callable[[StepRecord], None]
_log = logging.getLogger("foresight")


class Recorder:
    def __init__(
        self,
        journal: StepJournal,
        snapshots: SnapshotFile | None,
        snapshot_steps: int,
        listeners: Sequence[Listener],
        memory: MemoryFile | None = None,
    ) -> None:
        """Without `snapshots` the controller is not saved; without `memory`, not what it remembers
        of other days."""
        self._memory = memory
        self._journal = journal
        self._snapshots = snapshots
        self._snapshot_steps = snapshot_steps
        self._listeners = tuple(listeners)
        self._lock = threading.Lock()
        self._closed = False
        self._unsaved_steps = 0
        self._last_warning: Event | None = None
        self.last: StepRecord | None = None

    def record(self, record: StepRecord, state: ControllerState | None) -> Events:
        """What went wrong, to be recorded with the next step. Without a controller no state."""
        self.last = record
        self._unsaved_steps += 1
        problems: list[Event] = []
        try:
            self._journal.append(record)
        except OSError as error:
            problems.append(Event(EventKind.JOURNAL_UNAVAILABLE, str(error)))
        if state is not None:
            problems += self._remember(record.at_s, state)
        if state is not None and self._unsaved_steps >= self._snapshot_steps:
            problems += self.save(state)
        self._write_log(record)
        for listener in self._listeners:
            try:
                listener(record)
            except BaseException as error:  # also a SystemExit: it is not the listener's to give
                problems.append(failure("listener", error))
        return tuple(problems)

    def _remember(self, at_s: float, state: ControllerState, *, at_once: bool = False) -> Events:
        with self._lock:
            if self._memory is None or self._closed:
                return ()
            try:
                self._memory.keep(state, at_s, at_once=at_once)
            except OSError as error:
                detail = f"memory of other days: {error}"
                return (Event(EventKind.SNAPSHOT_UNAVAILABLE, detail),)
        return ()

    def end(self, state: ControllerState) -> None:
        """Save everything once more: there is no next step."""
        if self.last is not None:
            self._remember(self.last.at_s, state, at_once=True)
        self.save(state)

    def save(self, state: ControllerState) -> Events:
        """The controller as it is after the last step."""
        if self._snapshots is None or self.last is None or not self._unsaved_steps:
            return ()
        self._unsaved_steps = 0
        with self._lock:
            if self._closed:
                return ()  # the folder may be another controller's by now
            try:
                self._snapshots.write(self.last, state)
            except Exception as error:
                detail = f"{type(error).__name__}: {error}"
                return (Event(EventKind.SNAPSHOT_UNAVAILABLE, detail),)
        return ()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._journal.close()

    def _write_log(self, record: StepRecord) -> None:
        for event in record.events:
            if event.kind.severity is not Severity.WARNING:
                _log.info("%s: %s", event.kind, event.detail)
            elif event != self._last_warning:  # once, not at every step
                self._last_warning = event
                _log.warning("%s: %s", event.kind, event.detail)
