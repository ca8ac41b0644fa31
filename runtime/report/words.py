"""Decisions and events in words for people: one vocabulary for page, terminal, reports and log.

Everything is read from records of the journal. What repeats is told once, with how often and since
when.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mpc.events import DescribedEvent, Event, EventKind, changes
from mpc.values import Configuration, Decision
from runtime.control.journal import StepRecord
from runtime.report.text import clock, number, plural, seconds

_NOT_APPLIED = (EventKind.HELD_PAUSED, EventKind.HELD_EXCLUDED_PERIOD)
"""What keeps a target from being applied at all."""


def why(record: StepRecord) -> str:
    """One sentence: what the step did, and why."""
    wanted = record.decision.target
    sentence = f"{_move(record)}: {record.decision.reason or 'no reason given'}"
    if wanted != record.target:
        because = " and ".join(
            dict.fromkeys(
                event.kind.because
                for event in record.events
                if event.kind.because is not None and event.kind not in _NOT_APPLIED
            )
        )
        sentence += f"; {place(wanted)} was wanted, but {because or 'the guards held it back'}"
    for event in record.events:
        if event.kind in _NOT_APPLIED:
            sentence += f"; nothing was changed, {event.kind.because} ({event.detail})"
    load = _load(record)
    return f"{sentence} ({load})." if load else f"{sentence}."


def place(configuration: Configuration) -> str:
    """A configuration as people say it: `4 executors at 1.8 GHz`."""
    executors = plural(configuration.executors, "executor")
    return f"{executors} at {_frequency(configuration.frequency_khz)}"


def in_words(kind: DescribedEvent, detail: str) -> str:
    """`scaled out: 2 to 4 executors`."""
    return f"{kind.words}: {detail}" if detail else kind.words


def event_in_words(event: Event) -> str:
    return in_words(event.kind, event.detail)


def events_in_words(events: Iterable[Event]) -> list[str]:
    """One line a kind, in the order of first appearance; repeated ones are counted.

    The detail is that of the last.
    """
    last: dict[EventKind, Event] = {}
    times: dict[EventKind, int] = {}
    for event in events:
        last[event.kind] = event
        times[event.kind] = times.get(event.kind, 0) + 1
    return [
        event_in_words(event) + (f" ({times[kind]} times)" if times[kind] > 1 else "")
        for kind, event in last.items()
    ]


@dataclass(frozen=True, slots=True)
class FoldedEvent:
    """Events of one kind that followed each other, with nothing else of note between."""

    kind: EventKind
    detail: str
    """Of the last."""
    times: int
    first_at_s: float
    last_at_s: float
    first_step: int
    last_step: int

    @property
    def words(self) -> str:
        """`held for stale measurements, 12 times since 17:03: 2 executors at 1.8 GHz wanted`."""
        words = self.kind.words
        if self.times > 1:
            words += f", {self.times} times since {clock(self.first_at_s, self.last_at_s)}"
        return f"{words}: {self.detail}" if self.detail else words


def folded(records: Iterable[StepRecord], apart_steps: int = 60) -> list[FoldedEvent]:
    """The events of the records, oldest first by their last time.

    An event is folded into the one of its kind before, unless more than `apart_steps` steps lie
    between them. Changes fold like everything else: ten in a row are one line with its count.
    """
    done: list[FoldedEvent] = []
    running: dict[EventKind, FoldedEvent] = {}
    for record in records:
        step = record.measurement.step
        for event in record.events:
            before = running.get(event.kind)
            if before is not None and step - before.last_step > apart_steps:
                done.append(before)
                before = None
            running[event.kind] = FoldedEvent(
                event.kind,
                event.detail,
                1 if before is None else before.times + 1,
                record.at_s if before is None else before.first_at_s,
                record.at_s,
                step if before is None else before.first_step,
                step,
            )
    return sorted([*done, *running.values()], key=lambda event: (event.last_at_s, event.last_step))


def _move(record: StepRecord) -> str:
    held = any(event.kind in _NOT_APPLIED for event in record.events)
    advised = held or record.mode == "advise"
    verbs = {
        EventKind.SCALED_OUT: "would scale out" if advised else "scaled out",
        EventKind.SCALED_IN: "would scale in" if advised else "scaled in",
        EventKind.FREQUENCY_RAISED: "would raise the frequency" if advised else "raised",
        EventKind.FREQUENCY_LOWERED: "would lower the frequency" if advised else "lowered",
    }
    before, after = record.measurement.requested, record.target
    moves = []
    for event in changes(before, after):
        verb = verbs[event.kind]
        if event.kind in (EventKind.SCALED_OUT, EventKind.SCALED_IN):
            moves.append(f"{verb} from {before.executors} to {plural(after.executors, 'executor')}")
        else:
            noun = "" if advised else " the frequency"
            low, high = _frequency(before.frequency_khz), _frequency(after.frequency_khz)
            moves.append(f"{verb}{noun} from {low} to {high}")
    words = " and ".join(moves) or f"{'would stay' if advised else 'stayed'} at {place(before)}"
    return words[0].upper() + words[1:]


def _load(record: StepRecord) -> str:
    """What the decision rests on, as far as it is known."""
    measured, expected = record.measurement, record.decision.expected_arrivals_per_s
    parts = []
    if measured.arrivals_per_s is not None:
        parts.append(f"{number(measured.arrivals_per_s)} items/s arrived")
    if expected is not None and len(expected):
        carrier = forecast_carrier(record.decision)
        by = f" (by {carrier})" if carrier else ""
        parts.append(f"up to {number(float(expected.max()))} items/s expected{by}")
    if measured.latency_s is not None:
        parts.append(f"latency {seconds(measured.latency_s)}")
    return ", ".join(parts)


def _frequency(frequency_khz: int) -> str:
    return f"{number(frequency_khz / 1e6)} GHz"


def forecast_carrier(decision: Decision) -> str:
    """The forecast that has the largest share in what is expected; "" where there is but one."""
    if decision.forecast_by is None or decision.forecast_share is None:
        return ""
    return f"{decision.forecast_by} {decision.forecast_share:.0%}"
