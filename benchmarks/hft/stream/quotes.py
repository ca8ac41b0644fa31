"""Recorded quotes: parquet or CSV files read once into one arrow file, which everybody maps.

Two layouts are known, told apart by the names of their columns; other columns are ignored.

Ticks, one side a row, times in milliseconds of the day and prices in 1e-4 US dollars:

    ts_ms,sym,kind,side,px,size
    34200054,IBM,Q,A,1836300,100       an ask; B is a bid; trades (kind T) are left out

NYSE Daily TAQ quotes, both sides a row, separated by | or by commas:

    Time|Exchange|Symbol|Bid_Price|Bid_Size|Offer_Price|Offer_Size|...
    093000123456789|N|IBM|183.60|2|183.64|1|...

with times as HHMMSS and nine digits of nanoseconds, or as HH:MM:SS.ffffff. A price of 0 means no
quote on that side. Sizes are taken as they are written. The trailer (END|...) is left out.

Quotes are replayed by time; those of one symbol never change their order, even where their
recorded times do (the later of two gets the time of the earlier).
"""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv, ipc, parquet

from benchmarks.hft.stream.schema import ASK, ASK_SIZE, BID, BID_SIZE, SYMBOL
from mpc.values import IntArray

TIME = "time_us"
TICK_COLUMNS = ("ts_ms", "sym", "kind", "side", "px", "size")
TAQ_COLUMNS = ("Time", "Symbol", "Bid_Price", "Bid_Size", "Offer_Price", "Offer_Size")

_SYMBOLS = b"symbols"
_TIME_BITS = 37  # a day has 8.64e10 µs
_PRICES_PER_DOLLAR = 10_000.0


@dataclass(frozen=True, slots=True)
class RecordedQuotes:
    """A stretch of a prepared file, which is mapped into memory where it is first read."""

    path: Path
    start: int
    count: int

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names by number."""
        return tuple(json.loads(_mapped(self.path).schema.metadata[_SYMBOLS]))

    def time_us(self, first: int, last: int) -> IntArray:
        """Microseconds of the day."""
        column = _mapped(self.path).column(TIME).slice(self.start + first, last - first)
        return np.asarray(column.to_numpy())

    def columns(self, first: int, due_us: IntArray) -> list[pa.Array]:
        """Symbol, bid, ask, bid size and ask size of the quotes from `first` on."""
        rows = _mapped(self.path).slice(self.start + first, len(due_us))
        return [rows.column(name) for name in (SYMBOL, BID, ASK, BID_SIZE, ASK_SIZE)]

    def between(self, from_us: int, until_us: int) -> "RecordedQuotes":
        """Only the quotes of these microseconds of the day, such as the regular session's."""
        times_us = self.time_us(0, self.count)
        low, high = np.searchsorted(times_us, [from_us, until_us])
        return RecordedQuotes(self.path, self.start + int(low), int(high - low))


def prepared_quotes(path: Path, cache: Path) -> RecordedQuotes:
    """Open `path`, converting it at first; the copy in `cache` is renewed when the file changes."""
    source = path.resolve(strict=True)
    status = source.stat()
    identity = f"{source}\0{status.st_size}\0{status.st_mtime_ns}"
    target = cache / f"{source.stem}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.arrow"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _write(read_quotes(source), target)
    return RecordedQuotes(target, 0, _mapped(target).num_rows)


def read_quotes(path: Path) -> pa.Table:
    """All quotes in order of time, with the names of the symbols in the metadata."""
    table = parquet.read_table(path) if path.suffix == ".parquet" else _read_csv(path)
    if set(TICK_COLUMNS) <= set(table.column_names):
        quotes = _from_ticks(table)
    elif set(TAQ_COLUMNS) <= set(table.column_names):
        quotes = _from_taq(table)
    else:
        raise ValueError(
            f"{path}: has columns {', '.join(table.column_names)}; expected "
            f"{', '.join(TICK_COLUMNS)} or {', '.join(TAQ_COLUMNS)}"
        )
    if quotes.num_rows == 0:
        raise ValueError(f"{path}: has no quotes")
    return _in_order(quotes)


def _read_csv(path: Path) -> pa.Table:
    with path.open() as lines:
        header = lines.readline().strip()
    delimiter = "|" if "|" in header else ","
    texts = ("Time", "Symbol", "sym", "kind", "side")
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(
            delimiter=delimiter,
            invalid_row_handler=lambda row: "skip" if row.text.startswith("END") else "error",
        ),
        convert_options=csv.ConvertOptions(
            include_columns=[
                name for name in header.split(delimiter) if name in {*TICK_COLUMNS, *TAQ_COLUMNS}
            ],
            column_types={name: pa.string() for name in texts},
        ),
    )


