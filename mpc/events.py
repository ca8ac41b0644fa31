"""What can happen in a control step: the one vocabulary of controller, journal, log and page.

An event is news for people: a change, a limit that was met, something lost. The figures of a step
are in its measurement and decision. Words, severity and advice stand with the event itself; the
log, the page, explanations, Prometheus and the documentation derive from them.
"""

from dataclasses import dataclass, field
from enum import Enum, StrEnum
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


class DescribedEvent(StrEnum):
    """A kind of event that carries its meaning."""

    meaning: Meaning

    def __new__(cls, meaning: Meaning) -> Self:
        kind = str.__new__(cls, meaning.name)
        kind._value_ = meaning.name
        kind.meaning = meaning
        return kind

    @property
    def words(self) -> str:
        return self.meaning.words

    @property
    def severity(self) -> Severity:
        return self.meaning.severity

    @property
    def is_guard(self) -> bool:
        return self.meaning.is_guard

    @property
    def because(self) -> str | None:
        return self.meaning.because

    @property
    def advice(self) -> str:
        return self.meaning.advice


class EventKind(DescribedEvent):
    """Everything that can happen."""

    STARTED = Meaning("started", "controller started")
    RESUMED = Meaning("resumed", "continued from the journal of an earlier run")
    SNAPSHOT_REFUSED = Meaning(
        "snapshot_refused",
        "the saved policy was not used; the journal was replayed instead",
        severity=Severity.WARNING,
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

    OUT_OF_BOUNDS = Meaning(
        "out_of_bounds",
        "the policy asked for more than the configured bounds allow",
        severity=Severity.NOTICE,
        is_guard=True,
        because="the configured bounds do not allow it",
    )
    HELD_STALE_MEASUREMENT = Meaning(
        "held_stale_measurement",
        "held because measurements are stale",
        severity=Severity.NOTICE,
        is_guard=True,
        because="nothing is scaled in without a fresh measurement",
        advice="See `query_stale`.",
    )
    HELD_VIOLATION = Meaning(
        "held_violation",
        "held because the target is missed",
        severity=Severity.NOTICE,
        is_guard=True,
        because="nothing is given up while the target is missed",
    )
    HELD_COOLDOWN = Meaning(
        "held_cooldown",
        "held because the last change is too recent",
        severity=Severity.NOTICE,
        is_guard=True,
    )
    HELD_PAUSED = Meaning(
        "held_paused",
        "paused; nothing was changed",
        severity=Severity.NOTICE,
        is_guard=True,
        because="the controller is paused",
        advice="`foresight resume` ends the pause.",
    )
    HELD_EXCLUDED_PERIOD = Meaning(
        "held_excluded_period",
        "excluded period; nothing was changed",
        severity=Severity.NOTICE,
        is_guard=True,
        because="this period is excluded",
        advice="`schedule.exclude` lists the periods.",
    )
    HELD_USEFUL_TASKS = Meaning(
        "held_useful_tasks",
        "held because more executors would find no task",
        severity=Severity.NOTICE,
        is_guard=True,
        because="more executors would find no task",
        advice="More partitions in the source or the shuffle, if latency matters.",
    )
    HELD_INEFFECTIVE = Meaning(
        "held_ineffective",
        "held because more executors brought nothing before",
        severity=Severity.NOTICE,
        is_guard=True,
        because="more executors brought nothing before",
        advice="Look for skew, a slow sink, or too few partitions.",
    )
    INEFFECTIVE_SCALE_OUT = Meaning(
        "ineffective_scale_out",
        "the last scale-out brought nothing and is taken back",
        severity=Severity.NOTICE,
        is_guard=True,
        because="the last scale-out brought nothing",
        advice="Look for skew, a slow sink, or too few partitions.",
    )
    AT_MAXIMUM = Meaning(
        "at_maximum",
        "above the target with everything there is",
        severity=Severity.WARNING,
        is_guard=True,
        advice="Raise `executors.max` and `spark.cores.max`, or relax the target.",
    )

    DEAD_TIME_LEARNED = Meaning("dead_time_learned", "learned how long executors take to start")
    EXECUTOR_STARTED = Meaning("executor_started", "executor started")
    EXECUTOR_DRAINING = Meaning(
        "executor_draining", "executor is draining", severity=Severity.NOTICE
    )
    EXECUTOR_DRAINED = Meaning("executor_drained", "executor drained")
    EXECUTOR_LOST = Meaning(
        "executor_lost",
        "executor lost",
        severity=Severity.WARNING,
        advice="Read its log on the worker; memory is the usual reason.",
    )
    EXECUTOR_KILLED = Meaning(
        "executor_killed",
        "executor killed because it did not drain in time",
        severity=Severity.NOTICE,
        advice="Raise `spark.grace_s` where tasks are long.",
    )
    SCALE_IN_DELAYED = Meaning(
        "scale_in_delayed",
        "scale-in waits for executors that are starting",
        severity=Severity.NOTICE,
        is_guard=True,
    )
    EXECUTORS_STALLED = Meaning(
        "executors_stalled",
        "requested executors do not arrive",
        severity=Severity.WARNING,
        is_guard=True,
        advice="Check free cores and memory on the cluster, and `spark.cores.max`.",
    )
    AGENT_LOST = Meaning(
        "agent_lost",
        "agent lost; its host restores itself when the lease ends",
        severity=Severity.WARNING,
        advice="`systemctl status foresight-agent` on that host.",
        host_condition="lost",
    )
    AGENT_RECOVERED = Meaning("agent_recovered", "agent is back", host_condition="recovered")
    FREQUENCY_REFUSED = Meaning(
        "frequency_refused",
        "agent refused a frequency",
        severity=Severity.WARNING,
        is_guard=True,
        advice="The agent's audit log says why.",
        host_condition="refused",
    )
    HOST_DRIFTED = Meaning(
        "host_drifted",
        "another program changed the frequency of a host",
        severity=Severity.WARNING,
        advice=(
            "Stop the other writer (TuneD, TLP, …); the host is left alone until the lease ends."
        ),
        host_condition="drifted",
    )
    HOSTS_UNREADABLE = Meaning(
        "hosts_unreadable",
        "the hosts' power and CPU time cannot be read",
        severity=Severity.WARNING,
    )
    HOSTS_RECOVERED = Meaning("hosts_recovered", "the hosts can be read again")

    QUERY_STARTED = Meaning("query_started", "query started")
    QUERY_STOPPED = Meaning("query_stopped", "query stopped", severity=Severity.NOTICE)
    QUERY_FAILED = Meaning("query_failed", "query failed", severity=Severity.WARNING)
    QUERY_STALE = Meaning(
        "query_stale",
        "query reports nothing new",
        severity=Severity.WARNING,
        advice="A very long batch, or a hung one: see Spark's page or the driver's log.",
    )
    QUERY_RECOVERED = Meaning("query_recovered", "query reports again")
    SESSION_UNREADABLE = Meaning(
        "session_unreadable",
        "the Spark session cannot be read",
        severity=Severity.WARNING,
        advice="Several in a row: the driver is overloaded.",
    )
    SESSION_RECOVERED = Meaning("session_recovered", "the Spark session can be read again")

    STEP_FAILED = Meaning(
        "step_failed",
        "a part of the step failed; what was there was kept",
        severity=Severity.WARNING,
        advice="A bug: keep the journal.",
    )
    STEPS_MISSED = Meaning(
        "steps_missed",
        "steps missed",
        severity=Severity.WARNING,
        advice="Raise `horizon.step_s`, or give the controller more CPU.",
    )
    JOURNAL_UNAVAILABLE = Meaning(
        "journal_unavailable",
        "the journal could not be written; control goes on",
        severity=Severity.WARNING,
        advice="Check disk space and permissions.",
    )
    SNAPSHOT_UNAVAILABLE = Meaning(
        "snapshot_unavailable",
        "the policy could not be saved; control goes on",
        severity=Severity.WARNING,
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
