"""Small seeded quote streams in the layout of the replay source."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from benchmarks.hft.pipeline.records import Records, arrivals
from benchmarks.hft.pipeline.reference import Quote
from benchmarks.hft.stream.schema import QUOTE_SCHEMA

# A whole second, far from today.
START_US = 1_700_000_000_000_000


def market(quotes: int, symbols: int, seed: int = 0) -> pa.Table:
    """Skewed symbols, several quotes in some milliseconds, some one-sided quotes."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, symbols + 1)
    symbol = rng.choice(symbols, quotes, p=share / share.sum())
    middle = 50.0 + np.cumsum(rng.normal(0, 0.01, quotes))
    one_sided = rng.random(quotes)
    columns = {
        "seq": np.arange(quotes),
        "ts": START_US + np.cumsum(rng.integers(0, 400, quotes)),
        "symbol": symbol.astype(np.int32),
        "bid": pa.array(np.round(middle - 0.01, 4), mask=one_sided < 0.1),
        "ask": pa.array(np.round(middle + 0.01, 4), mask=one_sided > 0.9),
        "bid_size": pa.array(np.full(quotes, 100, dtype=np.int32), mask=one_sided < 0.1),
        "ask_size": pa.array(np.full(quotes, 100, dtype=np.int32), mask=one_sided > 0.9),
    }
    table = pa.table(columns)
    return pa.table(
        [
            table.column(field.name).combine_chunks().cast(pa.int64()).cast(field.type)
            if field.name == "ts"
            else table.column(field.name).cast(field.type)
            for field in QUOTE_SCHEMA
        ],
        schema=QUOTE_SCHEMA,
    )


def as_quotes(table: pa.Table) -> Iterator[Quote]:
    """For the reference."""
    ts_us = table.column("ts").cast(pa.int64())
    for seq, ts, symbol, bid, ask in zip(
        table.column("seq").to_pylist(),
        ts_us.to_pylist(),
        table.column("symbol").to_pylist(),
        table.column("bid").to_pylist(),
        table.column("ask").to_pylist(),
        strict=True,
    ):
        yield Quote(seq=seq, ts_us=ts, symbol=symbol, bid=bid, ask=ask)


def as_arrivals(table: pa.Table) -> Records:
    """For the windows."""
    return arrivals(
        table.column("symbol").to_numpy(),
        table.column("seq").to_numpy(),
        table.column("ts").cast(pa.int64()).to_numpy(),
        table.column("bid").to_numpy(),
        table.column("ask").to_numpy(),
    )
