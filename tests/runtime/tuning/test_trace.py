"""Rates are kept, whatever the step; blocks are apart and lie within their folds."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.workloads.data import default_data
from runtime.tuning.trace import Trace, blocks_of, journaled_trace, read_trace
from tests.runtime.control.records import plain_record


@given(
    rates=st.lists(st.floats(0, 1e6), min_size=1, max_size=50),
    bin_s=st.sampled_from([0.5, 1.0, 60.0]),
    step_s=st.sampled_from([1.0, 5.0]),
)
def test_another_step_keeps_the_rows(rates: list[float], bin_s: float, step_s: float) -> None:
    trace = Trace(np.array(rates), bin_s, "made")
    steps = trace.at_step(step_s)
    whole = len(steps) * step_s
    covered = np.clip(whole - np.arange(len(rates)) * bin_s, 0.0, bin_s)
    assert steps.sum() * step_s == pytest.approx((trace.rates_per_s * covered).sum(), abs=1e-3)


@given(
    duration_s=st.floats(1000, 1e6),
    folds=st.integers(1, 6),
    per_fold=st.integers(1, 5),
    block_s=st.floats(60, 5000),
)
def test_blocks_lie_apart_and_within_their_folds(
    duration_s: float, folds: int, per_fold: int, block_s: float
) -> None:
    blocks = blocks_of(duration_s, folds, per_fold, block_s)
    assert len(blocks) == folds * per_fold
    for block in blocks:
        assert block.fold * duration_s / folds - 1e-6 <= block.begin_s < block.end_s
        assert block.end_s <= (block.fold + 1) * duration_s / folds + 1e-6
    for one, other in pairwise(blocks):
        assert one.end_s <= other.begin_s + 1e-6


def test_the_busiest_minute_sizes_the_cluster() -> None:
    rates = np.ones(600)
    rates[100] = 1000.0
    rates[300:360] = 20.0
    assert Trace(rates, 1.0, "made").busiest_per_s == pytest.approx(20.0)


def test_a_trace_of_zeros_is_refused() -> None:
    with pytest.raises(ValueError, match="every rate is zero"):
        _ = Trace(np.zeros(100), 1.0, "made").busiest_per_s


def test_a_journal_is_a_trace_and_gaps_are_bridged() -> None:
    records = [plain_record(step) for step in range(10) if step != 4]
    missing = records[6]
    records[6] = replace(missing, measurement=replace(missing.measurement, arrivals_per_s=None))
    trace = journaled_trace(records, "journal")
    assert trace.bin_s == 1.0
    assert trace.rates_per_s == pytest.approx(np.arange(10) / 3)


def test_arrivals_that_were_told_late_lie_where_they_belong() -> None:
    records = [
        replace(each, measurement=replace(each.measurement, arrivals_age_s=30.0))
        for each in (plain_record(step) for step in range(10))
    ]
    fresh = journaled_trace([plain_record(step) for step in range(10)], "journal")
    late = journaled_trace([plain_record(0), plain_record(1), *records[4:]], "journal")
    # The last values count for half a minute before they were told, before everything else here.
    assert late.rates_per_s[0] == pytest.approx(fresh.rates_per_s[4])


def test_a_journal_without_arrivals_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer than three steps"):
        journaled_trace([plain_record(1)], "journal")


def test_a_rate_file_without_days_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no \.parquet file"):
        read_trace(tmp_path, None, 1.0)


def test_a_folder_of_ticks_is_one_trace() -> None:
    data = default_data()
    if data is None:
        pytest.skip("no data folder beside the checkout")
    trace = read_trace(data / "quotes", None, 1.0)
    assert len(trace.rates_per_s) == 2 * 23_400
    assert trace.rates_per_s.sum() > 4_000_000
