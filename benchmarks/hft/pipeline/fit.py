"""Aggregate a window to 1 ms intervals, fit a polynomial, predict (De Matteis and Mencagli 2016,
section 5.1).

The heavy, stateless half of the paper's algotrader: quotes of a window are averaged for every
millisecond, a Levenberg-Marquardt regression gives the polynomial through the averages of each
side, and its value after the window is the predicted price. Pure; no clock.

Deviations from the paper: scipy's MINPACK instead of the C library lmfit; `leastsq` reaches it with
a quarter of the overhead of the newer `least_squares`. The paper gives neither the degree (here 2)
nor how far ahead it predicts (here one interval after the last quote). Time is mapped to [-1, 1]
and price to deviations of about 1 before the fit, which changes no prediction and saves iterations.
A side with fewer points than coefficients gets a lower degree.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import leastsq

from benchmarks.hft.pipeline.records import Records
from mpc.values import FloatArray, IntArray

# MINPACK stops at these relative changes; the default of 1e-8 would leave predictions that depend
# on the order of the sums in their ninth digit.
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Resolution of the aggregation, degree of the polynomial, distance of the prediction."""

    interval_us: int = 1_000
    degree: int = 2
    ahead_intervals: int = 1

    def __post_init__(self) -> None:
        if self.interval_us < 1:
            raise ValueError(f"interval_us must be at least 1, got {self.interval_us}")
        if self.degree < 0:
            raise ValueError(f"degree must be at least 0, got {self.degree}")
        if self.ahead_intervals < 0:
            raise ValueError(f"ahead_intervals must be at least 0, got {self.ahead_intervals}")


@dataclass(frozen=True, slots=True)
class Points:
    """The mean price of every interval that has a quote, oldest first."""

    interval: IntArray
    price: FloatArray


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A fitted polynomial in its own units of time and price."""

    coefficients: FloatArray
    """Ascending powers of scaled time."""
    centre: float
    half_width: float
    level: float
    scale: float

    def at(self, interval: float) -> float:
        scaled = (interval - self.centre) / self.half_width
        value = 0.0
        for coefficient in self.coefficients[::-1]:
            value = value * scaled + float(coefficient)
        return self.level + self.scale * value


@dataclass(frozen=True, slots=True)
class PricePrediction:
    """What a window leads to; None for a side without any quote in it."""

    bid: float | None
    ask: float | None


def predict(window: Records, options: FitOptions) -> PricePrediction:
    """Aggregation, both fits and the prediction of one window."""
    interval = window["ts_us"] // options.interval_us
    target = float(interval[-1] + options.ahead_intervals)
    prices = []
    for side in ("bid", "ask"):
        points = aggregate(interval, window[side])
        fitted = fit(points, options.degree) if len(points.interval) else None
        prices.append(None if fitted is None else fitted.at(target))
    return PricePrediction(bid=prices[0], ask=prices[1])


def aggregate(interval: IntArray, price: FloatArray) -> Points:
    """Average the prices of every interval; NaN prices are not there.

    Intervals must not decrease, as in a window in stream order.
    """
    absent = np.isnan(price)
    if absent.any():
        interval, price = interval[~absent], price[~absent]
    if len(interval) == 0:
        return Points(interval, price)
    begins = np.empty(len(interval), dtype=np.bool_)
    begins[0] = True
    np.not_equal(interval[1:], interval[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    counts = np.empty(len(first))
    np.subtract(first[1:], first[:-1], out=counts[:-1])
    counts[-1] = len(interval) - first[-1]
    return Points(interval[first], np.add.reduceat(price, first) / counts)


def fit(points: Points, degree: int) -> Polynomial:
    """Levenberg-Marquardt from zero, with the exact Jacobian."""
    count = len(points.interval)
    if count == 0:
        raise ValueError("a fit needs at least one point")
    low, high = float(points.interval[0]), float(points.interval[-1])
    centre, half_width = (low + high) / 2, max((high - low) / 2, 1.0)
    level = float(points.price.mean())
    deviation = points.price - level
    scale = float(np.abs(deviation).max()) or 1.0
    target = deviation / scale
    scaled_time = (points.interval - centre) / half_width
    # One row for each coefficient, as MINPACK keeps it: the other way round is copied each time.
    powers = np.ones((min(degree, count - 1) + 1, count))
    for power in range(1, len(powers)):
        np.multiply(powers[power - 1], scaled_time, out=powers[power])
    jacobian = powers.T

    def residuals(coefficients: FloatArray) -> FloatArray:
        return np.asarray(jacobian @ coefficients - target)

    def slopes(_: FloatArray) -> FloatArray:
        return powers

    solution, _ = leastsq(
        residuals,
        np.zeros(len(powers)),
        Dfun=slopes,
        col_deriv=True,
        ftol=_TOLERANCE,
        xtol=_TOLERANCE,
        gtol=_TOLERANCE,
    )
    return Polynomial(np.asarray(solution), centre, half_width, level, scale)
