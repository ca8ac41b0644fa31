"""Exponential, logarithm and normal distribution for compiled loops.

The compiler can turn a loop with these into vector instructions, which it cannot with a call of the
mathematical library: there is no branch in them that is not a choice between two values.
"""

import numpy as np

from forecasting.compiled import compiled_inline

FARTHEST = 700.0
"""Beyond, an exponential is nothing or everything beside 1, and would leave the range of floats."""

_LOG2_E = 1.4426950408889634
_LN_2_HIGH, _LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""The logarithm of 2 in two parts, so that multiples of it are subtracted exactly."""
_ROUNDER = 6755399441055744.0
"""1.5 * 2^52: what is added to it is rounded to a whole number, in the lowest bits of the sum."""
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
"""Of the square root of 1/2, as an integer."""
_MANTISSA = 0x000FFFFFFFFFFFFF
_SQRT_HALF = 0.7071067811865476
_ERFC_NOTHING = 6.5
"""From here on erfc is below 1e-19."""


@compiled_inline
def exponential(x: float) -> float:
    """exp(x) within 2e-14, for |x| <= 700.

    exp(x) = 2^k * exp(r) with |r| <= ln(2) / 2, and the series of exp(r) up to r^11, bracketed so
    that its parts do not wait for each other.
    """
    shifted = x * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (x - k * _LN_2_HIGH) - k * _LN_2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (0.5 + r * (1.0 / 6.0)) * r2
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + (1.0 / 720.0 + r * (1.0 / 5040.0)) * r2
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) * r2
    bits = np.float64(shifted).view(np.int64)  # k, below what the shift itself has
    return (low + r4 * (middle + r4 * high)) * np.int64((bits + 1023) << 52).view(np.float64)


@compiled_inline
def logarithm(x: float) -> float:
    """log(x) within 1e-15 of 1 + its size, for a normal x > 0."""
    bits = np.float64(x).view(np.int64)
    k = (bits - _SQRT_HALF_BITS) >> 52
    return _log_of(k, np.int64(bits - (k << 52)).view(np.float64) - 1.0)


@compiled_inline
def logarithm_1p(x: float) -> float:
    """log(1 + x), however small x >= 0 is."""
    bits = np.float64(1.0 + x).view(np.int64)
    k = (bits - _SQRT_HALF_BITS) >> 52
    above_1 = np.int64(bits - (k << 52)).view(np.float64) - 1.0
    return _log_of(k, x if k == 0 else above_1)


@compiled_inline
def _log_of(k: int | np.int64, above_1: float) -> float:
    """log(2^k * (1 + y)) for y from -0.293 to 0.415: log(1 + y) = 2 artanh(y / (2 + y))."""
    s = above_1 / (2.0 + above_1)
    s2 = s * s
    s4 = s2 * s2
    low = (1.0 / 3.0 + s2 * (1.0 / 5.0)) + (1.0 / 7.0 + s2 * (1.0 / 9.0)) * s4
    high = (1.0 / 11.0 + s2 * (1.0 / 13.0)) + (1.0 / 15.0 + s2 * (1.0 / 17.0)) * s4
    return (2.0 * s + 2.0 * s * s2 * (low + s4 * s4 * high)) + k * 0.6931471805599453


@compiled_inline
def normal_below(value: float, bell: float) -> float:
    """Share of a standard normal variable below `value`, given exp(-value^2 / 2).

    erfc(x) = exp(-x^2) * g(x) / (1 + 2x) for x >= 0, with g a polynomial in a fraction of x that
    was fitted on 0 .. 6.6 at Chebyshev's points; within 3e-13 of itself, as small as it may be.
    """
    x = min(abs(value) * _SQRT_HALF, _ERFC_NOTHING)
    inverse = 1.0 / ((x + 3.0) * (1.0 + 2.0 * x))  # one division for both
    s = 1.9090909090909092 - 8.727272727272727 * (inverse * (1.0 + 2.0 * x))
    s2 = s * s
    s4 = s2 * s2
    a = (1.285424704787796 - s * 0.034140694846309216) + s2 * (
        -0.12446901153670832 + s * 0.11712091490848561
    )
    b = (-0.058532952878223986 + s * 0.017513827718395332) + s2 * (
        -0.0023768287294646797 - s * 0.0003046314159980186
    )
    c = (0.00015384671342040648 + s * 2.3420662327857885e-06) + s2 * (
        -8.496367627212687e-06 - s * 3.2175567286115375e-08
    )
    d = (5.038201384817624e-07 + s * 1.4091242941182988e-08) - s2 * 2.5463069786515348e-08
    tail = 0.5 * bell * (a + s4 * (b + s4 * (c + s4 * d))) * (inverse * (x + 3.0))
    return tail if value < 0.0 else 1.0 - tail
