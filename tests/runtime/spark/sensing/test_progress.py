import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.spark.sensing.offsets import RowCount, advance, parse_offset
from runtime.spark.sensing.progress import parse_progress
from tests.runtime.spark.fake_query import RECORDED, recorded

NAMES = sorted(path.stem for path in RECORDED.glob("*.json"))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below),
    max_leaves=10,
)


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_spark_reported_is_understood(name: str) -> None:
    for document in recorded(name):
        progress = parse_progress(json.dumps(document))
        assert progress is not None
        assert progress.batch_id == document["batchId"]
        assert progress.rows == document["numInputRows"]
        assert progress.duration_s == document["durationMs"]["triggerExecution"] / 1000
        assert progress.ran == ("addBatch" in document["durationMs"])
        assert len(progress.sources) == 1


def test_a_trigger_without_a_batch_is_told_from_an_empty_batch() -> None:
    idle = [parse_progress(json.dumps(made)) for made in recorded("file-idle")]
    assert [made and made.ran for made in idle] == [True, False, True, False, False]
    first = parse_progress(json.dumps(recorded("rate-every-2s")[0]))
    assert first is not None
    assert (first.rows, first.ran) == (0, True)


def test_times_are_seconds_since_1970() -> None:
    progress = parse_progress(json.dumps(recorded("rate-observed-shuffle")[2]))
    assert progress is not None
    assert progress.started_s == pytest.approx(1794842498.129)
    assert progress.finished_s == pytest.approx(1794842499.171)
    assert progress.event_times is not None
    assert progress.event_times.rows == 1000
    assert progress.event_times.mean_epoch_s == pytest.approx(1794842496.798)


def test_a_batch_without_rows_has_no_event_times() -> None:
    progress = parse_progress(json.dumps(recorded("rate-observed-shuffle")[0]))
    assert progress is not None
    assert progress.event_times is None


def test_several_observed_frames_are_one() -> None:
    document = recorded("rate-observed-shuffle")[2]
    document["observedMetrics"] = {
        "foresight_latency": {"rows": 1, "mean_epoch_s": 10.0, "first_epoch_s": 10.0},
        "foresight_latency_right": {"rows": 3, "mean_epoch_s": 20.0, "first_epoch_s": 5.0},
        "mine": {"rows": 100, "mean_epoch_s": 0.0, "first_epoch_s": 0.0},
    }
    progress = parse_progress(json.dumps(document))
    assert progress is not None
    assert progress.event_times is not None
    assert progress.event_times.rows == 4
    assert progress.event_times.mean_epoch_s == 17.5
    assert progress.event_times.first_epoch_s == 5.0


def test_kafka_tells_its_lag_by_partition() -> None:
    document = recorded("rate-every-2s")[2]
    document["sources"][0] |= {
        "endOffset": {"quotes": {"0": 10, "1": 20}},
        "latestOffset": None,
        "metrics": {"avgOffsetsBehindLatest": "2.5", "maxOffsetsBehindLatest": "4"},
    }
    progress = parse_progress(json.dumps(document))
    assert progress is not None
    assert progress.sources[0].lag_offsets == 5
    del document["sources"][0]["metrics"]["avgOffsetsBehindLatest"]
    progress = parse_progress(json.dumps(document))
    assert progress is not None
    assert progress.sources[0].lag_offsets == 4


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "not json", '{"runId": 1}'])
def test_what_is_no_progress_is_none(text: str) -> None:
    assert parse_progress(text) is None


def test_only_identity_and_time_are_needed() -> None:
    least = {"runId": "r", "batchId": 3, "timestamp": "2026-01-01T00:00:00.000Z"}
    progress = parse_progress(json.dumps(least))
    assert progress is not None
    assert (progress.rows, progress.duration_s, progress.sources) == (0, 0.0, ())


@given(st.sampled_from(NAMES), st.data())
def test_whatever_is_missing_or_odd_nothing_raises(name: str, data: st.DataObject) -> None:
    document: dict[str, Any] = data.draw(st.sampled_from(recorded(name)))
    for key in data.draw(st.sets(st.sampled_from(sorted(document)))):
        if data.draw(st.booleans()):
            del document[key]
        else:
            document[key] = data.draw(json_values)
    parse_progress(json.dumps(document))


@pytest.mark.parametrize(
    ("start", "end", "rows"),
    [
        (5, 8, 3),
        ({"topic": {"0": 5, "1": 7}}, {"topic": {"0": 6, "1": 9}}, 3),
        ({"topic": {"0": 5}}, {"topic": {"0": 6, "1": 4}}, 5),
        ({"index": 100, "epoch_ms": 17}, {"index": 160, "epoch_ms": 17}, 60),
        ('{"index": 1}', '{"index": 4}', 3),
        (8, 5, None),
        (None, 5, None),
        ({"file": "a"}, {"file": "b"}, None),
        ({"done": False}, {"done": True}, None),
    ],
)
def test_how_far_an_offset_has_advanced(start: object, end: object, rows: int | None) -> None:
    assert advance(parse_offset(start), parse_offset(end)) == rows


def test_an_offset_counts_rows_once_two_batches_agree() -> None:
    count = RowCount()
    assert count.rows(0) == 0.0
    count.learn(rows=1000, advanced=2)
    assert count.rows(4) is None
    count.learn(rows=1500, advanced=3)
    assert count.rows(4) == 2000.0
    count.learn(rows=7, advanced=1)
    assert count.rows(4) is None


def test_an_empty_batch_teaches_nothing() -> None:
    count = RowCount()
    count.learn(10, 10)
    count.learn(0, 0)
    count.learn(0, 5)
    count.learn(20, 20)
    assert count.rows(3) == 3.0
