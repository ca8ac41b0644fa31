"""What can happen in a control step: the one vocabulary of controller, journal, log and page.

An event is news for people: a change, a limit that was met, something lost. The figures of a step
are in its measurement and decision. Words, severity and advice stand with the event itself; the
log, the page, explanations, Prometheus and the documentation derive from them.
"""

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import partial
from typing import Literal, Self

from mpc.values import Configuration

HostCondition = Literal["lost", "recovered", "refused", "drifted"]


class Severity(Enum):
    INFO = "info"
    """Nothing to do: the ordinary course of things, or something that is well again."""
    NOTICE = "notice"
    """Worth reading: something was held back, or is about to be missing."""
    WARNING = "warning"
    """Something is broken or lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a reader should know about a kind of event."""

    name: str = field(kw_only=False)
    """In files."""
    words: str = field(kw_only=False)
    severity: Severity = Severity.INFO
    is_guard: bool = False
    """Whether it keeps the controller from what the policy decided, or the cluster from following.
    """
    because: str | None = None
    """Why a decision was changed or not applied, as the end of a sentence; None where none was."""
    advice: str = ""
    """What an operator can do about it; empty where there is nothing to do."""
    is_change: bool = False
    """Whether the sentence about the decision says it already."""
    host_condition: HostCondition | None = None
    """What it says about the host that its detail begins with."""


_notice = partial(Meaning, severity=Severity.NOTICE)
_warning = partial(Meaning, severity=Severity.WARNING)
_held = partial(_notice, is_guard=True)
_blocked = partial(_warning, is_guard=True)


class DescribedEvent(StrEnum):
    """A kind of event that carries its meaning."""

    meaning: Meaning
    words: str
    severity: Severity
    is_guard: bool
    because: str | None
    advice: str

    def __new__(cls, meaning: Meaning) -> Self:
        kind = str.__new__(cls, meaning.name)
        kind._value_ = meaning.name
        kind.meaning = meaning
        kind.words, kind.because, kind.advice = meaning.words, meaning.because, meaning.advice
        kind.severity, kind.is_guard = meaning.severity, meaning.is_guard
        return kind


