"""What can happen in a control step, in one vocabulary for journal, log and dashboard.

An event is news for people: a change, something held back, something lost. The figures of a step
are in its measurement and decision.
"""

from dataclasses import dataclass
from enum import StrEnum

from mpc.values import Configuration


class EventKind(StrEnum):
    STARTED = "started"
    RESUMED = "resumed"
    """Learned from the journal of an earlier run."""
    SNAPSHOT_REFUSED = "snapshot_refused"
    """The policy saved by an earlier run is of no use here; the journal was replayed instead."""

    SCALED_OUT = "scaled_out"
    SCALED_IN = "scaled_in"
    FREQUENCY_RAISED = "frequency_raised"
    FREQUENCY_LOWERED = "frequency_lowered"
    ADVISED = "advised"
    """What would have been changed, in mode "advise"."""

    OUT_OF_BOUNDS = "out_of_bounds"
    HELD_STALE_MEASUREMENT = "held_stale_measurement"
    HELD_VIOLATION = "held_violation"
    """Less was wanted while the target is missed."""
    HELD_COOLDOWN = "held_cooldown"
    """The policy keeps what is there because it changed too recently."""
    HELD_PAUSED = "held_paused"
    """Somebody paused the controller; nothing was applied."""
    HELD_EXCLUDED_PERIOD = "held_excluded_period"
    """Nothing was applied because of `schedule.exclude`."""
    HELD_USEFUL_TASKS = "held_useful_tasks"
    HELD_INEFFECTIVE = "held_ineffective"
    INEFFECTIVE_SCALE_OUT = "ineffective_scale_out"
    AT_MAXIMUM = "at_maximum"
    """The target is broken and there is nothing left to add."""

    DEAD_TIME_LEARNED = "dead_time_learned"
    EXECUTOR_STARTED = "executor_started"
    EXECUTOR_DRAINING = "executor_draining"
    EXECUTOR_DRAINED = "executor_drained"
    EXECUTOR_LOST = "executor_lost"
    EXECUTOR_KILLED = "executor_killed"
    """It did not drain within the grace period."""
    EXECUTORS_HELD = "executors_held"
    """A scale-in waits: it would undo starts in flight."""
    EXECUTORS_STALLED = "executors_stalled"
    """What was asked for does not come."""
    AGENT_LOST = "agent_lost"
    AGENT_RECOVERED = "agent_recovered"
    FREQUENCY_REFUSED = "frequency_refused"
    HOST_DRIFTED = "host_drifted"
    """Somebody else changed its frequency."""

    QUERY_STARTED = "query_started"
    QUERY_STOPPED = "query_stopped"
    QUERY_FAILED = "query_failed"
    QUERY_STALE = "query_stale"
    QUERY_RECOVERED = "query_recovered"
    SESSION_UNREADABLE = "session_unreadable"
    SESSION_RECOVERED = "session_recovered"
    CLUSTER_UNREADABLE = "cluster_unreadable"
    CLUSTER_RECOVERED = "cluster_recovered"

    STEP_FAILED = "step_failed"
    """A part of the step raised; the rest of it held what was there."""
    STEPS_MISSED = "steps_missed"
    JOURNAL_UNAVAILABLE = "journal_unavailable"
    SNAPSHOT_UNAVAILABLE = "snapshot_unavailable"
    """The policy could not be saved."""


@dataclass(frozen=True, slots=True)
class ControlEvent:
    kind: EventKind
    detail: str


def changes(before: Configuration, after: Configuration) -> tuple[ControlEvent, ...]:
    """The events that lead from one request to the next."""
    found = []
    if after.executors != before.executors:
        more = after.executors > before.executors
        kind = EventKind.SCALED_OUT if more else EventKind.SCALED_IN
        found.append(ControlEvent(kind, f"{before.executors} to {after.executors} executors"))
    if after.frequency_khz != before.frequency_khz:
        higher = after.frequency_khz > before.frequency_khz
        kind = EventKind.FREQUENCY_RAISED if higher else EventKind.FREQUENCY_LOWERED
        found.append(ControlEvent(kind, f"{before.frequency_khz} to {after.frequency_khz} kHz"))
    return tuple(found)
