"""Windows: the same ones however the stream is cut into micro-batches, and little state touched."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.hft.pipeline.records import HELD, Records
from benchmarks.hft.pipeline.windows import (
    NOTHING_PENDING,
    MemoryStore,
    Pending,
    WindowOptions,
    advance,
    windows_of,
)
from tests.benchmarks.hft.markets import as_arrivals, market

SMALL = WindowOptions(size=10, slide=4)


def naive_windows(quotes: Records, options: WindowOptions) -> dict[int, list[int]]:
    """The ts of the quotes of every window, by the seq of its last one."""
    seen: dict[int, list[Records]] = {}
    found = {}
    for quote in quotes:
        mine = seen.setdefault(int(quote["symbol"]), [])
        mine.append(quote)
        if len(mine) >= options.size and (len(mine) - options.size) % options.slide == 0:
            found[int(quote["seq"])] = [int(q["ts_us"]) for q in mine[-options.size :]]
    return found


class CountingStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def read(self, symbol: int) -> Records:
        self.reads += 1
        return super().read(symbol)


@given(
    cuts=st.lists(st.integers(0, 400), max_size=12),
    size=st.integers(1, 30),
    slide=st.integers(1, 30),
    symbols=st.integers(1, 6),
    seed=st.integers(0, 5),
)
def test_windows_do_not_depend_on_the_batches(
    cuts: list[int], size: int, slide: int, symbols: int, seed: int
) -> None:
    options = WindowOptions(size=size, slide=min(slide, size))
    quotes = as_arrivals(market(400, symbols, seed))
    rng = np.random.default_rng(seed)
    store, pending = MemoryStore(), NOTHING_PENDING
    found = {}
    for batch in np.split(quotes, sorted(cuts)):
        # A shuffle brings the rows in any order.
        shuffled = batch[rng.permutation(len(batch))]
        pending, spans = advance(Pending.unpacked(pending.pack()), shuffled, store, options)
        for span in spans:
            for end_seq, window in zip(span.end_seqs, windows_of(span, options), strict=True):
                assert int(end_seq) not in found
                found[int(end_seq)] = window["ts_us"].tolist()
    assert found == naive_windows(quotes, options)


def test_a_span_has_the_quotes_of_overlapping_windows_once() -> None:
    quotes = as_arrivals(market(18, symbols=1))
    _, (span,) = advance(NOTHING_PENDING, quotes, MemoryStore(), SMALL)
    assert span.end_seqs.tolist() == [9, 13, 17]
    assert len(span.quotes) == 18


def test_a_symbol_with_few_news_is_not_read() -> None:
    store, pending = CountingStore(), NOTHING_PENDING
    quotes = as_arrivals(market(60, symbols=1))
    for quote in quotes:
        pending, _ = advance(pending, np.array([quote]), store, SMALL)
    # Once a slide, and no window is held longer than it is needed.
    assert store.reads <= 60 / SMALL.slide + 1
    assert len(store.read(0)) < SMALL.size


def test_pending_survives_packing() -> None:
    pending, _ = advance(NOTHING_PENDING, as_arrivals(market(300, 9)), MemoryStore(), SMALL)
    again = Pending.unpacked(pending.pack())
    assert again.symbols.tolist() == pending.symbols.tolist()
    assert again.stored.tolist() == pending.stored.tolist()
    assert again.quotes.tobytes() == pending.quotes.tobytes()


def test_a_missing_side_stays_missing() -> None:
    quotes = as_arrivals(market(40, symbols=1))
    _, (span,) = advance(NOTHING_PENDING, quotes, MemoryStore(), SMALL)
    assert span.quotes.dtype == HELD
    assert (
        np.isnan(span.quotes["bid"]).tolist()
        == np.isnan(quotes["bid"])[: len(span.quotes)].tolist()
    )


@pytest.mark.parametrize(("size", "slide"), [(10, 0), (10, 11), (0, 0)])
def test_impossible_windows_are_refused(size: int, slide: int) -> None:
    with pytest.raises(ValueError, match="slide"):
        WindowOptions(size=size, slide=slide)
