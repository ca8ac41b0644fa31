"""How irregular arrivals are: the view of the gaps and the view of the counts.

The coefficient of variation of inter-arrival times is what Kingman's formula asks for, but it
treats the gaps as independent. Real ticks come in clusters, and only counts over longer windows
show that: the index of dispersion then grows with the window where a renewal process stays flat.
"""

from collections.abc import Sequence

import numpy as np

from forecasting.contract import FloatArray


def interarrival_cv(times_s: FloatArray) -> float | None:
    """Standard deviation over mean of the gaps between ascending times.

    1 for a Poisson stream, 0 for a clock; None with fewer than two gaps or no time passing.
    """
    gaps_s = np.diff(times_s)
    if np.any(gaps_s < 0.0):
        raise ValueError("times_s must ascend")
    mean_s = float(gaps_s.mean()) if len(gaps_s) >= 2 else 0.0
    return float(gaps_s.std()) / mean_s if mean_s > 0.0 else None


def window_counts(times_s: FloatArray, window_s: float) -> FloatArray:
    """Arrivals in each whole window between the first and the last time."""
    if window_s <= 0.0:
        raise ValueError(f"window_s must be positive, got {window_s}")
    if len(times_s) == 0:
        return np.zeros(0)
    windows = int((times_s[-1] - times_s[0]) / window_s)
    indices = ((times_s - times_s[0]) / window_s).astype(np.int64)
    return np.bincount(indices, minlength=windows)[:windows].astype(np.float64)


def dispersion_index(counts: FloatArray) -> float | None:
    """Variance over mean of counts in equal windows (the index of dispersion for counts).

    1 for a Poisson stream of any rate, more when arrivals cluster; None with fewer than two
    windows or no arrival.
    """
    mean = float(counts.mean()) if len(counts) >= 2 else 0.0
    return float(counts.var()) / mean if mean > 0.0 else None


def dispersion_by_window(counts: FloatArray, lengths: Sequence[int]) -> tuple[float | None, ...]:
    """The index of dispersion of sums over 1, 10, 100, ... consecutive counts."""
    return tuple(dispersion_index(_summed(counts, length)) for length in lengths)


def _summed(counts: FloatArray, length: int) -> FloatArray:
    if length < 1:
        raise ValueError(f"lengths must be at least 1, got {length}")
    windows = len(counts) // length
    sums: FloatArray = counts[: windows * length].reshape(windows, length).sum(axis=1)
    return sums
