"""A report on a journal whose rates and latencies are told once a batch, and late."""

from dataclasses import replace
from pathlib import Path

import pytest

from runtime.control.journal import StepRecord
from runtime.insight.charts import drawing_of
from runtime.insight.explain import explanation
from runtime.insight.journals import RecordedRun
from runtime.insight.summary import summary, violations
from tests.runtime.web.recorded import recorded, reported_by_batch

STEPS, EVERY, AGE = 100, 12, 9
Records = tuple[StepRecord, ...]


@pytest.fixture(scope="module")
def dense() -> Records:
    return recorded(STEPS)


def run_of(records: Records) -> RecordedRun:
    return RecordedRun(Path("orders"), records, 0, ())


def pieces(records: Records, line: str) -> list[dict[int, float]]:
    """The unbroken pieces of a line, by step."""
    drawn = drawing_of([run_of(records)], ["orders"]).lines[line]
    began_s = records[0].at_s
    found: list[dict[int, float]] = [{}]
    for pair in drawn:
        if pair is None:
            found.append({})
        else:
            found[-1][round(pair[0] - began_s)] = pair[1]
    return found


def test_arrivals_stand_where_they_came_and_are_joined(dense: Records) -> None:
    (came,) = pieces(reported_by_batch(dense, EVERY, AGE), "arrivals/arrived")
    told = range(EVERY - AGE, STEPS - AGE, EVERY)
    assert list(came) == list(told)
    for step in told:
        assert came[step] == dense[step].measurement.arrivals_per_s


def test_latency_is_joined_but_not_over_an_outage(dense: Records) -> None:
    (latency_s,) = pieces(reported_by_batch(dense, EVERY, AGE), "latency/measured")
    assert list(latency_s) == list(range(EVERY, STEPS, EVERY))
    # Six results in a row are taken away.
    lost = tuple(
        replace(record, measurement=replace(record.measurement, latency_s=None))
        if 24 <= index <= 84
        else record
        for index, record in enumerate(reported_by_batch(recorded(STEPS * 2), EVERY, AGE))
    )
    before, after = pieces(lost, "latency/measured")
    assert list(before) == [12]
    assert list(after) == list(range(96, STEPS * 2, EVERY))


def test_two_runs_share_charts_and_begin_together(dense: Records) -> None:
    other = tuple(replace(record, at_s=record.at_s + 500.0) for record in dense[:50])
    drawing = drawing_of([run_of(dense), run_of(other)], ["one", "other"])
    assert [line.name for line in drawing.charts[0].lines] == ["one", "other"]
    for chart in drawing.charts:
        for line in chart.lines:
            assert drawing.lines[line.key][0] is not None
    first = drawing.lines["executors/other"][0]
    assert first is not None and first[0] == 0.0
    assert drawing.span == (0.0, dense[-1].at_s - dense[0].at_s)


def test_forecasts_are_judged_by_the_step_the_rate_belongs_to(dense: Records) -> None:
    pairs = []
    for step in range(EVERY, STEPS, EVERY):
        expected = dense[step - AGE - 1].decision.expected_arrivals_per_s
        came = dense[step - AGE].measurement.arrivals_per_s
        assert came is not None
        if expected is not None:
            pairs.append((float(expected[0]), came))
    error = sum(abs(expected - came) for expected, came in pairs) / sum(came for _, came in pairs)
    found = summary(run_of(reported_by_batch(dense, EVERY, AGE))).forecast_error
    assert len(pairs) > 5
    assert found == pytest.approx(error)


def test_steps_between_two_batches_are_not_stale(dense: Records) -> None:
    sparse = reported_by_batch(dense, EVERY, AGE)
    assert summary(run_of(sparse[EVERY:])).stale_steps == 0
    silent = tuple(
        replace(each, measurement=replace(each.measurement, arrivals_per_s=None, batches=()))
        for each in sparse[EVERY + 1 :]
    )
    # Two periods may pass; what is longer is overdue.
    assert summary(run_of((sparse[EVERY], *silent))).stale_steps == len(silent) - 2 * EVERY


def test_late_batches_in_a_row_are_one_stretch(dense: Records) -> None:
    late = [
        replace(each, measurement=replace(each.measurement, latency_s=latency_s))
        for each, latency_s in zip(
            dense, (1.0, None, 3.0, None, None, 4.0, None, 1.0), strict=False
        )
    ]
    (found,) = violations(late, 2.0)
    assert (found.first, found.steps, found.worst_latency_s) == (late[2], 2, 4.0)


def test_an_explanation_sets_forecasts_beside_what_came_then(dense: Records) -> None:
    sparse, at = reported_by_batch(dense, EVERY, AGE), 4 * EVERY
    told = explanation(sparse, at, None)
    before = dense[at - AGE - 1].decision.expected_arrivals_per_s
    assert before is not None
    assert told.expected_before_per_s == before[0]
    # The next value that is told belongs to three steps later.
    assert EVERY - AGE == 3
    came = [each.arrived_per_s for each in explanation(sparse, at, None).expected]
    assert came[2] == dense[at + 3].measurement.arrivals_per_s
    assert came[2] != sparse[at + 3].measurement.arrivals_per_s
