"""Arrival rates of the scenarios: the paper's random walk, real equity ticks, any rate file.

Files that the project does not ship are read where the user has them; without them, rates with
the same statistics are generated.
"""

from pathlib import Path

import numpy as np

from mpc.simulation.series import RateSeries
from mpc.values import FloatArray

PAPER_STEPS = 180


def read_random_walk(path: Path) -> RateSeries:
    """First line the number of seconds, then "second quotes_per_s" (Fig. 5a of De Matteis and
    Mencagli 2016).
    """
    lines = path.read_text().split("\n")
    rates = [float(line.split()[1]) for line in lines[1:] if line.strip()]
    if len(rates) != int(lines[0]):
        raise ValueError(f"{path}: expected {lines[0].strip()} rates, found {len(rates)}")
    return RateSeries(np.asarray(rates), bin_s=1.0)


def generated_random_walk(random: np.random.Generator) -> RateSeries:
    """A random walk with the statistics of Fig. 5a: steps of 16,554 (root mean square) between
    135,494 and 457,831 quotes/s, starting at 300,000."""
    low, high = 135_494.0, 457_831.0
    rates = np.empty(PAPER_STEPS)
    level = 300_000.0
    for second in range(PAPER_STEPS):
        rates[second] = level
        level += random.normal(0.0, 16_554.0)
        # Reflect at the borders, so that the walk stays where the paper's did.
        level = 2 * low - level if level < low else level
        level = 2 * high - level if level > high else level
    return RateSeries(rates, bin_s=1.0)


def step_change() -> RateSeries:
    """Fig. 6 of De Matteis and Mencagli 2016: 300,000 quotes/s, from second 30 on 400,000."""
    rates = np.full(45, 300_000.0)
    rates[30:] = 400_000.0
    return RateSeries(rates, bin_s=1.0)


def generated_equity_day(random: np.random.Generator) -> RateSeries:
    """A trading day like those of `read_equity_ticks`, for users without the files.

    Busy at open and close; from one accelerated second to the next a lognormal level (sd 0.35,
    autocorrelation 0.6); within it lognormal bursts per 10 ms with a coefficient of variation of
    1.34. The figures were read off the ticks of 2013-10-07 and 2013-10-08.
    """
    seconds, bins = 234, 100
    time = np.linspace(-1.0, 1.0, seconds)
    level = np.empty(seconds)
    deviation = 0.0
    for second in range(seconds):
        deviation = 0.6 * deviation + random.normal(0.0, 0.35 * 0.8)
        level[second] = (0.7 + 0.7 * time[second] ** 2) * np.exp(deviation)
    sigma = np.sqrt(np.log1p(1.34**2))
    bursts = random.lognormal(-(sigma**2) / 2.0, sigma, size=(seconds, bins))
    return RateSeries((level[:, None] * bursts).ravel(), bin_s=1.0 / bins)


def series_from_steps(rates_per_step: FloatArray, step_s: float) -> RateSeries:
    """One rate a control step, as rate files give them."""
    if not (np.isfinite(rates_per_step).all() and (rates_per_step >= 0).all()):
        raise ValueError("rates must be finite and not negative")
    return RateSeries(rates_per_step, bin_s=step_s)
