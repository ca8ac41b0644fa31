"""The distribution table: which partition of the fit stage each symbol goes to.

The fits are stateless, so the table may change with every micro-batch and nothing moves but work.
`balanced` and `flux` are the paper's heuristics (De Matteis and Mencagli 2016, section 5.2) on
measured weights; `hash` looks at nothing and is the baseline. A controller may also give the owners
itself.
"""

import threading
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from mpc.balance import balanced, flux
from mpc.values import FloatArray, IntArray

Method = Literal["balanced", "flux", "hash"]

# Knuth's multiplicative hash. Symbols are numbered by frequency, so a plain remainder would deal
# them out evenly and be no baseline.
HASH_MULTIPLIER = 2_654_435_761


@dataclass(frozen=True, slots=True)
class DistributionTable:
    """Partition of every symbol; symbols beyond the table are hashed."""

    partitions: int
    owners: IntArray

    def __post_init__(self) -> None:
        if self.partitions < 1:
            raise ValueError(f"partitions must be at least 1, got {self.partitions}")
        if len(self.owners) and not (
            self.owners.min() >= 0 and self.owners.max() < self.partitions
        ):
            raise ValueError(f"owners must be 0..{self.partitions - 1}")

    def of(self, symbols: IntArray) -> IntArray:
        """The partition of every given symbol."""
        found = hashed(symbols, self.partitions)
        known = symbols < len(self.owners)
        found[known] = self.owners[symbols[known]]
        return found


def hashed(symbols: IntArray, partitions: int) -> IntArray:
    """Bits 16 to 31 of the product, modulo the partitions."""
    mixed = (symbols.astype(np.uint64) * np.uint64(HASH_MULTIPLIER)) & np.uint64(0xFFFF_FFFF)
    return np.asarray((mixed >> np.uint64(16)) % np.uint64(partitions), dtype=np.int64)


class Placement:
    """Keeps the weights of the symbols and the table made of them.

    The query reports weights and asks for tables; a controller changes the number of partitions or
    the owners. They are different threads.
    """

    def __init__(
        self,
        partitions: int,
        method: Method = "balanced",
        smoothing: float = 0.2,
        flux_threshold: float = 0.1,
    ) -> None:
        if method not in get_args(Method):
            raise ValueError(f"method must be one of {get_args(Method)}, got {method!r}")
        if not 0 < smoothing <= 1:
            raise ValueError(f"smoothing must be in (0, 1], got {smoothing}")
        self._lock = threading.Lock()
        self._method = method
        self._smoothing = smoothing
        self._flux_threshold = flux_threshold
        self._table = DistributionTable(partitions, np.empty(0, dtype=np.int64))
        self._weights: FloatArray = np.empty(0)
        self._given = False

    def table(self) -> DistributionTable:
        """The table for the next micro-batch."""
        with self._lock:
            return self._table

    def weights(self) -> FloatArray:
        """Smoothed cost of every symbol in a micro-batch, in microseconds of CPU time."""
        with self._lock:
            return self._weights.copy()

    def report(self, symbols: IntArray, costs_us: FloatArray) -> None:
        """The measured cost of the fits of one micro-batch, one or more values for a symbol."""
        with self._lock:
            known = max(len(self._weights), int(symbols.max()) + 1 if len(symbols) else 0)
            measured = np.bincount(symbols, weights=costs_us, minlength=known)
            before = np.zeros(known)
            before[: len(self._weights)] = self._weights
            # A mean over batches: the first one counts in full, as there is nothing to smooth.
            share = self._smoothing if len(self._weights) else 1.0
            self._weights = before + share * (measured - before)
            self._make_table(self._table.partitions)

    def resize(self, partitions: int) -> None:
        """Use this many partitions from the next micro-batch on."""
        with self._lock:
            if partitions != self._table.partitions:
                self._given = False
                self._make_table(partitions)

    def give(self, owners: IntArray, partitions: int) -> None:
        """Use a table made elsewhere, such as `Decision.key_owners`, until the next resize."""
        with self._lock:
            self._table = DistributionTable(partitions, owners)
            self._given = True

    def _make_table(self, partitions: int) -> None:
        if self._given:
            return
        owners = np.empty(0, dtype=np.int64)
        if self._method != "hash" and len(self._weights):
            # A symbol without a weight still counts a little: all of them would otherwise go to
            # one partition, as they never make it fuller.
            seen = self._weights[self._weights > 0]
            weights = np.maximum(self._weights, seen.min() if len(seen) else 1.0)
            if self._method == "balanced":
                owners = balanced(weights, partitions)
            else:
                old = self._table.of(np.arange(len(weights), dtype=np.int64))
                owners = flux(weights, old, partitions, self._flux_threshold)
        self._table = DistributionTable(partitions, owners)
