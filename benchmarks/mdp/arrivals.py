"""Arrivals of Russo Russo 2018, section 4: a Markov chain over rate levels, estimated on taxi data.

The paper counts the trips of its taxi data set by minute. That file is not available here; NYC
taxi passengers per half hour (Numenta's NAB) stand in for it: scaled to the trips of the paper's
year, interpolated, and counted by minute as a Poisson stream with that rate. Without the file the
half hours are generated with the same daily and weekly shape.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.mdp.setting import QUANTUM_PER_MIN
from forecasting.compiled import compiled
from mpc.policies.rate_transitions import counted_transitions, probabilities
from mpc.values import FloatArray, IntArray
from runtime.rates import read_rates

TAXI_FILE = "rates/nab_nyc_taxi.csv.gz"
TRIPS_PER_MIN = 173e6 / (365 * 24 * 60)
"""The yellow taxis of New York made about 173 million trips in 2013, the year of the paper's file;
NAB counts passengers."""
MINUTES_A_VALUE = 30
GENERATED_WEEKS = 30

# Hours of a working day and of a day of the weekend, relative to the mean, read off NAB's file.
_WEEKDAY = (
    0.74, 0.46, 0.30, 0.20, 0.18, 0.23, 0.57, 1.00, 1.20, 1.16, 1.08, 1.09,
    1.13, 1.13, 1.19, 1.13, 0.94, 1.17, 1.46, 1.55, 1.48, 1.48, 1.42, 1.23,
)  # fmt: skip
_WEEKEND = (
    1.55, 1.37, 1.12, 0.84, 0.54, 0.25, 0.26, 0.35, 0.54, 0.80, 1.03, 1.19,
    1.29, 1.30, 1.28, 1.26, 1.13, 1.24, 1.40, 1.42, 1.29, 1.26, 1.28, 1.23,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The true chain of the rate."""

    transitions: FloatArray
    start: int
    source: str
    """Where it comes from, in words, for the output."""

    def draw(self, slots: int, generator: np.random.Generator) -> IntArray:
        """A new workload: the level of every slot and of the one after the last."""
        return _walk(self.transitions.cumsum(axis=1), self.start, generator.random(slots))


def taxi_arrivals(
    data: Path | None, generator: np.random.Generator, mean_per_min: float = TRIPS_PER_MIN
) -> Arrivals:
    path = None if data is None else data / TAXI_FILE
    if path is not None and path.is_file():
        half_hours = read_rates(path)
        source = (
            "NAB's NYC taxi counts resampled to minutes (the paper's own file is not available)"
        )
    else:
        half_hours = generated_half_hours(generator)
        source = "generated counts with the shape of NYC taxis (no taxi file found)"
    levels = np.rint(by_minute(half_hours, mean_per_min, generator) / QUANTUM_PER_MIN)
    return estimated(levels.astype(np.int64), source)


def estimated(levels: IntArray, source: str) -> Arrivals:
    """Eq. 5 on a series, closed to a ring: otherwise its last level could be one never left."""
    counts = counted_transitions(np.append(levels, levels[0]))
    return Arrivals(probabilities(counts), int(np.rint(levels.mean())), source)


def by_minute(
    half_hours: FloatArray, mean_per_min: float, generator: np.random.Generator
) -> IntArray:
    """Poisson counts a minute, with the rate on straight lines between the half hours' middles."""
    known = np.isfinite(half_hours)
    middles = (np.flatnonzero(known) + 0.5) * MINUTES_A_VALUE
    minutes = np.arange(len(half_hours) * MINUTES_A_VALUE) + 0.5
    shape = np.interp(minutes, middles, half_hours[known])
    return np.asarray(generator.poisson(shape * (mean_per_min / shape.mean())))


def generated_half_hours(generator: np.random.Generator) -> FloatArray:
    """Days and weekends as in NAB's file; hours deviate by 20 % with an autocorrelation of 0.94."""
    week = np.asarray(_WEEKDAY * 5 + _WEEKEND * 2)
    hours = np.tile(week, GENERATED_WEEKS)
    deviation = np.empty(len(hours))
    level = 0.0
    shocks = generator.normal(0.0, 0.2 * np.sqrt(1.0 - 0.94**2), len(hours))
    for hour, shock in enumerate(shocks):
        level = 0.94 * level + float(shock)
        deviation[hour] = level
    return np.repeat(hours * np.exp(deviation), 2)


@compiled
def _walk(cumulative: FloatArray, start: int, draws: FloatArray) -> IntArray:
    levels = np.empty(len(draws) + 1, dtype=np.int64)
    levels[0] = start
    last = cumulative.shape[1] - 1
    for slot in range(len(draws)):
        # Rounding may leave a row's sum just below one.
        following = np.searchsorted(cumulative[levels[slot]], draws[slot], side="right")
        levels[slot + 1] = min(following, last)
    return levels
