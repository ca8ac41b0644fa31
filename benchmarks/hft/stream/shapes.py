"""The rates a replay can have, by name: constant, wave, the paper's random walk, a trading day.

Each is scaled so that its highest mean over a second is the peak that was asked for.
"""

from typing import Literal, get_args

import numpy as np

from benchmarks.hft.stream.schedule import RateSchedule, rate_schedule
from benchmarks.workloads.rates import generated_equity_day, generated_random_walk
from mpc.simulation.series import RateSeries

Shape = Literal["constant", "wave", "random-walk", "trading-day"]
SHAPES: tuple[Shape, ...] = get_args(Shape)

_WAVE_BIN_S = 0.1


def shaped_rates(
    shape: Shape, peak_per_s: float, trough_per_s: float, period_s: float, seed: int
) -> RateSeries:
    """One cycle; `trough_per_s` and `period_s` are the wave's, which starts at its trough."""
    random = np.random.default_rng(seed)
    match shape:
        case "constant":
            return RateSeries(np.full(60, peak_per_s), bin_s=1.0)
        case "wave":
            if not (0 <= trough_per_s <= peak_per_s and period_s >= 2 * _WAVE_BIN_S):
                raise ValueError(
                    f"a wave needs 0 <= trough <= peak and a period of {2 * _WAVE_BIN_S} s, got "
                    f"{trough_per_s}..{peak_per_s} quotes/s over {period_s} s"
                )
            bins = round(period_s / _WAVE_BIN_S)
            phase = 2 * np.pi * (np.arange(bins) + 0.5) / bins
            height = (1 - np.cos(phase)) / 2
            return RateSeries(
                trough_per_s + (peak_per_s - trough_per_s) * height, bin_s=period_s / bins
            )
        case "random-walk":
            return generated_random_walk(random).scaled_to_peak(peak_per_s, over_s=1.0)
        case "trading-day":
            return generated_equity_day(random).scaled_to_peak(peak_per_s, over_s=1.0)


def scheduled(rates: RateSeries, acceleration: float) -> RateSchedule:
    return rate_schedule(rates.tuples_per_s, rates.bin_s, acceleration)
