"""The last decisions as people read them: what changed, why, and what happened besides.

Steps in a row that hold what is there are one entry, which counts them and tells the last reason.
"""

from collections import deque
from dataclasses import dataclass, replace

from mpc.events import DescribedEvent, Severity
from mpc.values import Configuration
from runtime.control.journal import StepRecord
from runtime.report.words import in_words, why

MOST_ENTRIES = 60


@dataclass(frozen=True, slots=True)
class ShownEvent:
    kind: str
    words: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    step: int
    """The first of the steps in it; identifies the entry."""
    at_s: float
    last_at_s: float
    times: int
    before: Configuration
    """Requested until then."""
    wanted: Configuration
    """By the policy."""
    requested: Configuration
    """What came of it, after the guards."""
    observed: Configuration
    mode: str
    words: str
    events: tuple[ShownEvent, ...]


class DecisionLog:
    """Newest last."""

    def __init__(self, most_entries: int = MOST_ENTRIES) -> None:
        self._entries: deque[DecisionEntry] = deque(maxlen=most_entries)

    @property
    def entries(self) -> tuple[DecisionEntry, ...]:
        return tuple(self._entries)

    @property
    def last(self) -> DecisionEntry | None:
        return self._entries[-1] if self._entries else None

    def add(self, record: StepRecord) -> None:
        last = self.last
        if last is not None and _holds_on(last, record):
            self._entries[-1] = replace(
                last,
                last_at_s=record.at_s,
                times=last.times + 1,
                wanted=record.decision.target,
                observed=record.applied.observed,
                words=why(record),
            )
            return
        self._entries.append(
            DecisionEntry(
                step=record.measurement.step,
                at_s=record.at_s,
                last_at_s=record.at_s,
                times=1,
                before=record.measurement.requested,
                wanted=record.decision.target,
                requested=record.applied.requested,
                observed=record.applied.observed,
                mode=record.mode,
                words=why(record),
                events=_events(record),
            )
        )


def _holds_on(last: DecisionEntry, record: StepRecord) -> bool:
    """Whether nothing happens in a step, as nothing did in those of the entry."""
    return (
        not (last.events or record.events)
        and record.mode == last.mode
        and last.before == last.requested == record.measurement.requested
        and record.applied.requested == last.requested
    )


def _events(record: StepRecord) -> tuple[ShownEvent, ...]:
    return tuple(
        shown_event(event.kind, event.detail)
        for event in record.events
        if not event.kind.meaning.is_change
    )


def shown_event(kind: DescribedEvent, detail: str) -> ShownEvent:
    return ShownEvent(kind.value, in_words(kind, detail), kind.severity)
