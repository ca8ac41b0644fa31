"""Recorded quotes: both layouts, order per symbol, and the prepared copy."""

import os
import pickle
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

from benchmarks.hft.stream.quotes import prepared_quotes, read_quotes
from benchmarks.hft.stream.replay import Replay
from benchmarks.hft.stream.schema import QUOTE_SCHEMA

TICKS = """ts_ms,sym,kind,side,px,size,ex
34200000,IBM,Q,B,1800100,300,P
34200000,IBM,Q,A,1800200,200,P
34200001,SPY,T,T,1674100,100,P
34200002,AIG,Q,A,494100,300,Q
34200003,IBM,Q,B,1800300,100,N
"""
TAQ = """Time|Exchange|Symbol|Bid_Price|Bid_Size|Offer_Price|Offer_Size|Quote_Condition
093000000001999|N|IBM|183.60|2|183.64|1|R
093000000003000|N|IBM|0|0|183.65|4|R
093000000000500|N|AIG|49.10|7|49.12|8|R
093000000002000|N|AIG|0|0|0|0|R
END|20131007|4|||||
"""
OPEN_US = 34_200_000_000


def written(folder: Path, text: str, name: str = "day.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_ticks_are_one_sided_and_trades_are_left_out(tmp_path: Path) -> None:
    quotes = prepared_quotes(written(tmp_path, TICKS), tmp_path / "cache")
    assert quotes.symbols == ("AIG", "IBM")
    assert quotes.count == 4
    times_us = quotes.time_us(0, 4)
    assert (times_us - OPEN_US).tolist() == [0, 0, 2_000, 3_000]
    symbol, bid, ask, bid_size, ask_size = (
        column.to_pylist() for column in quotes.columns(0, times_us)
    )
    assert symbol == [1, 1, 0, 1]
    assert bid == [180.01, None, None, 180.03]
    assert ask == [None, 180.02, 49.41, None]
    assert bid_size == [300, None, None, 100]
    assert ask_size == [None, 200, 300, None]


@pytest.mark.parametrize("separator", ["|", ","])
def test_taq_has_both_sides_and_is_sorted_by_time(tmp_path: Path, separator: str) -> None:
    path = written(tmp_path, TAQ.replace("|", separator))
    quotes = prepared_quotes(path, tmp_path / "cache")
    times_us = quotes.time_us(0, quotes.count)
    assert (times_us - OPEN_US).tolist() == [0, 1, 3]
    symbol, bid, ask, bid_size, ask_size = (
        column.to_pylist() for column in quotes.columns(0, times_us)
    )
    assert symbol == [0, 1, 1]
    assert bid == [49.1, 183.6, None]
    assert ask == [49.12, 183.64, 183.65]
    assert bid_size == [7, 2, None]
    assert ask_size == [8, 1, 4]


def test_times_with_colons_and_a_short_trailer(tmp_path: Path) -> None:
    text = TAQ.replace("093000000001999", "9:30:00.001999").replace("093000", "09:30:00.")
    text = text.replace("END|20131007|4|||||", "END|20131007|4")
    quotes = prepared_quotes(written(tmp_path, text), tmp_path / "cache")
    # The second quote of IBM says 3 µs, which is before its first.
    assert (quotes.time_us(0, quotes.count) - OPEN_US).tolist() == [0, 1_999, 1_999]


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    path = written(tmp_path, TICKS)
    parquet.write_table(csv.read_csv(path), tmp_path / "day.parquet")
    assert read_quotes(tmp_path / "day.parquet").equals(read_quotes(path))


@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from("ABC")), min_size=1, max_size=60))
def test_the_recorded_order_of_a_symbol_is_kept(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("order")
    lines = [f"{34_200_000 + at},{name},Q,B,{row + 1},1" for row, (at, name) in enumerate(rows)]
    table = read_quotes(written(folder, "\n".join(["ts_ms,sym,kind,side,px,size", *lines])))
    times = table.column("time_us").to_pylist()
    assert times == sorted(times)
    names = sorted({name for _, name in rows})
    for number, wanted in enumerate(names):
        recorded = [(row + 1) / 10_000 for row, (_, name) in enumerate(rows) if name == wanted]
        chosen = table.filter(pa.compute.equal(table.column("symbol"), number))
        assert chosen.column("bid").to_pylist() == recorded


def test_a_changed_file_is_prepared_again(tmp_path: Path) -> None:
    path, cache = written(tmp_path, TICKS), tmp_path / "cache"
    first = prepared_quotes(path, cache)
    assert prepared_quotes(path, cache) == first
    assert len(list(cache.iterdir())) == 1
    path.write_text(TICKS + "34200004,IBM,Q,B,1800400,100,N\n")
    os.utime(path, ns=(1, 1))
    assert prepared_quotes(path, cache).count == first.count + 1
    assert not list(cache.glob("*.part"))


def test_the_regular_session_is_the_default(tmp_path: Path) -> None:
    early = TICKS.replace("34200000,IBM,Q,B", "14400000,IBM,Q,B")
    path = str(written(tmp_path, early))
    cache = str(tmp_path / "cache")
    assert Replay(path=path, cache=cache).stream().quotes == 3
    assert Replay(path=path, cache=cache, session="all").stream().quotes == 4
    assert Replay(path=path, cache=cache, quotes=2).stream().quotes == 2


def test_recorded_times_or_another_rate(tmp_path: Path) -> None:
    path, cache = str(written(tmp_path, TICKS)), str(tmp_path / "cache")
    own = Replay(path=path, cache=cache, acceleration=10).stream()
    assert own.schedule.due_us(0, 4).tolist() == [0, 0, 200, 300]
    paced = Replay(path=path, cache=cache, rate="constant", peak_per_s=1_000).stream()
    assert paced.schedule.due_us(0, 4).tolist() == [500, 1_500, 2_500, 3_500]
    assert paced.due_by(10**18, epoch_us=0) == 4
    rows = own.record_batch(1, 3, epoch_us=1_000_000)
    assert rows.schema == QUOTE_SCHEMA
    assert rows.column("seq").to_pylist() == [1, 2]
    assert rows.column("ts").cast(pa.int64()).to_pylist() == [1_000_000, 1_000_200]


def test_a_recording_travels_as_its_path(tmp_path: Path) -> None:
    stream = Replay(path=str(written(tmp_path, TICKS)), cache=str(tmp_path / "cache")).stream()
    travelled = pickle.dumps(stream)
    assert pickle.loads(travelled).record_batch(0, 4, 0).equals(stream.record_batch(0, 4, 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "has columns a, b; expected ts_ms"),
        (TICKS.replace(",Q,", ",T,"), "has no quotes"),
    ],
)
def test_files_without_quotes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prepared_quotes(written(tmp_path, text), tmp_path / "cache")


def test_a_real_day(tmp_path: Path, shared_data: Path) -> None:
    path = shared_data / "quotes" / "us_equity_ticks_20131007.parquet"
    stream = Replay(path=str(path), cache=str(tmp_path), acceleration=100).stream()
    assert stream.quotes is not None
    assert stream.quotes > 1_500_000
    rows = stream.record_batch(stream.quotes - 1_000, stream.quotes, epoch_us=0)
    bids, asks = rows.column("bid"), rows.column("ask")
    assert bids.null_count + asks.null_count == rows.num_rows
    assert rows.column("ts")[-1].as_py().date() == date(1970, 1, 1)
    assert stream.due_by(234_000_000, epoch_us=0) == stream.quotes
