"""What remains of every step: a line of the journal, now and then a snapshot, the log, listeners.

None of it can disturb the control loop: what fails becomes an event of the next step.
"""

import logging
import threading
from collections.abc import Callable, Sequence

from mpc.controller import ControllerState, failure
from mpc.events import Event, EventKind, Events, Severity
from runtime.control.journal import StepJournal, StepRecord
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
    ) -> None:
        """Without `snapshots` the controller is not saved."""
        self._journal = journal
        self._snapshots = snapshots
        self._snapshot_steps = snapshot_steps
        self._listeners = tuple(listeners)
        self._lock = threading.Lock()
        self._closed = False
        self._unsaved_steps = 0
        self._last_warning: Event | None = None
        self.last: StepRecord | None = None

    def record(self, record: StepRecord, state: ControllerState) -> Events:
        """What went wrong, to be recorded with the next step."""
        self.last = record
        self._unsaved_steps += 1
        problems: list[Event] = []
        try:
            self._journal.append(record)
        except OSError as error:
            problems.append(Event(EventKind.JOURNAL_UNAVAILABLE, str(error)))
        if self._unsaved_steps >= self._snapshot_steps:
            problems += self.save(state)
        self._write_log(record)
        for listener in self._listeners:
            try:
                listener(record)
            except BaseException as error:  # also a SystemExit: it is not the listener's to give
                problems.append(failure("listener", error))
        return tuple(problems)

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
