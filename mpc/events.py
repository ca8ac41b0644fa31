"""What can happen in a control step: the one vocabulary of controller, journal, log and page.

An event is news for people: a change, a limit that was met, something lost. The figures of a step
are in its measurement and decision. Words, severity and advice stand with the event itself; the
log, the page, explanations, Prometheus and the documentation derive from them.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum

from mpc.values import Configuration


class Severity(Enum):
    INFO = "info"
    """Nothing to do: the ordinary course of things, or something that is well again."""
    NOTICE = "notice"
    """Worth reading: something was held back, or is about to be missing."""
    WARNING = "warning"
    """Something is broken or lost."""


class EventKind(StrEnum):
    """Each member: its name in files, its words, and what a reader should know about it."""

    words: str
    severity: Severity
    is_guard: bool
    """Whether it keeps the controller from what the policy decided, or the cluster from following.
    """
    because: str | None
    """Why a decision was changed or not applied, as the end of a sentence; None where none was."""
    advice: str
    """What an operator can do about it; empty where there is nothing to do."""

    def __new__(
        cls,
        value: str,
        words: str,
        severity: Severity = Severity.INFO,
        is_guard: bool = False,
        because: str | None = None,
        advice: str = "",
    ) -> "EventKind":
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.words = words
        kind.severity = severity
        kind.is_guard = is_guard
        kind.because = because
        kind.advice = advice
        return kind

    STARTED = ("started", "controller started")
    RESUMED = ("resumed", "continued from the journal of an earlier run")
    SNAPSHOT_REFUSED = (
        "snapshot_refused",
        "the saved policy was not used; the journal was replayed instead",
        Severity.WARNING,
        False,
        None,
        "Expected after an upgrade or a change of configuration; otherwise see who writes to the "
        "journal folder.",
    )

    SCALED_OUT = ("scaled_out", "scaled out")
    SCALED_IN = ("scaled_in", "scaled in")
    FREQUENCY_RAISED = ("frequency_raised", "frequency raised")
    FREQUENCY_LOWERED = ("frequency_lowered", "frequency lowered")
    ADVISED = ("advised", "advised, not applied")

    OUT_OF_BOUNDS = (
        "out_of_bounds",
        "the policy asked for more than the configured bounds allow",
        Severity.NOTICE,
        True,
        "the configured bounds do not allow it",
    )
    HELD_STALE_MEASUREMENT = (
        "held_stale_measurement",
        "held because measurements are stale",
        Severity.NOTICE,
        True,
        "nothing is scaled in without a fresh measurement",
        "See `query_stale`.",
    )
    HELD_VIOLATION = (
        "held_violation",
        "held because the target is missed",
        Severity.NOTICE,
        True,
        "nothing is given up while the target is missed",
    )
    HELD_COOLDOWN = (
        "held_cooldown",
        "held because the last change is too recent",
        Severity.NOTICE,
        True,
        None,
    )
    HELD_PAUSED = (
        "held_paused",
        "paused; nothing was changed",
        Severity.NOTICE,
        True,
        "the controller is paused",
        "`foresight resume` ends the pause.",
    )
    HELD_EXCLUDED_PERIOD = (
        "held_excluded_period",
        "excluded period; nothing was changed",
        Severity.NOTICE,
        True,
        "this period is excluded",
        "`schedule.exclude` lists the periods.",
    )
    HELD_USEFUL_TASKS = (
        "held_useful_tasks",
        "held because more executors would find no task",
        Severity.NOTICE,
        True,
        "more executors would find no task",
        "More partitions in the source or the shuffle, if latency matters.",
    )
    HELD_INEFFECTIVE = (
        "held_ineffective",
        "held because more executors brought nothing before",
        Severity.NOTICE,
        True,
        "more executors brought nothing before",
        "Look for skew, a slow sink, or too few partitions.",
    )
    INEFFECTIVE_SCALE_OUT = (
        "ineffective_scale_out",
        "the last scale-out brought nothing and is taken back",
        Severity.NOTICE,
        True,
        "the last scale-out brought nothing",
        "Look for skew, a slow sink, or too few partitions.",
    )
    AT_MAXIMUM = (
        "at_maximum",
        "above the target with everything there is",
        Severity.WARNING,
        True,
        None,
        "Raise `executors.max` and `spark.cores.max`, or relax the target.",
    )

    DEAD_TIME_LEARNED = ("dead_time_learned", "learned how long executors take to start")
    EXECUTOR_STARTED = ("executor_started", "executor started")
    EXECUTOR_DRAINING = ("executor_draining", "executor is draining", Severity.NOTICE)
    EXECUTOR_DRAINED = ("executor_drained", "executor drained")
    EXECUTOR_LOST = (
        "executor_lost",
        "executor lost",
        Severity.WARNING,
        False,
        None,
        "Read its log on the worker; memory is the usual reason.",
    )
    EXECUTOR_KILLED = (
        "executor_killed",
        "executor killed because it did not drain in time",
        Severity.NOTICE,
        False,
        None,
        "Raise `spark.grace_s` where tasks are long.",
    )
    SCALE_IN_DELAYED = (
        "scale_in_delayed",
        "scale-in waits for executors that are starting",
        Severity.NOTICE,
        True,
        None,
    )
    EXECUTORS_STALLED = (
        "executors_stalled",
        "requested executors do not arrive",
        Severity.WARNING,
        True,
        None,
        "Check free cores and memory on the cluster, and `spark.cores.max`.",
    )
    AGENT_LOST = (
        "agent_lost",
        "agent lost; its host restores itself when the lease ends",
        Severity.WARNING,
        False,
        None,
        "`systemctl status foresight-agent` on that host.",
    )
    AGENT_RECOVERED = ("agent_recovered", "agent is back")
    FREQUENCY_REFUSED = (
        "frequency_refused",
        "agent refused a frequency",
        Severity.WARNING,
        True,
        None,
        "The agent's audit log says why.",
    )
    HOST_DRIFTED = (
        "host_drifted",
        "another program changed the frequency of a host",
        Severity.WARNING,
        False,
        None,
        "Stop the other writer (TuneD, TLP, …); the host is left alone until the lease ends.",
    )
    HOSTS_UNREADABLE = (
        "hosts_unreadable",
        "the hosts' power and CPU time cannot be read",
        Severity.WARNING,
    )
    HOSTS_RECOVERED = ("hosts_recovered", "the hosts can be read again")

    QUERY_STARTED = ("query_started", "query started")
    QUERY_STOPPED = ("query_stopped", "query stopped", Severity.NOTICE)
    QUERY_FAILED = ("query_failed", "query failed", Severity.WARNING)
    QUERY_STALE = (
        "query_stale",
        "query reports nothing new",
        Severity.WARNING,
        False,
        None,
        "A very long batch, or a hung one: see Spark's page or the driver's log.",
    )
    QUERY_RECOVERED = ("query_recovered", "query reports again")
    SESSION_UNREADABLE = (
        "session_unreadable",
        "the Spark session cannot be read",
        Severity.WARNING,
        False,
        None,
        "Several in a row: the driver is overloaded.",
    )
    SESSION_RECOVERED = ("session_recovered", "the Spark session can be read again")

    STEP_FAILED = (
        "step_failed",
        "a part of the step failed; what was there was kept",
        Severity.WARNING,
        False,
        None,
        "A bug: keep the journal.",
    )
    STEPS_MISSED = (
        "steps_missed",
        "steps missed",
        Severity.WARNING,
        False,
        None,
        "Raise `horizon.step_s`, or give the controller more CPU.",
    )
    JOURNAL_UNAVAILABLE = (
        "journal_unavailable",
        "the journal could not be written; control goes on",
        Severity.WARNING,
        False,
        None,
        "Check disk space and permissions.",
    )
    SNAPSHOT_UNAVAILABLE = (
        "snapshot_unavailable",
        "the policy could not be saved; control goes on",
        Severity.WARNING,
        False,
        None,
        "Check disk space and permissions.",
    )


@dataclass(frozen=True, slots=True)
class Event:
    kind: EventKind
    detail: str


Events = tuple[Event, ...]


def changes(before: Configuration, after: Configuration) -> Events:
    """The events that lead from one request to the next."""
    found = []
    if after.executors != before.executors:
        more = after.executors > before.executors
        kind = EventKind.SCALED_OUT if more else EventKind.SCALED_IN
        found.append(Event(kind, f"{before.executors} to {after.executors} executors"))
    if after.frequency_khz != before.frequency_khz:
        higher = after.frequency_khz > before.frequency_khz
        kind = EventKind.FREQUENCY_RAISED if higher else EventKind.FREQUENCY_LOWERED
        found.append(Event(kind, f"{before.frequency_khz} to {after.frequency_khz} kHz"))
    return tuple(found)
