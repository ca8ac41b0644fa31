"""Numbers, units and policy names as people read them."""

import math

MISSING = "\N{EN DASH}"
NBSP = "\N{NO-BREAK SPACE}"
"""Between a number and its unit."""


def fixed(value: float | None, decimals: int) -> str:
    """With thousands apart; a dash for what was not measured."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def significant(value: float | None, digits: int = 3) -> str:
    """So many digits, never as a power of ten."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return fixed(value, min(max(decimals, 0), 9))


def count(value: float | None) -> str:
    """A count, or the mean of counts."""
    if value is None or not math.isfinite(value):
        return MISSING
    return fixed(value, 0) if value == int(value) else fixed(value, 1)


def signed(value: float, decimals: int) -> str:
    text = fixed(value, decimals)
    if value > 0 and float(text.replace(",", "")) != 0:
        return f"+{text}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(share: float) -> str:
    """Of a share: 0.182 is 18 %; a small one keeps a decimal."""
    return f"{fixed(share * 100, 0 if abs(share) >= 0.1 else 1)}{NBSP}%"


def watts(power_w: float) -> str:
    return f"{fixed(power_w, 1)}{NBSP}W"


def duration(seconds: float) -> str:
    """1.5 ms, 250 ms, 30 s."""
    if seconds < 1:
        return f"{seconds * 1e3:.4g}{NBSP}ms"
    return f"{seconds:.4g}{NBSP}s"


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def latency_unit(threshold_s: float) -> tuple[str, float]:
    """The unit that suits latencies near the threshold, and how many of it make a second."""
    return ("ms", 1e3) if threshold_s < 1 else ("s", 1.0)
