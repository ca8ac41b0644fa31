"""Numbers, units and times as people read them: the one set of formatters in Python.

The page formats by the same names (`assets/format.js`). What is missing is a dash, never 0.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Literal

MISSING = "\N{EN DASH}"
NBSP = "\N{NO-BREAK SPACE}"
"""Between a number and its unit, in running text."""
DAY_S = 86_400.0

Format = Literal["number", "per_s", "seconds", "hertz", "watts", "joules", "cost"]


def fixed(value: float | None, decimals: int) -> str:
    """With thousands apart."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def significant(value: float | None, digits: int = 3) -> str:
    """With exactly this many digits where it has decimals, never as a power of ten."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return fixed(value, min(max(decimals, 0), 9))


def number(value: float | None, digits: int = 3) -> str:
    """At most this many significant digits, without trailing zeros."""
    text = significant(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


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


def plural(number_of: int, noun: str) -> str:
    return f"{number_of:,} {noun}" if number_of == 1 else f"{number_of:,} {noun}s"


def seconds(value_s: float | None, digits: int = 3) -> str:
    """A time of this size: `12 ms`, `1.25 s`, `75 s`."""
    if value_s is None or not math.isfinite(value_s):
        return MISSING
    if abs(value_s) < 1.0:
        return f"{number(value_s * 1e3, digits)} ms"
    return f"{number(value_s, digits)} s"


def hertz(value_hz: float | None) -> str:
    return MISSING if value_hz is None else f"{value_hz / 1e9:.2f} GHz"


def watts(power_w: float | None) -> str:
    return MISSING if power_w is None else f"{number(power_w)} W"


def joules(energy_j: float | None) -> str:
    if energy_j is None:
        return MISSING
    size, unit = next(
        ((size, unit) for size, unit in ((3.6e6, "kWh"), (3600.0, "Wh")) if energy_j >= size),
        (1.0, "J"),
    )
    return f"{number(energy_j / size)} {unit}"


FORMATS: Mapping[Format, Callable[[float | None], str]] = MappingProxyType(
    {
        "number": number,
        "per_s": lambda value: MISSING if value is None else f"{number(value)}/s",
        "seconds": seconds,
        "hertz": hertz,
        "watts": watts,
        "joules": joules,
        "cost": lambda value: fixed(value, 3),
    }
)
"""By name, for what is declared as data."""


def latency_unit(threshold_s: float) -> tuple[str, float]:
    """The unit that suits latencies near the threshold, and how many of it make a second."""
    return ("ms", 1e3) if threshold_s < 1 else ("s", 1.0)


def clock(at_s: float, beside_s: float | None = None) -> str:
    """Local time of day; with the date unless it is near the other time."""
    at = datetime.fromtimestamp(at_s).astimezone()
    near = beside_s is not None and abs(beside_s - at_s) < DAY_S
    return f"{at:%H:%M}" if near else f"{at:%Y-%m-%d %H:%M}"


def moment(at_s: float) -> str:
    """Local date and time to the second."""
    return f"{datetime.fromtimestamp(at_s).astimezone():%Y-%m-%d %H:%M:%S}"
