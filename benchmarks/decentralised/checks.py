"""The protocol's promises on random schedules, with everything in place and with one thing missing.

Section 4.3 of Belkhiria and Tedeschi 2019 argues that ordered channels and acknowledgements are
needed. Here each is taken away and the search shows what happens then; so is each repair of the
published protocol.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.decentralised.asynchronous import Breach, PipelineSetting
from benchmarks.decentralised.exploration import search, story
from mpc.decentralised.node import ALL_GUARDS, Guard


@dataclass(frozen=True, slots=True)
class ScheduleCase:
    missing: str
    setting: PipelineSetting
    events: int
    """Of every schedule, before it runs out."""
    sought: Breach


@dataclass(frozen=True, slots=True)
class Check:
    missing: str
    schedules: int
    violated: int
    shortest_events: int | None
    """Of the shortest way found to the violation that is looked for."""
    looked_for: str


def without(*guards: Guard) -> frozenset[Guard]:
    return ALL_GUARDS - set(guards)


COMPLETE = ScheduleCase("nothing", PipelineSetting((1, 2, 2, 2)), 80, Breach.SENT_TO_DELETED)
INCOMPLETE = (
    ScheduleCase(
        "ordered channels", PipelineSetting((1, 1, 2), fifo=False), 40, Breach.SENT_TO_DELETED
    ),
    ScheduleCase(
        "acknowledgements",
        PipelineSetting((1, 1, 1), guards=without(Guard.ACKNOWLEDGEMENTS)),
        40,
        Breach.UNKNOWN_SENDER,
    ),
    ScheduleCase(
        "repair: predecessors are told first",
        PipelineSetting((1, 2, 2), guards=without(Guard.PREDECESSORS_FIRST)),
        40,
        Breach.SENT_TO_DELETED,
    ),
    ScheduleCase(
        "repair: who goes is named to new instances",
        PipelineSetting((1, 2, 1), guards=without(Guard.LEAVERS_NAMED)),
        100,
        Breach.UNKNOWN_SENDER,
    ),
    ScheduleCase(
        "repair: one operation at a time",
        PipelineSetting((1, 2, 1), guards=without(Guard.ONE_OPERATION)),
        40,
        Breach.SENT_TO_DELETED,
    ),
    ScheduleCase(
        "repair: a sender's side by its operator",
        PipelineSetting((1, 1, 2), guards=without(Guard.SIDE_BY_OPERATOR)),
        40,
        Breach.SENT_TO_DELETED,
    ),
)


def checks(
    schedules: int, seed: int, on_done: Callable[[], None] | None = None
) -> tuple[list[Check], dict[str, list[str]]]:
    """One row a case, and the shortest counter-example of each as lines of text."""
    rows: list[Check] = []
    traces: dict[str, list[str]] = {}
    for case in (COMPLETE, *INCOMPLETE):
        generator = np.random.default_rng(seed)
        found = search(case.setting, schedules, case.events, generator, case.sought, on_done)
        shortest = found.shortest
        if shortest is not None:
            traces[case.missing] = story(shortest.report, case.sought)
        rows.append(
            Check(
                case.missing,
                found.schedules,
                found.violated,
                None if shortest is None else len(shortest.events),
                case.sought.value,
            )
        )
    return rows, traces
