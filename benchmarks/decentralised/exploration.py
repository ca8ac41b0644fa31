"""Random schedules of the asynchronous network, and the shortest way to a violation.

A schedule is one choice after the other among everything that may happen next, so that every
interleaving and every delay has a chance. Where the choices come from is the caller's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.decentralised.asynchronous import (
    WHEN_QUIET,
    AsynchronousNetwork,
    Breach,
    Enter,
    Event,
    PipelineSetting,
    Report,
)

Choose = Callable[[int], int]
"""One of so many: 0 .. n - 1."""

OPERATION_SHARE = 8
"""One event in so many begins a scaling operation, where one is possible."""
SHORTENED = 10
"""So many counter-examples are made shorter, to show the shortest."""


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    events: tuple[Event, ...]
    report: Report


@dataclass(frozen=True, slots=True)
class Search:
    """Many schedules under one setting."""

    schedules: int
    violated: int
    """Schedules with a violation of any kind."""
    shortest: ScheduleRun | None
    """The shortest way found to the kind of violation that was looked for."""


def explore(setting: PipelineSetting, events: int, choose: Choose) -> ScheduleRun:
    """So many events as chosen, then all that is under way in an order as chosen."""
    network = AsynchronousNetwork(setting)
    chosen: list[Event] = []

    def take(candidates: Sequence[Event]) -> None:
        event = candidates[choose(len(candidates))]
        network.apply(event)
        chosen.append(event)

    for _ in range(events):
        operations = network.operations()
        if operations and choose(OPERATION_SHARE) == 0:
            take(operations)
        else:
            take([Enter(), *network.deliveries(), *network.works()])
    while candidates := network.deliveries() + network.works():
        take(candidates)
    network.check_quiet()
    return ScheduleRun(tuple(chosen), network.report)


def replay(setting: PipelineSetting, events: Sequence[Event], settle: bool) -> Report:
    """The same events again, without those that are impossible; then all that is under way."""
    network = AsynchronousNetwork(setting)
    for event in events:
        network.apply(event)
    if settle:
        network.settle()
    return network.report


def search(
    setting: PipelineSetting,
    schedules: int,
    events: int,
    generator: np.random.Generator,
    sought: Breach,
    on_done: Callable[[], None] | None = None,
) -> Search:
    def choose(count: int) -> int:
        return int(generator.integers(count))

    violated = 0
    found: list[ScheduleRun] = []
    for _ in range(schedules):
        run = explore(setting, events, choose)
        violated += bool(run.report.violations)
        if len(found) < SHORTENED and shows(run.report, sought):
            found.append(run)
        if on_done:
            on_done()
    shortest = min(
        (shortened(setting, run, sought) for run in found),
        key=lambda run: len(run.events),
        default=None,
    )
    return Search(schedules, violated, shortest)


def shows(report: Report, sought: Breach) -> bool:
    return any(violation.breach is sought for violation in report.violations)


def shortened(setting: PipelineSetting, run: ScheduleRun, sought: Breach) -> ScheduleRun:
    """Leave out whatever the violation does not need, big pieces first."""
    settle = sought in WHEN_QUIET
    events = list(run.events)
    piece = max(len(events) // 2, 1)
    while True:
        removed = False
        for begin in range(len(events) - piece, -1, -piece):
            without = events[:begin] + events[begin + piece :]
            if shows(replay(setting, without, settle), sought):
                events, removed = without, True
        if piece == 1 and not removed:
            return ScheduleRun(tuple(events), replay(setting, events, settle))
        if not removed:
            piece = max(piece // 2, 1)


def story(report: Report, sought: Breach) -> list[str]:
    """The log up to the violation; what was sent appears when it arrives."""
    lines = []
    for line in report.log:
        if not line.startswith("sent: "):
            lines.append(line)
        if line.startswith(f"VIOLATION, {sought.value}"):
            break
    return lines
