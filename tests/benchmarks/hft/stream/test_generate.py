"""Generated quotes: any range is the same as its part of the whole."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.hft.stream.generate import generated_quotes
from benchmarks.hft.stream.replay import Replay
from benchmarks.hft.stream.schema import QUOTE_SCHEMA
from benchmarks.workloads.keys import PAPER_SYMBOLS, generated_key_frequencies, read_key_frequencies

EPOCH_US = 1_700_000_000_000_000


@given(st.integers(0, 10**12), st.lists(st.integers(0, 300), max_size=5), st.integers(0, 2**31))
def test_ranges_join_to_the_same_stream(first: int, lengths: list[int], seed: int) -> None:
    stream = Replay(rate="wave", seed=seed, symbols=50).stream()
    edges = [int(edge) for edge in first + np.cumsum([0, *lengths])]
    parts = [stream.record_batch(low, high, EPOCH_US) for low, high in pairwise(edges)]
    whole = stream.record_batch(first, edges[-1], EPOCH_US)
    joined = pa.Table.from_batches(parts, QUOTE_SCHEMA).combine_chunks()
    assert joined.equals(pa.Table.from_batches([whole]).combine_chunks())


def test_rows_are_in_order_and_complete() -> None:
    rows = Replay(peak_per_s=1_000).stream().record_batch(500, 3_500, EPOCH_US)
    assert rows.schema == QUOTE_SCHEMA
    assert rows.column("seq").to_pylist() == list(range(500, 3_500))
    ts_us = rows.column("ts").cast(pa.int64()).to_numpy()
    assert (np.diff(ts_us) > 0).all()
    assert ts_us[0] == EPOCH_US + 500_500
    assert all(rows.column(name).null_count == 0 for name in QUOTE_SCHEMA.names)


def test_symbols_have_the_papers_skew() -> None:
    rows = Replay().stream().record_batch(0, 400_000, EPOCH_US)
    counts = np.bincount(rows.column("symbol").to_numpy(), minlength=PAPER_SYMBOLS)
    expected = generated_key_frequencies() * 400_000
    assert len(counts) == PAPER_SYMBOLS
    frequent = expected > 100
    # Six standard deviations of a Poisson count, of a fixed seed.
    assert (np.abs(counts - expected)[frequent] < 6 * np.sqrt(expected[frequent])).all()
    assert counts[~frequent].sum() == pytest.approx(expected[~frequent].sum(), rel=0.05)


def test_the_most_frequent_symbols_of_a_file(shared_data: Path) -> None:
    path = shared_data / "paper" / "key_probabilities.txt"
    rows = Replay(frequencies=str(path), symbols=10).stream().record_batch(0, 50_000, EPOCH_US)
    counts = np.bincount(rows.column("symbol").to_numpy())
    expected = np.sort(read_key_frequencies(path))[:-11:-1]
    assert counts / 50_000 == pytest.approx(expected / expected.sum(), abs=0.02)


def test_prices_follow_a_smooth_path_with_little_noise() -> None:
    quotes = generated_quotes(np.asarray([1.0]), seed=4)
    due_us = np.arange(0, 2_000_000, 1_000, dtype=np.int64)
    _, bid, ask, bid_size, ask_size = (column.to_numpy() for column in quotes.columns(0, due_us))
    assert (bid > 0).all()
    assert (ask >= bid).all()
    assert np.allclose(bid * 100, np.rint(bid * 100))
    assert {int(size) % 100 for size in [*bid_size, *ask_size]} == {0}
    at_s = due_us / 1e6
    for side in (bid, ask):
        left = side - np.polyval(np.polyfit(at_s, side, 3), at_s)
        assert np.abs(left).max() < 0.05


def test_seeds_differ_and_repeat() -> None:
    first, again, other = (
        Replay(seed=seed).stream().record_batch(0, 100, EPOCH_US) for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)


@pytest.mark.parametrize("frequencies", [[], [1.0, 0.0], [1.0, float("inf")]])
def test_frequencies_that_cannot_be_drawn_are_refused(frequencies: list[float]) -> None:
    with pytest.raises(ValueError, match="frequencies"):
        generated_quotes(np.asarray(frequencies), seed=1)
