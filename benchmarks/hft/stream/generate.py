"""Generated quotes: any range of the stream without what came before it.

A quote depends on its index, its due time and the seed only. The random numbers come from a
counter (Philox) that is set to the index, so executors make their own slice and nothing is
shipped to them. Symbols are drawn with the given frequencies; each has a smooth price path with
noise of a few cents on it, so that fitting a polynomial to a stretch of it makes sense.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpc.values import FloatArray, IntArray

# Two 64-bit numbers a quote; the counter of Philox advances by four of them.
_WORDS_PER_QUOTE = 2
_WORDS_PER_COUNT = 4
_QUOTES_PER_COUNT = _WORDS_PER_COUNT // _WORDS_PER_QUOTE
_MICROSECONDS_PER_S = 1e6
_CENTS = 100.0


@dataclass(frozen=True, slots=True)
class PricePaths:
    """Per symbol: level · (1 + slow swing + fast swing), in dollars, and half the spread."""

    level: FloatArray
    swing: FloatArray
    """Two rows: relative amplitude of the slow and of the fast swing."""
    radians_per_s: FloatArray
    phase: FloatArray
    half_spread: FloatArray

    def mid(self, symbol: IntArray, time_s: FloatArray) -> FloatArray:
        relative = np.ones(len(symbol))
        for swing, speed, phase in zip(self.swing, self.radians_per_s, self.phase, strict=True):
            # The angle in double precision: a day is 10⁵ s; its sine needs only single.
            angle = np.remainder(speed[symbol] * time_s + phase[symbol], 2 * np.pi)
            relative += swing[symbol] * np.sin(angle.astype(np.float32))
        return np.asarray(self.level[symbol] * relative)


def price_paths(symbols: int, random: np.random.Generator) -> PricePaths:
    period_s = np.stack([random.uniform(60, 300, symbols), random.uniform(5, 30, symbols)])
    return PricePaths(
        level=np.exp(random.uniform(np.log(5), np.log(500), symbols)),
        swing=np.stack([random.uniform(5e-3, 2e-2, symbols), random.uniform(5e-4, 3e-3, symbols)]),
        radians_per_s=2 * np.pi / period_s,
        phase=random.uniform(0, 2 * np.pi, (2, symbols)),
        half_spread=random.integers(1, 6, symbols) / _CENTS,
    )


@dataclass(frozen=True, slots=True)
class GeneratedQuotes:
    """What the quotes of an endless stream say; when they are due is the schedule's."""

    shares: FloatArray
    """Cumulative frequencies of the symbols, without the last, which is 1."""
    paths: PricePaths
    seed: int

    def columns(self, first: int, due_us: IntArray) -> list[pa.Array]:
        """Symbol, bid, ask, bid size and ask size of the quotes from `first` on."""
        words = self._words(first, len(due_us))
        symbol = np.searchsorted(self.shares, (words[:, 0] >> np.uint64(11)) * 2.0**-53, "right")
        mid = self.paths.mid(symbol, due_us / _MICROSECONDS_PER_S)
        half_spread = self.paths.half_spread[symbol]
        noise = words[:, 1]
        bid, ask = (
            np.maximum(1.0, np.rint((mid + side * half_spread) * _CENTS + _cents(noise, bit)))
            / _CENTS
            for side, bit in ((-1, 0), (1, 8))
        )
        sizes = (((noise >> np.uint64(bit)) & np.uint64(15)) + np.uint64(1) for bit in (16, 20))
        return [
            pa.array(symbol.astype(np.int32)),
            pa.array(bid),
            pa.array(np.maximum(bid, ask)),
            *(pa.array((size * np.uint64(100)).astype(np.int32)) for size in sizes),
        ]

    def _words(self, first: int, count: int) -> NDArray[np.uint64]:
        skipped = first % _QUOTES_PER_COUNT
        bits = np.random.Philox(key=self.seed)
        bits.advance(first // _QUOTES_PER_COUNT)
        words = bits.random_raw((skipped + count) * _WORDS_PER_QUOTE)
        return words.reshape(-1, _WORDS_PER_QUOTE)[skipped:]


def generated_quotes(frequencies: FloatArray, seed: int) -> GeneratedQuotes:
    """Symbol k is drawn with the k-th of the frequencies, which need not add up to one."""
    if len(frequencies) == 0 or not (np.isfinite(frequencies) & (frequencies > 0)).all():
        raise ValueError("symbol frequencies must be at least one, finite and positive")
    shares = np.cumsum(frequencies[:-1]) / frequencies.sum()
    return GeneratedQuotes(shares, price_paths(len(frequencies), np.random.default_rng(seed)), seed)


def _cents(noise: NDArray[np.uint64], bit: int) -> FloatArray:
    """Between -2 and 2 cents, triangular: the sum of two nibbles."""
    low = (noise >> np.uint64(bit)) & np.uint64(15)
    high = (noise >> np.uint64(bit + 4)) & np.uint64(15)
    return np.asarray((low + high).astype(np.float64) * (4 / 30) - 2.0)