def _from_ticks(table: pa.Table) -> pa.Table:
    kind, side = (table.column(name).cast(pa.string()) for name in ("kind", "side"))
    table = table.append_column("is_ask", compute.equal(side, "A"))
    table = table.filter(compute.and_(compute.equal(kind, "Q"), compute.is_in(side, _SIDES)))
    is_ask = table.column("is_ask")
    price = compute.divide(table.column("px").cast(pa.float64()), _PRICES_PER_DOLLAR)
    size = table.column("size").cast(pa.int32())
    nothing = pa.scalar(None)
    return pa.table(
        {
            TIME: compute.multiply(table.column("ts_ms").cast(pa.int64()), 1_000),
            SYMBOL: table.column("sym").cast(pa.string()),
            BID: compute.if_else(is_ask, nothing.cast(pa.float64()), price),
            ASK: compute.if_else(is_ask, price, nothing.cast(pa.float64())),
            BID_SIZE: compute.if_else(is_ask, nothing.cast(pa.int32()), size),
            ASK_SIZE: compute.if_else(is_ask, size, nothing.cast(pa.int32())),
        }
    )


_SIDES = pa.array(["A", "B"])


def _from_taq(table: pa.Table) -> pa.Table:
    time = table.column("Time").cast(pa.string())
    table = table.append_column(TIME, _time_of_day_us(time))
    prices = {
        BID: ("Bid_Price", BID_SIZE, "Bid_Size"),
        ASK: ("Offer_Price", ASK_SIZE, "Offer_Size"),
    }
    columns = {TIME: table.column(TIME), SYMBOL: table.column("Symbol").cast(pa.string())}
    for name, (price_name, size, size_name) in prices.items():
        price = table.column(price_name).cast(pa.float64())
        missing = compute.fill_null(compute.less_equal(price, 0.0), True)
        columns[name] = compute.if_else(missing, pa.scalar(None, pa.float64()), price)
        columns[size] = compute.if_else(
            missing, pa.scalar(None, pa.int32()), table.column(size_name).cast(pa.int32())
        )
    sided = compute.or_(compute.is_valid(columns[BID]), compute.is_valid(columns[ASK]))
    timed = compute.is_valid(columns[TIME])
    return pa.table(columns).filter(compute.and_(sided, timed))


def _time_of_day_us(time: pa.ChunkedArray) -> pa.ChunkedArray:
    """HHMMSSnnnnnnnnn or HH:MM:SS[.ffffff]; anything else, such as the trailer, is null."""
    parts = compute.extract_regex(time, _TIME_PATTERN)
    clock = [compute.struct_field(parts, name).cast(pa.int64()) for name in "hms"]
    fraction = compute.utf8_rpad(compute.struct_field(parts, "f"), 6, "0")
    fraction_us = compute.utf8_slice_codeunits(fraction, 0, 6).cast(pa.int64())
    total = fraction_us
    for value, seconds in zip(clock, (3_600, 60, 1), strict=True):
        total = compute.add(total, compute.multiply(value, seconds * 1_000_000))
    return total


_TIME_PATTERN = r"^(?P<h>\d{1,2}):?(?P<m>\d{2}):?(?P<s>\d{2})\.?(?P<f>\d{0,9})$"


def _in_order(quotes: pa.Table) -> pa.Table:
    names = quotes.column(SYMBOL).combine_chunks().dictionary_encode()
    dictionary = names.dictionary.to_pylist()
    ranks = np.argsort(np.argsort(np.asarray(dictionary)))
    symbol = ranks[names.indices.to_numpy()]
    time_us = quotes.column(TIME).to_numpy()
    by_symbol = np.argsort(symbol, kind="stable")
    # The running maximum starts anew with each symbol, as the symbol is its highest bits.
    keyed = (symbol[by_symbol] << _TIME_BITS) | time_us[by_symbol]
    not_before = np.empty_like(keyed)
    not_before[by_symbol] = np.maximum.accumulate(keyed) & ((1 << _TIME_BITS) - 1)
    columns = {name: quotes.column(name) for name in (BID, ASK, BID_SIZE, ASK_SIZE)}
    table = pa.table(
        {TIME: not_before, SYMBOL: symbol.astype(np.int32), **columns},
        metadata={_SYMBOLS: json.dumps(sorted(dictionary)).encode()},
    )
    return table.take(np.argsort(not_before, kind="stable")).combine_chunks()


def _write(table: pa.Table, target: Path) -> None:
    # Several processes may convert at the same time: whoever ends last replaces an equal file.
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        with ipc.new_file(part, table.schema) as writer:
            writer.write_table(table, max_chunksize=max(1, table.num_rows))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@lru_cache(maxsize=4)
def _mapped(path: Path) -> pa.RecordBatch:
    return ipc.open_file(pa.memory_map(str(path))).get_batch(0)
