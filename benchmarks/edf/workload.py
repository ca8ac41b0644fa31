"""Tuples per second of the taxi stream: five days in twelve hours, 150 to 500 tuples/s.

Source: Cardellini et al. 2018, section 9 (DEBS 2015 Grand Challenge, 10 times faster, amplified).
That file is not available; the shape comes from the half-hourly passenger counts of New York's
taxis in the Numenta Anomaly Benchmark, stretched to the paper's range, or from a generated week of
the same daily rhythm. Within half an hour the rate moves on a straight line and fluctuates around
it, which those counts cannot show: section 9 says that the measured rate fluctuates, not by how
much. The size is chosen to give the thresholds 0.3 and 0.4 without bucket about the paper's
downtime. Tuples come as a Poisson stream of that rate.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpc.values import FloatArray
from runtime.rates import read_rates

TAXI_FILE = "rates/nab_nyc_taxi.csv.gz"
LOWEST_PER_S, HIGHEST_PER_S = 150.0, 500.0
ACCELERATION = 10.0
HALF_HOUR_S = 1800.0 / ACCELERATION
DAYS = 5
HALF_HOURS = 48 * DAYS
PIECE_S = 30.0
FLUCTUATION = 0.15
"""Standard deviation of the logarithm of the rate from piece to piece."""


@dataclass(frozen=True, slots=True)
class TaxiRates:
    source: str
    """Where the shape comes from, in words."""
    half_hourly_per_s: FloatArray

    def at(self, time_s: float) -> float:
        """Tuples per second, without fluctuation; it starts again after the last day."""
        length = len(self.half_hourly_per_s)
        place = time_s / HALF_HOUR_S % length
        before = int(place)
        share = place - before
        after = (before + 1) % length
        return float(
            (1.0 - share) * self.half_hourly_per_s[before] + share * self.half_hourly_per_s[after]
        )

    def arrivals(self, start_s: float, end_s: float, generator: np.random.Generator) -> FloatArray:
        """Emission times of the data source, ascending."""
        pieces = []
        for piece_s in np.arange(start_s, end_s, PIECE_S):
            level = generator.lognormal(-(FLUCTUATION**2) / 2.0, FLUCTUATION)
            length_s = min(PIECE_S, end_s - piece_s)
            count = generator.poisson(self.at(piece_s + length_s / 2.0) * level * length_s)
            # Uniform times in ascending order, without sorting.
            gaps = generator.exponential(size=count + 1).cumsum()
            pieces.append(piece_s + length_s * gaps[:-1] / gaps[-1])
        return np.concatenate(pieces)


def taxi_rates(data: Path | None, generator: np.random.Generator) -> TaxiRates:
    path = None if data is None else data / TAXI_FILE
    if path is not None and path.is_file():
        counts = read_rates(path, "value")[:HALF_HOURS]
        return TaxiRates("taxi passengers of 1 to 5 July 2014 (NAB)", _stretched(counts))
    return TaxiRates("generated taxi days", _stretched(generated_days(generator)))


def generated_days(generator: np.random.Generator) -> FloatArray:
    """Lowest at five in the morning, a morning and a higher evening peak, 4 % noise."""
    hour = np.arange(HALF_HOURS) / 2.0 % 24.0
    daily = np.cos((hour - 17.0) * np.pi / 12.0)
    twice = np.cos((hour - 20.0) * np.pi / 6.0)
    noise = generator.normal(0.0, 0.04, HALF_HOURS)
    return np.asarray((1.0 + 0.75 * daily + 0.2 * twice) * (1.0 + noise))


def _stretched(counts: FloatArray) -> FloatArray:
    low, high = float(counts.min()), float(counts.max())
    share = (counts - low) / (high - low)
    return np.asarray(LOWEST_PER_S + share * (HIGHEST_PER_S - LOWEST_PER_S))
