"""Finding a season in a window of values: the lag at which the series repeats itself."""

import numpy as np

from forecasting.contract import FloatArray

MINIMUM_AUTOCORRELATION = 0.5
"""Below this a search over lags finds seasons in series that have none."""
_KEEPING_AUTOCORRELATION = 0.35
"""A season in use is kept down to here."""
_MULTIPLE_ADVANTAGE = 0.1
"""What a longer lag must have over a shorter one to be preferred."""
_NEGLIGIBLE = 1e-9
"""Deviations below this share of the largest value are rounding."""
_SHORTEST_PERIOD = 4
_CYCLES = 3
"""A season must have been seen this many times."""
_MINIMUM_DIP = 0.3
"""How far the autocorrelation must fall before it comes back: a slow drift falls, and stays."""


def find_season(window: FloatArray, current: int | None = None) -> int | None:
    """The period of the window's strongest repetition, or None."""
    longest = len(window) // _CYCLES
    if longest <= _SHORTEST_PERIOD:
        return None
    deviations = detrended(window)
    if float(np.abs(deviations).max()) <= _NEGLIGIBLE * float(np.abs(window).max()):
        return None
    correlation = autocorrelation(deviations, longest)
    inner = correlation[1:longest]
    peaks = 1 + np.flatnonzero(
        (inner >= correlation[: longest - 1]) & (inner > correlation[2 : longest + 1])
    )
    dips = correlation[peaks] - np.minimum.accumulate(correlation)[peaks]
    peaks = peaks[
        (peaks >= _SHORTEST_PERIOD)
        & (correlation[peaks] >= MINIMUM_AUTOCORRELATION)
        & (dips >= _MINIMUM_DIP)
    ]
    if len(peaks):
        # A season repeats at its multiples too: take the shortest lag that is about as good,
        # or rather the best near it, as noise puts several peaks on one hump.
        strong = peaks[correlation[peaks] >= correlation[peaks].max() - _MULTIPLE_ADVANTAGE]
        hump = strong[strong < 1.5 * strong[0]]
        return _refined(deviations, int(hump[np.argmax(correlation[hump])]))
    if current is not None and current < longest:
        return current if correlation[current] >= _KEEPING_AUTOCORRELATION else None
    return None


def _refined(deviations: FloatArray, period: int) -> int:
    """The period or a near neighbour, whichever folds the series best onto itself.

    A period that is off by one drifts away from the season, and noise moves a flat peak of the
    autocorrelation by one or two. Steps are folded as well as values: edges tell time best.
    """
    steps = np.diff(deviations)
    nearby = range(max(period - 2, _SHORTEST_PERIOD), period + 3)
    return min(nearby, key=lambda lag: _unexplained(deviations, lag) + _unexplained(steps, lag))


def _unexplained(values: FloatArray, period: int) -> float:
    """The share of the variance that the means of the phases leave."""
    cycles = len(values) // period
    folded = values[len(values) - cycles * period :].reshape(cycles, period)
    # Longer periods have more phases to fit noise with: count the degrees of freedom.
    left = float(((folded - folded.mean(axis=0)) ** 2).sum()) / (period * (cycles - 1))
    return left / float(values.var())


def detrended(window: FloatArray) -> FloatArray:
    """The window without its least-squares line."""
    time = np.arange(len(window), dtype=np.float64)
    time -= time.mean()
    centred = window - window.mean()
    slope = float(time @ centred) / float(time @ time)
    return np.asarray(centred - slope * time)


def autocorrelation(centred: FloatArray, longest: int) -> FloatArray:
    """Correlation with itself at lags 0..longest, for a series that is not flat.

    Every lag is scaled by the energy of the two stretches it compares: dividing by the whole
    energy, as is usual, would pull long lags towards zero and hide a season of a third of the
    window.
    """
    count = len(centred)
    squares = np.concatenate(([0.0], np.cumsum(centred * centred)))
    energy = float(squares[-1])
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    products = np.fft.irfft(spectrum * spectrum.conj(), size)[: longest + 1]
    lags = np.arange(longest + 1)
    compared = np.sqrt(squares[count - lags] * (energy - squares[lags]))
    return np.asarray(products / np.maximum(compared, 1e-12 * energy), dtype=np.float64)
