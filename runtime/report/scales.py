"""Axes: from values to pixels, with round ticks.

Linear, logarithmic, and square-root; the last one shows small counts apart without hiding zero.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["linear", "log", "sqrt"]

_WARP: dict[Kind, Callable[[float], float]] = {
    "linear": lambda value: value,
    "log": math.log10,
    "sqrt": lambda value: math.copysign(math.sqrt(abs(value)), value),
}


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps `low..high` to `start_px..end_px`; ticks lie inside."""

    kind: Kind
    low: float
    high: float
    start_px: float
    end_px: float
    ticks: tuple[float, ...]

    def __call__(self, value: float) -> float:
        """The pixel of a value; a value beyond the axis lands on its end."""
        warp = _WARP[self.kind]
        inside = min(max(value, self.low), self.high)
        share = (warp(inside) - warp(self.low)) / (warp(self.high) - warp(self.low))
        return self.start_px + share * (self.end_px - self.start_px)


def linear(values: Sequence[float], start_px: float, end_px: float, ticks: int) -> Scale:
    """An axis from round tick to round tick around the values."""
    low, high = _extent(values)
    step = round_step((high - low) / max(ticks, 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    marks = tuple(index * step for index in range(first, last + 1))
    return Scale("linear", marks[0], marks[-1], start_px, end_px, marks)


def exact(low: float, high: float, start_px: float, end_px: float, ticks: int) -> Scale:
    """An axis that ends where it is told to, with round ticks in between."""
    if high <= low:
        high = low + 1.0
    step = round_step((high - low) / max(ticks, 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    marks = tuple(index * step for index in range(first, last + 1))
    return Scale("linear", low, high, start_px, end_px, marks)


def logarithmic(values: Sequence[float], start_px: float, end_px: float) -> Scale:
    """An axis over powers of ten; with 2 and 5 in between where there is room for them."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = min(positive), max(positive)
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    steps = (1, 2, 5) if high / low < 2e3 else (1,)
    marks = [factor * 10.0**decade for decade in decades for factor in steps]
    begin = max(mark for mark in marks if mark <= low * (1 + 1e-9))
    end = min(mark for mark in marks if mark >= high * (1 - 1e-9) and mark > begin)
    inside = tuple(mark for mark in marks if begin <= mark <= end)
    return Scale("log", begin, end, start_px, end_px, inside)


def counts(largest: float, start_px: float, end_px: float, ticks: int) -> Scale:
    """An axis for counts from zero; by square root when they differ widely."""
    high = max(largest, 1.0)
    if high <= 20:
        axis = exact(0.0, high, start_px, end_px, ticks)
        whole = tuple(mark for mark in axis.ticks if mark == int(mark))
        return Scale("linear", 0.0, high, start_px, end_px, whole)
    marks = [0.0, 1.0, 5.0]
    while _next_round(marks[-1]) <= high:
        marks.append(_next_round(marks[-1]))
    return Scale("sqrt", 0.0, high, start_px, end_px, tuple(marks))


def round_step(raw: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below `raw`."""
    if raw <= 0 or not math.isfinite(raw):
        return 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1.0, 2.0, 5.0):
        if raw <= factor * power * (1 + 1e-9):
            return factor * power
    return 10.0 * power


def tick_text(value: float, scale: Scale) -> str:
    """As few digits as tell neighbouring ticks apart; thousands and millions as k and M."""
    largest = max(abs(mark) for mark in scale.ticks) if scale.ticks else abs(value)
    for bound, divisor, suffix in ((2e6, 1e6, "M"), (1e4, 1e3, "k")):
        if largest >= bound:
            return f"{value / divisor:.6g}{suffix}" if value else "0"
    return f"{value:.6g}"


def _next_round(mark: float) -> float:
    power = 10.0 ** math.floor(math.log10(mark))
    factor = round(mark / power)
    return {1: 2.0, 2: 5.0, 5: 10.0}[factor] * power


def _extent(values: Sequence[float]) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return low, high
    around = abs(low) * 0.1 or 1.0
    return low - around, high + around
