"""The last decisions as people read them: what changed, why, and what happened besides.

Steps in a row that hold what is there are one entry, which counts them and tells the last reason.
"""

from collections import deque
from dataclasses import dataclass, replace

from mpc.events import EventKind
from mpc.values import Configuration
from runtime.control.journal import StepRecord
from runtime.report.words import events_in_words, why

MOST_ENTRIES = 60
_IN_THE_SENTENCE = (
    EventKind.SCALED_OUT,
    EventKind.SCALED_IN,
    EventKind.FREQUENCY_RAISED,
    EventKind.FREQUENCY_LOWERED,
    EventKind.ADVISED,
)
"""Events that the words of the decision tell already."""


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Entry:
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
    events: tuple[Event, ...]


class DecisionLog:
    """Newest last."""

    def __init__(self, most_entries: int = MOST_ENTRIES) -> None:
        self._entries: deque[Entry] = deque(maxlen=most_entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    @property
    def last(self) -> Entry | None:
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
            Entry(
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


def _holds_on(last: Entry, record: StepRecord) -> bool:
    """Whether nothing happens in a step, as nothing did in those of the entry."""
    return (
        not (last.events or record.events)
        and record.mode == last.mode
        and last.before == last.requested == record.measurement.requested
        and record.applied.requested == last.requested
    )


def _events(record: StepRecord) -> tuple[Event, ...]:
    return tuple(
        Event(event.kind.value, words)
        for event in record.events
        if event.kind not in _IN_THE_SENTENCE
        for words in events_in_words((event,))
    )
