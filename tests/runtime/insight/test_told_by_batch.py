"""A report on a journal whose rates and latencies are told once a batch, and late."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.control.journal import StepRecord
from runtime.insight.charts import charts
from runtime.insight.explain import explanation
from runtime.insight.journals import RecordedRun
from runtime.insight.summary import summary, violations
from tests.runtime.web.recorded import recorded, told_by_batch

STEPS, EVERY, AGE = 100, 12, 9
Records = tuple[StepRecord, ...]


@pytest.fixture(scope="module")
def dense() -> Records:
    return recorded(STEPS)


def run_of(records: Records) -> RecordedRun:
    return RecordedRun(Path("orders"), records, 0, ())


def lines(records: Records, panel: str) -> dict[str, list[float | None]]:
    found = re.search(r"<script[^>]*>(.*?)</script>", charts([run_of(records)], ["orders"]))
    assert found is not None
    document: dict[str, Any] = json.loads(found.group(1))
    return {line["name"]: line["values"] for line in document["panels"][panel]}


def test_arrivals_stand_where_they_came_and_are_joined(dense: Records) -> None:
    came = lines(told_by_batch(dense, EVERY, AGE), "arrivals")["came"]
    told = range(EVERY - AGE, STEPS - AGE, EVERY)
    for step in told:
        assert came[step] == pytest.approx(dense[step].measurement.arrivals_per_s, rel=1e-3)
    first, second = came[told[0]], came[told[1]]
    assert first is not None and second is not None
    assert came[told[0] + EVERY // 2] == pytest.approx((first + second) / 2, rel=1e-3)
    known = [step for step, value in enumerate(came) if value is not None]
    assert known == list(range(told[0], told[-1] + 1))


def test_latency_is_joined_but_not_over_an_outage(dense: Records) -> None:
    sparse = told_by_batch(dense, EVERY, AGE)
    latency_s = lines(sparse, "latency")["latency"]
    assert None not in latency_s[EVERY : STEPS // EVERY * EVERY + 1]
    # Six results in a row are taken away.
    lost = tuple(
        replace(record, measurement=replace(record.measurement, latency_s=None))
        if 24 <= index <= 84
        else record
        for index, record in enumerate(told_by_batch(recorded(STEPS * 2), EVERY, AGE))
    )
    latency_s = lines(lost, "latency")["latency"]
    assert latency_s[13:96] == [None] * 83
    assert latency_s[12] is not None and latency_s[96] is not None


def test_forecasts_are_judged_by_the_step_the_rate_belongs_to(dense: Records) -> None:
    pairs = []
    for step in range(EVERY, STEPS, EVERY):
        expected = dense[step - AGE - 1].decision.expected_arrivals_per_s
        came = dense[step - AGE].measurement.arrivals_per_s
        assert came is not None
        if expected is not None:
            pairs.append((float(expected[0]), came))
    error = sum(abs(expected - came) for expected, came in pairs) / sum(came for _, came in pairs)
    found = summary(run_of(told_by_batch(dense, EVERY, AGE))).forecast_error
    assert len(pairs) > 5
    assert found == pytest.approx(error)


def test_steps_between_two_batches_are_not_stale(dense: Records) -> None:
    sparse = told_by_batch(dense, EVERY, AGE)
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
    sparse, at = told_by_batch(dense, EVERY, AGE), 4 * EVERY
    told = explanation(sparse, at, None)
    before = dense[at - AGE - 1].decision.expected_arrivals_per_s
    assert before is not None
    assert told.expected_before_per_s == before[0]
    # The next value that is told belongs to three steps later.
    assert EVERY - AGE == 3
    came = [each.arrived_per_s for each in explanation(sparse, at, None).expected]
    assert came[2] == dense[at + 3].measurement.arrivals_per_s
    assert came[2] != sparse[at + 3].measurement.arrivals_per_s
