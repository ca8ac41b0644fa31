"""Key (stock symbol) frequencies: the paper's file, or a generated one with its statistics."""

from pathlib import Path

import numpy as np

from mpc.values import FloatArray

PAPER_SYMBOLS = 2_836

# (rank, frequency) read off the distribution of the authors' artifact (De Matteis and Mencagli
# 2016, section 5.1).
_ANCHORS = (
    (1, 2.87e-2),
    (3, 2.02e-2),
    (10, 7.79e-3),
    (30, 4.28e-3),
    (100, 1.76e-3),
    (300, 7.07e-4),
    (600, 3.51e-4),
    (1000, 1.74e-4),
    (1500, 7.12e-5),
    (2000, 2.4e-5),
    (2500, 2.9e-6),
    (2836, 3e-7),
)


def read_key_frequencies(path: Path) -> FloatArray:
    """Read "count instants" then "0 p1 ... pn", the layout of the authors' artifact."""
    words = path.read_text().split()
    count = int(words[0])
    frequencies = np.asarray(words[3 : 3 + count], dtype=np.float64)
    if len(frequencies) != count or not (frequencies > 0).all():
        raise ValueError(f"{path}: expected {count} positive key frequencies")
    return np.asarray(frequencies / frequencies.sum())


def generated_key_frequencies() -> FloatArray:
    """The paper's skew without its file: a log-log line through a few known ranks."""
    ranks, frequencies = (
        np.asarray(column, dtype=np.float64) for column in zip(*_ANCHORS, strict=True)
    )
    rank = np.arange(1, PAPER_SYMBOLS + 1, dtype=np.float64)
    interpolated = np.exp(np.interp(np.log(rank), np.log(ranks), np.log(frequencies)))
    return np.asarray(interpolated / interpolated.sum())
