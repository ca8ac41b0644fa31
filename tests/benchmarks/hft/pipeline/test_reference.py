"""The stages of the pipeline, chained without a cluster, equal the plain reference."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from benchmarks.hft.pipeline.fit import FitOptions
from benchmarks.hft.pipeline.reference import Quote, reference
from benchmarks.hft.pipeline.sink import ParquetSink, read_results
from benchmarks.hft.pipeline.stages import RESULT_SCHEMA, fitter, packer
from benchmarks.hft.pipeline.window_state import WindowProcessor
from benchmarks.hft.pipeline.windows import WindowOptions
from tests.benchmarks.hft.markets import as_quotes, market

WINDOWS = WindowOptions(size=100, slide=25)
FITTING = FitOptions()
LABELS = (11, 5, 8)


def as_record_batch(quotes: pa.Table) -> pa.RecordBatch:
    """What the query gives the first stage."""
    table = pa.table(
        {
            "seq": quotes.column("seq"),
            "ts_us": quotes.column("ts").cast(pa.int64()),
            "symbol": quotes.column("symbol"),
            "bid": quotes.column("bid"),
            "ask": quotes.column("ask"),
        }
    )
    return table.combine_chunks().to_batches()[0]


def test_the_stages_equal_the_reference() -> None:
    quotes = market(6_000, symbols=20)
    state = TwsTester(WindowProcessor(WINDOWS))
    pack, fit_spans = packer(LABELS), fitter(WINDOWS, FITTING)
    found = []
    for start in range(0, 6_000, 1_000):
        # Two partitions of the source, the later one first.
        halves = [quotes.slice(start + 500, 500), quotes.slice(start, 500)]
        packed = pa.Table.from_batches(pack(map(as_record_batch, halves))).to_pylist()
        for label in LABELS:
            rows = [Row(**row) for row in packed if row["bucket"] == label]
            spans = [row.asDict() for row in state.test(label, rows)]
            if spans:
                (results,) = fit_spans(iter([pa.RecordBatch.from_pylist(spans)]))
                found += results.to_pylist()
    expected = reference(as_quotes(quotes), WINDOWS, FITTING)
    assert len(expected) > 50
    by_window = {(row["symbol"], row["end_seq"]): row for row in found}
    assert len(by_window) == len(found) == len(expected)
    for window in expected:
        row = by_window[window.symbol, window.end_seq]
        assert row["due_us"] == window.due_us
        assert row["bid"] == pytest.approx(window.bid, rel=1e-9)
        assert row["ask"] == pytest.approx(window.ask, rel=1e-9)


def test_windows_trigger_when_full_and_then_every_slide() -> None:
    quotes = [Quote(seq, seq * 1_000, 3, 10.0, None) for seq in range(151)]
    found = reference(quotes, WINDOWS, FITTING)
    assert [window.end_seq for window in found] == [99, 124, 149]
    assert all(window.bid == 10.0 and window.ask is None for window in found)


def test_a_repeated_batch_replaces_its_results(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "results")
    assert read_results(tmp_path / "results", RESULT_SCHEMA).num_rows == 0
    row = dict.fromkeys(RESULT_SCHEMA.names, 1)
    for batch_id, end_seq in ((0, 7), (1, 8), (1, 9)):
        results = pa.Table.from_pylist([row | {"end_seq": end_seq}], schema=RESULT_SCHEMA)
        sink.write(batch_id, results)
    assert read_results(tmp_path / "results", RESULT_SCHEMA).column("end_seq").to_pylist() == [7, 9]
