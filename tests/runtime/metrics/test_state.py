"""The state behind every view, from records of real decisions and from arbitrary ones."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from math import isclose
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpc.events import Event, EventKind
from mpc.values import Applied, Configuration
from runtime.control.journal import StepRecord
from runtime.metrics.facts import Facts, facts_of
from runtime.metrics.fan import FEWEST_ERRORS, ForecastErrors
from runtime.metrics.points import StepPoint
from runtime.metrics.state import RunState
from tests.runtime.control.records import plain_record
from tests.runtime.control.records import records as any_record
from tests.runtime.web.recorded import config, reported_by_batch

FACTS = facts_of(config(), "orders")


def state_of(records: tuple[StepRecord, ...], facts: Facts = FACTS) -> RunState:
    state = RunState(facts)
    for record in records:
        assert state.add(record)
    return state


def test_points_tell_what_the_records_say(records: tuple[StepRecord, ...]) -> None:
    state = state_of(records)
    assert len(state.points) == len(records)
    for point, record in zip(state.points, records, strict=True):
        measured, plan = record.measurement, record.decision.plan
        planned = record.decision.target if plan is None else plan.trajectory[0]
        values = point.values
        assert values.get("arrivals/arrived") == measured.arrivals_per_s
        assert values["executors/requested"] == record.applied.requested.executors
        assert values["frequency/observed"] == record.applied.observed.frequency_khz * 1000
        assert values["executors/plan"] == planned.executors
        assert values.get("cost/latency") == (None if plan is None else plan.cost.latency)
    late = [r.measurement.latency_s for r in records if (r.measurement.latency_s or 0.0) > 1.5]
    marked = [point.values["latency/late"] for point in state.points if is_late(point)]
    assert marked == late
    assert state.points[-1].values["late_steps"] == len(late) > 0


def is_late(point: StepPoint) -> bool:
    return "latency/late" in point.values


def test_what_was_expected_is_the_forecast_of_the_step_before(
    records: tuple[StepRecord, ...],
) -> None:
    state = state_of(records)
    for before, point in zip(records, state.points[1:], strict=False):
        expected = before.decision.expected_arrivals_per_s
        shown = point.values.get("arrivals/expected")
        assert shown == (None if expected is None else expected[0])


def test_energy_is_power_over_the_steps(records: tuple[StepRecord, ...]) -> None:
    state = state_of(records)
    total_j = sum(record.measurement.power_w or 0.0 for record in records)  # steps of a second
    assert isclose(state.points[-1].values["energy_joules"], total_j, rel_tol=1e-9)


def test_the_fan_covers_most_of_what_came(records: tuple[StepRecord, ...]) -> None:
    values = [point.values for point in state_of(records).points]
    inside = [
        each["arrivals/low"] <= each["arrivals/arrived"] <= each["arrivals/high"]
        for each in values
        if "arrivals/low" in each and "arrivals/arrived" in each
    ]
    assert len(inside) > 100
    assert 0.6 < sum(inside) / len(inside) < 0.95


def test_the_fan_has_no_range_before_enough_forecasts_came_true(
    records: tuple[StepRecord, ...],
) -> None:
    errors = ForecastErrors()
    for record in records[:FEWEST_ERRORS]:
        errors.observe(record, 1.0)
    assert all(each.low_per_s is None for each in errors.fan(records[FEWEST_ERRORS - 1]))


@pytest.mark.parametrize("age_steps", [0, 9, 21])
def test_forecasts_are_compared_with_the_step_a_rate_belongs_to(
    records: tuple[StepRecord, ...], age_steps: int
) -> None:
    """Whatever is expected comes exactly, but is told by the batch and late."""
    exact = []
    for index, record in enumerate(records):
        rates = np.array([100.0 * (index + ahead) ** 2 for ahead in (1, 2, 3)])
        decision = replace(record.decision, expected_arrivals_per_s=rates)
        measured = replace(record.measurement, arrivals_per_s=100.0 * index**2)
        exact.append(replace(record, measurement=measured, decision=decision))
    state = state_of(reported_by_batch(tuple(exact), 5, age_steps))
    fan = state.view().fan
    assert len(fan) == 3
    for each in fan:
        assert each.low_per_s == each.high_per_s == each.per_s


def test_forecasts_that_nobody_answers_are_forgotten(records: tuple[StepRecord, ...]) -> None:
    errors, silent = ForecastErrors(), reported_by_batch(records[:1], 1, 1)[0]
    planned = next(r.decision for r in records if r.decision.expected_arrivals_per_s is not None)
    for step in range(1, 2000):
        measured = replace(silent.measurement, step=step)
        errors.observe(replace(silent, measurement=measured, decision=planned), 1.0)
    assert len(errors._pending) < 700


def test_a_record_that_is_known_is_not_taken_twice(records: tuple[StepRecord, ...]) -> None:
    state = state_of(records[:20])
    assert not state.add(records[19])
    assert not state.add(records[3])
    assert len(state.points) == 20
    # Numbered anew, because nothing was resumed; but later.
    assert state.add(replace(plain_record(0), at_s=records[19].at_s + 5.0))


def test_steps_that_hold_are_one_decision(records: tuple[StepRecord, ...]) -> None:
    entries = state_of(records).decisions.entries
    assert sum(entry.times for entry in entries) <= len(records)
    changes = [entry for entry in entries if entry.before != entry.requested]
    assert changes and all(entry.times == 1 and entry.words for entry in changes)
    for one, next_one in pairwise(entries):
        held = one.before == one.requested == next_one.before == next_one.requested
        assert not held or one.events or next_one.events


def test_hosts_are_known_by_their_events() -> None:
    lost = Event(EventKind.AGENT_LOST, "w2: connection refused")
    back = Event(EventKind.AGENT_RECOVERED, "w1: answers again")
    state = state_of((replace(plain_record(1), events=(lost, back)),))
    assert [(host.name, host.condition) for host in state.reported_hosts] == [
        ("w1", "recovered"),
        ("w2", "lost"),
    ]


def test_a_query_that_waits_keeps_the_figures_of_its_last_batch() -> None:
    fresh: dict[str, Any] = {
        "query": "q",
        "activity": "fresh",
        "arrivals_per_s": 5.0,
        "latency_s": 2.0,
    }
    silent: dict[str, Any] = {"query": "q", "arrivals_per_s": None, "latency_s": None}

    def shown(*queries: dict[str, Any]) -> Mapping[str, Any]:
        steps = (replace(plain_record(i), queries=(each,)) for i, each in enumerate(queries))
        latest = state_of(tuple(steps)).latest()
        assert latest is not None
        return latest.queries[0]

    waiting, stale = {**silent, "activity": "waiting"}, {**silent, "activity": "stale"}
    held = shown(fresh, waiting, waiting)
    assert (held["activity"], held["arrivals_per_s"], held["latency_s"]) == ("waiting", 5.0, 2.0)
    assert shown(fresh, stale)["arrivals_per_s"] is None
    assert shown({**waiting, "query": "p"}, waiting)["arrivals_per_s"] is None


def test_unapplied_requests_are_timed() -> None:
    place, more = Configuration(2, 2_000_000), Configuration(4, 2_000_000)
    waiting = Applied(requested=more, observed=place)
    steps = [replace(plain_record(step), applied=waiting) for step in (1, 2, 3)]
    state = state_of(tuple(steps))
    assert state.view().unapplied_s == {"executors": 2.0, "frequency": 0.0}
    state.add(replace(plain_record(4), applied=Applied(more, more)))
    assert state.view().unapplied_s == {"executors": 0.0, "frequency": 0.0}


@settings(max_examples=15)
@given(st.lists(any_record, max_size=4))
def test_no_record_is_too_strange(found: list[StepRecord]) -> None:
    state = RunState(FACTS, window_s=None, most_points=3)
    for record in found:
        state.add(record)
    assert len(state.points) <= 3
    msgspec.json.encode((state.points, state.latest(), state.decisions.entries))


@pytest.mark.parametrize("known", [True, False])
def test_without_a_target_nothing_is_late(records: tuple[StepRecord, ...], known: bool) -> None:
    state = state_of(records, FACTS if known else Facts(application="orders"))
    assert any(is_late(point) for point in state.points) is known
    assert state.step_s == 1.0