class EventKind(DescribedEvent):
    """Everything that can happen."""

    STARTED = Meaning("started", "controller started")
    RESUMED = Meaning("resumed", "continued from the journal of an earlier run")
    SNAPSHOT_REFUSED = _warning(
        "snapshot_refused",
        "the saved policy was not used; the journal was replayed instead",
        advice=(
            "Expected after an upgrade or a change of configuration; otherwise see who writes to "
            "the journal folder."
        ),
    )

    SCALED_OUT = Meaning("scaled_out", "scaled out", is_change=True)
    SCALED_IN = Meaning("scaled_in", "scaled in", is_change=True)
    FREQUENCY_RAISED = Meaning("frequency_raised", "frequency raised", is_change=True)
    FREQUENCY_LOWERED = Meaning("frequency_lowered", "frequency lowered", is_change=True)
    ADVISED = Meaning("advised", "advised, not applied", is_change=True)

    OUT_OF_BOUNDS = _held(
        "out_of_bounds",
        "the policy asked for more than the configured bounds allow",
        because="the configured bounds do not allow it",
    )
    HELD_STALE_MEASUREMENT = _held(
        "held_stale_measurement",
        "held because measurements are stale",
        because="nothing is scaled in without a fresh measurement",
        advice="See `query_stale`.",
    )
    HELD_VIOLATION = _held(
        "held_violation",
        "held because the target is missed",
        because="nothing is given up while the target is missed",
    )
    HELD_DOUBTFUL_RATE = _held(
        "held_doubtful_rate",
        "held because the measured rate contradicts those before it",
        because="one rate that contradicts those before it gives nothing up",
        advice="`limits.doubtful_ratio` is the factor. Clocks of the hosts may have been set.",
    )
    HELD_SHARE = _held(
        "held_share",
        "held because too much would be given up at once",
        because="only a share of the capacity is given up in one step",
        advice="`limits.max_given_up_share` is the share.",
    )
    HELD_WINDOW = _held(
        "held_window",
        "held until less has been enough for a while",
        because="less must have been enough for a while before capacity is given up",
        advice="`limits.scale_in_window_s` and `limits.slow_down_readings` say for how long.",
    )
    HELD_COOLDOWN = _held("held_cooldown", "held because the last change is too recent")
    HELD_COMPILING = _held(
        "held_compiling",
        "held while the optimiser is being compiled",
        because="the optimiser is being compiled",
        advice="Once on a machine, for about a minute; `make install` does it beforehand.",
    )
    HELD_PAUSED = _held(
        "held_paused",
        "paused; nothing was changed",
        because="the controller is paused",
        advice="`foresight resume` ends the pause.",
    )
    HELD_EXCLUDED_PERIOD = _held(
        "held_excluded_period",
        "excluded period; nothing was changed",
        because="this period is excluded",
        advice="`schedule.exclude` lists the periods.",
    )
    HELD_USEFUL_TASKS = _held(
        "held_useful_tasks",
        "held because more executors would find no task",
        because="more executors would find no task",
        advice="More partitions in the source or the shuffle, if latency matters.",
    )
    HELD_INEFFECTIVE = _held(
        "held_ineffective",
        "held because more executors brought nothing before",
        because="more executors brought nothing before",
        advice="Look for skew, a slow sink, or too few partitions.",
    )
    INEFFECTIVE_SCALE_OUT = _held(
        "ineffective_scale_out",
        "the last scale-out brought nothing and is taken back",
        because="the last scale-out brought nothing",
        advice="Look for skew, a slow sink, or too few partitions.",
    )
    AT_MAXIMUM = _blocked(
        "at_maximum",
        "above the target with everything there is",
        advice="Raise `executors.max` and `spark.cores.max`, or relax the target.",
    )

    DEAD_TIME_LEARNED = Meaning("dead_time_learned", "learned how long executors take to start")
    EXECUTOR_STARTED = Meaning("executor_started", "executor started")
    EXECUTOR_DRAINING = _notice("executor_draining", "executor is draining")
    EXECUTOR_DRAINED = Meaning("executor_drained", "executor drained")
    EXECUTOR_LOST = _warning(
        "executor_lost",
        "executor lost",
        advice="Read its log on the worker; memory is the usual reason.",
    )
    EXECUTOR_KILLED = _notice(
        "executor_killed",
        "executor killed because it did not drain in time",
        advice="Raise `spark.grace_s` where tasks are long.",
    )
    SCALE_IN_DELAYED = _held("scale_in_delayed", "scale-in waits for executors that are starting")
    EXECUTORS_STALLED = _blocked(
        "executors_stalled",
        "requested executors do not arrive",
        advice="Check free cores and memory on the cluster, and `spark.cores.max`.",
    )
    AGENT_LOST = _warning(
        "agent_lost",
        "agent lost; its host restores itself when the lease ends",
        advice="`systemctl status foresight-agent` on that host.",
        host_condition="lost",
    )
    AGENT_RECOVERED = Meaning("agent_recovered", "agent is back", host_condition="recovered")
    FREQUENCY_REFUSED = _blocked(
        "frequency_refused",
        "agent refused a frequency",
        advice="The agent's audit log says why.",
        host_condition="refused",
    )
    HOST_DRIFTED = _warning(
        "host_drifted",
        "another program changed the frequency of a host",
        advice=(
            "Stop the other writer (TuneD, TLP, …); the host is left alone until the lease ends."
        ),
        host_condition="drifted",
    )
    HOSTS_UNREADABLE = _warning("hosts_unreadable", "the hosts' power and CPU time cannot be read")
    HOSTS_RECOVERED = Meaning("hosts_recovered", "the hosts can be read again")

    QUERY_STARTED = Meaning("query_started", "query started")
    QUERY_STOPPED = _notice("query_stopped", "query stopped")
    QUERY_FAILED = _warning("query_failed", "query failed")
    QUERY_STALE = _warning(
        "query_stale",
        "query reports nothing new",
        advice="A very long batch, or a hung one: see Spark's page or the driver's log.",
    )
    QUERY_UNSUPPORTED = _blocked(
        "query_unsupported",
        "query runs in a mode that cannot be scaled; the application is held as it is",
        advice="Run it with micro-batches, or stop Foresight for this application.",
    )
    QUERY_RECOVERED = Meaning("query_recovered", "query reports again")
    SOURCE_UNREADABLE = _notice(
        "source_unreadable",
        "a source cannot be asked what has come; the batches tell",
        advice="The detail has the reason. Forecasts begin one batch ago until it can be asked.",
    )
    SOURCE_RECOVERED = Meaning("source_recovered", "the source can be asked again")
    SESSION_UNREADABLE = _warning(
        "session_unreadable",
        "the Spark session cannot be read",
        advice="Several in a row: the driver is overloaded.",
    )
    SESSION_RECOVERED = Meaning("session_recovered", "the Spark session can be read again")

    STEP_FAILED = _warning(
        "step_failed",
        "a part of the step failed; what was there was kept",
        advice="A bug: keep the journal.",
    )
    STEPS_MISSED = _warning(
        "steps_missed",
        "steps missed",
        advice="Raise `horizon.step_s`, or give the controller more CPU.",
    )
    JOURNAL_UNAVAILABLE = _warning(
        "journal_unavailable",
        "the journal could not be written; control goes on",
        advice="Check disk space and permissions.",
    )
    SNAPSHOT_UNAVAILABLE = _warning(
        "snapshot_unavailable",
        "the policy could not be saved; control goes on",
        advice="Check disk space and permissions.",
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
