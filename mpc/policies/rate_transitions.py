"""How the arrival rate moves from level to level, counted as it is seen (Russo Russo 2018, Eq. 5).

Deviation: the paper does not say what holds for a level that was never left; here it stays.
"""

import numpy as np

from forecasting.compiled import compiled
from mpc.values import FloatArray, IntArray


def counted_transitions(levels: IntArray) -> FloatArray:
    """n_jj' of a whole series of levels; as many levels as its largest needs."""
    size = int(levels.max()) + 1
    pairs = levels[:-1] * size + levels[1:]
    return np.bincount(pairs, minlength=size * size).reshape(size, size).astype(np.float64)


def probabilities(counts: FloatArray) -> FloatArray:
    """Eq. 5: every row over its sum."""
    left = counts.sum(axis=1, keepdims=True)
    return np.where(left > 0, counts / np.where(left > 0, left, 1.0), np.eye(len(counts)))


class TransitionEstimate:
    """Eq. 5, one transition after the other."""

    def __init__(self, levels: int) -> None:
        self.counts = np.zeros((levels, levels))
        self.matrix: FloatArray = np.eye(levels)
        _count(np.zeros((1, 1)), 0, 0, np.zeros((1, 1)))  # compiled, or loaded, before it counts

    def observe(self, level: int, next_level: int) -> None:
        _count(self.counts, level, next_level, self.matrix)

    def merge_pairs(self) -> None:
        """Twice the distance between levels: 2m - 1 and 2m become m, and the upper half is new."""
        rows = merged_pairs(self.counts)
        self.counts = np.ascontiguousarray(merged_pairs(rows.T).T)
        self.matrix = probabilities(self.counts)


@compiled
def _count(counts: FloatArray, level: int, next_level: int, matrix: FloatArray) -> None:
    counts[level, next_level] += 1.0
    matrix[level] = counts[level] / counts[level].sum()


def merged_pairs(sums: FloatArray) -> FloatArray:
    """Rows 2m - 1 and 2m added up to row m, row 0 kept, rows that nothing falls to zero."""
    merged = np.zeros_like(sums)
    np.add.at(merged, (np.arange(len(sums)) + 1) // 2, sums)
    return merged
