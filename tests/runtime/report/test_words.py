"""Sentences and folded events are what happened."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from mpc.events import Event, EventKind
from mpc.values import Configuration, Decision
from runtime.control.journal import StepRecord
from runtime.report.text import clock, moment
from runtime.report.words import event_in_words, events_in_words, folded, why
from tests.runtime.control.cluster import SHORT, LoopRun
from tests.runtime.control.records import plain_record, records


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_event_has_words_of_its_own(kind: EventKind) -> None:
    words = kind.words
    assert words
    assert [other for other in EventKind if other.words == words] == [kind]


@settings(max_examples=25)
@given(record=records)
def test_every_record_has_a_sentence(record: StepRecord) -> None:
    sentence = why(record)
    assert sentence.endswith(".")
    assert f"{record.target.executors:,}" in sentence


def moved(executors: int, frequency_khz: int, **changed: Any) -> StepRecord:
    target = Configuration(executors, frequency_khz)
    record = replace(plain_record(3), target=target, decision=Decision(target, "because"))
    return replace(record, **changed)


def test_sentences() -> None:
    assert why(plain_record(3)) == "Stayed at 2 executors at 2 GHz: hold (1 items/s arrived)."
    assert why(moved(4, 1_800_000)).startswith(
        "Scaled out from 2 to 4 executors and lowered the frequency from 2 GHz to 1.8 GHz: because"
    )
    assert why(moved(1, 2_000_000, mode="advise")).startswith(
        "Would scale in from 2 to 1 executor: because"
    )
    held = moved(
        2,
        2_000_000,
        decision=Decision(
            Configuration(6, 2_000_000),
            "cheapest plan",
            expected_arrivals_per_s=np.array([5.0, 1200.0]),
        ),
        events=(Event(EventKind.HELD_USEFUL_TASKS, "6 wanted, a batch has tasks for 2"),),
    )
    assert why(held) == (
        "Stayed at 2 executors at 2 GHz: cheapest plan; 6 executors at 2 GHz was wanted, but more "
        "executors would find no task (1 items/s arrived, up to 1,200 items/s expected)."
    )


def test_what_was_not_applied_is_not_told_as_done() -> None:
    paused = moved(4, 2_000_000, events=(Event(EventKind.HELD_PAUSED, "maintenance"),))
    assert why(paused) == (
        "Would scale out from 2 to 4 executors: because; nothing was changed, the controller is "
        "paused (maintenance) (1 items/s arrived)."
    )


def test_events_of_one_list_are_counted() -> None:
    lost = Event(EventKind.EXECUTOR_LOST, "7")
    drained = Event(EventKind.EXECUTOR_DRAINED, "3")
    assert events_in_words([lost, drained, replace(lost, detail="9")]) == [
        "executor lost: 9 (2 times)",
        "executor drained: 3",
    ]
    assert event_in_words(Event(EventKind.STARTED, "")) == "controller started"


def test_repeated_events_are_folded_until_they_pause() -> None:
    stale = Event(EventKind.HELD_STALE_MEASUREMENT, "1 executors wanted")
    out = Event(EventKind.SCALED_OUT, "2 to 3 executors")
    happened = {0: (out,), **dict.fromkeys(range(5, 17), (stale,)), 90: (stale,)}
    steps = [replace(plain_record(step), events=happened.get(step, ())) for step in range(100)]
    first, many, last = folded(steps)
    assert first.words == "scaled out: 2 to 3 executors"
    assert many.words == (
        f"held because measurements are stale, 12 times since {clock(1005.0, 1016.0)}: "
        "1 executors wanted"
    )
    assert (many.first_step, many.last_step) == (5, 16)
    assert (last.times, last.first_step) == (1, 90)


def test_times_say_the_day_where_it_matters() -> None:
    assert clock(0.0) == moment(0.0)[:16]
    assert clock(0.0, 60.0) == moment(0.0)[11:16]
    assert clock(0.0, 90_000.0) == moment(0.0)[:16]


def test_a_policy_that_keeps_still_says_so(tmp_path: Path) -> None:
    seen = LoopRun(tmp_path, (*SHORT, "limits.min_dwell_steps=5")).run()
    kept = [record for record in seen if record.decision.cooling_down]
    assert kept
    for record in kept:
        assert record.target == record.measurement.requested
        assert "and is kept for 5" in record.decision.reason
        assert EventKind.HELD_COOLDOWN in {event.kind for event in record.events}
    # It may move again four steps after the one that changed it.
    moves = [r.measurement.step for r in seen if r.target != r.measurement.requested]
    assert all(later - earlier >= 5 for earlier, later in pairwise(moves))
