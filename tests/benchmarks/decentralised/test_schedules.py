"""The protocol's promises on any schedule, and how each falls without what it rests on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.decentralised.asynchronous import (
    Breach,
    Deliver,
    Enter,
    Event,
    InstanceAddition,
    InstanceRemoval,
    PipelineSetting,
    Work,
)
from benchmarks.decentralised.checks import COMPLETE, INCOMPLETE, ScheduleCase, checks, without
from benchmarks.decentralised.exploration import explore, replay, search, shows, story
from mpc.decentralised.messages import Address
from mpc.decentralised.node import ALL_GUARDS, Guard

SOURCE = Address(0, 0)
A0, A1, A2 = Address(1, 0), Address(1, 1), Address(1, 2)
B0, B1 = Address(2, 0), Address(2, 1)

pipelines = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(lambda rest: (1, *rest))


@given(
    instances=pipelines,
    most_instances=st.integers(2, 4),
    choices=st.lists(st.integers(0, 10_000), max_size=250),
)
def test_no_schedule_breaks_the_protocol(
    instances: tuple[int, ...], most_instances: int, choices: list[int]
) -> None:
    left = iter(choices)
    setting = PipelineSetting(instances, most_instances)
    run = explore(setting, len(choices) // 2, lambda count: next(left, 0) % count)
    assert run.report.violations == []


@settings(max_examples=25)
@given(instances=pipelines, seed=st.integers(0, 2**32 - 1))
def test_no_long_random_schedule_breaks_the_protocol(instances: tuple[int, ...], seed: int) -> None:
    generator = np.random.default_rng(seed)
    run = explore(PipelineSetting(instances), 150, lambda count: int(generator.integers(count)))
    assert run.report.violations == []


def records(count: int, sender: Address) -> list[Event]:
    """So many enter, and those for one instance of the first operator reach it."""
    entering: list[Event] = [Enter()] * count
    return [*entering, *[Work(SOURCE)] * count, *[Deliver(SOURCE, sender)] * count]


# Figure 2 of the paper: A0 duplicates itself while B1 deletes itself, and B1's acknowledgement
# of the one overtakes its announcement of the other.
UNORDERED: Sequence[Event] = (
    InstanceAddition(A0),
    InstanceRemoval(B1),
    Deliver(A0, SOURCE),
    Deliver(A0, B0),
    Deliver(A0, B1),
    Deliver(B1, A0, position=1),
    Deliver(B0, A0),
    Deliver(SOURCE, A0),
    Deliver(A0, A1),
    Deliver(B1, A0),
    Deliver(A0, B1),
    *records(4, A1),
    Work(A1),
    Work(A1),
    Deliver(A1, B1),
)
# Section 4.3: a new instance that starts too early sends to who does not know it.
UNACKNOWLEDGED: Sequence[Event] = (
    InstanceAddition(A0),
    Deliver(A0, A1),
    Deliver(A0, SOURCE),
    *records(2, A1),
    Work(A1),
    Deliver(A1, B0),
)
# B1 forgets A1, which is going, and goes first without telling it; A1 still has records.
TOLD_AT_ONCE: Sequence[Event] = (
    InstanceRemoval(A1),
    Deliver(A1, B1),
    InstanceRemoval(B1),
    Deliver(B1, A0),
    Deliver(A0, B1),
    *records(4, A1),
    Work(A1),
    Work(A1),
    Deliver(A1, B1),
)
# B0 makes B1, which A1 sends a record before it goes; B1 never hears of A1 and goes as well.
LEAVER_NOT_NAMED: Sequence[Event] = (
    *records(4, A1),
    InstanceRemoval(A1),
    Deliver(A1, SOURCE),
    Deliver(SOURCE, A1),
    InstanceAddition(B0),
    Deliver(B0, A1),
    Work(A1),
    Work(A1),
    Deliver(A1, B0),
    Deliver(A1, B0),
    Deliver(A1, B0),
    Deliver(B0, A0),
    Deliver(A0, B0),
    Deliver(B0, B1),
    InstanceRemoval(B1),
    Deliver(B1, A0),
    Deliver(A0, B1),
    Deliver(A1, B1),
)
# A1 takes the acknowledgements of its duplication for those of its deletion.
OVERLAPPING: Sequence[Event] = (
    InstanceAddition(A1),
    Deliver(A1, SOURCE),
    Deliver(A1, B0),
    InstanceRemoval(A1),
    Deliver(SOURCE, A1),
    Deliver(B0, A1),
    *records(2, A1),
)
# A1 is told before its start that B1 goes, and cannot tell on which side B1 is.
SIDE_UNKNOWN: Sequence[Event] = (
    InstanceAddition(A0),
    Deliver(A0, SOURCE),
    Deliver(A0, B0),
    Deliver(A0, B1),
    Deliver(SOURCE, A0),
    Deliver(B0, A0),
    Deliver(B1, A0),
    InstanceRemoval(B1),
    Deliver(B1, A0),
    Deliver(B1, A1),
    Deliver(A0, B1),
    Deliver(A1, B1),
    Deliver(A0, A1),
    *records(4, A1),
    Work(A1),
    Work(A1),
    Deliver(A1, B1),
)


@pytest.mark.parametrize(
    ("setting", "events", "breach"),
    [
        (PipelineSetting((1, 1, 2), fifo=False), UNORDERED, Breach.SENT_TO_DELETED),
        (
            PipelineSetting((1, 1, 1), guards=without(Guard.ACKNOWLEDGEMENTS)),
            UNACKNOWLEDGED,
            Breach.UNKNOWN_SENDER,
        ),
        (
            PipelineSetting((1, 2, 2), guards=without(Guard.PREDECESSORS_FIRST)),
            TOLD_AT_ONCE,
            Breach.SENT_TO_DELETED,
        ),
        (
            PipelineSetting((1, 2, 1), guards=without(Guard.LEAVERS_NAMED)),
            LEAVER_NOT_NAMED,
            Breach.SENT_TO_DELETED,
        ),
        (
            PipelineSetting((1, 2, 1), guards=without(Guard.ONE_OPERATION)),
            OVERLAPPING,
            Breach.SENT_TO_DELETED,
        ),
        (
            PipelineSetting((1, 1, 2), guards=without(Guard.SIDE_BY_OPERATOR)),
            SIDE_UNKNOWN,
            Breach.SENT_TO_DELETED,
        ),
    ],
    ids=["fifo", "acknowledgements", "predecessors", "leavers", "one-operation", "side"],
)
def test_each_assumption_and_each_repair_is_needed(
    setting: PipelineSetting, events: Sequence[Event], breach: Breach
) -> None:
    """The same events break the protocol without it and do nothing with it."""
    assert shows(replay(setting, events, settle=False), breach)
    complete = replace(setting, guards=ALL_GUARDS, fifo=True)
    assert replay(complete, events, settle=True).violations == []


RARE = "repair: who goes is named to new instances"


@pytest.mark.parametrize(
    "case", [case for case in INCOMPLETE if case.missing != RARE], ids=lambda case: case.missing
)
def test_random_schedules_find_what_is_missing(case: ScheduleCase) -> None:
    found = search(case.setting, 300, case.events, np.random.default_rng(0), case.sought)
    assert found.shortest is not None
    assert found.violated > 0
    assert len(found.shortest.events) < 40
    assert story(found.shortest.report, case.sought)[-1].startswith("VIOLATION")
    complete = replace(case.setting, guards=ALL_GUARDS, fifo=True)
    assert replay(complete, found.shortest.events, settle=True).violations == []


def test_the_complete_protocol_keeps_its_promises_where_others_break() -> None:
    rows, traces = checks(30, seed=1)
    assert [row.missing for row in rows] == [case.missing for case in (COMPLETE, *INCOMPLETE)]
    assert rows[0].violated == 0
    assert COMPLETE.missing not in traces
    assert set(traces) <= {case.missing for case in INCOMPLETE}


def test_schedules_do_scale_and_do_work() -> None:
    """The property tests would hold for a network in which nothing happens."""
    generator = np.random.default_rng(5)
    run = explore(COMPLETE.setting, 200, lambda count: int(generator.integers(count)))
    log = run.report.log
    assert sum("terminates" in line for line in log) >= 2
    assert sum(line.startswith("arrives: start") for line in log) >= 2
    assert sum("leaves at" in line for line in log) >= 10


def test_a_pipeline_without_a_single_source_is_refused() -> None:
    with pytest.raises(ValueError, match="one source"):
        PipelineSetting((2, 2))
