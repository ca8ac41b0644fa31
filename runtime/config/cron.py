"""Periods written as in a crontab: which minutes they contain. Pure: the moment is passed in.

Five fields: minute, hour, day of the month, month, day of the week. A field is `*`, a number, a
range `a-b`, either with a step `/n`, or a list of these; months and weekdays have English names of
three letters, and 7 is Sunday, too. As in cron, where both days are restricted one of them is
enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    """The first stands for `low`."""


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 7, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class Period:
    """Every minute that all fields name."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either_day: bool
    """Both days are restricted, and one of them is enough."""

    def contains(self, moment: datetime) -> bool:
        if moment.minute not in self.minutes or moment.hour not in self.hours:
            return False
        if moment.month not in self.months:
            return False
        by_day = moment.day in self.days
        by_weekday = moment.isoweekday() % 7 in self.weekdays
        return by_day or by_weekday if self.either_day else by_day and by_weekday


def parse_period(text: str) -> Period:
    """Raises `ValueError` with what is wrong."""
    parts = text.lower().split()
    if len(parts) != len(_FIELDS):
        raise ValueError(
            f"{text!r} has {len(parts)} fields, not five: minute, hour, day, month, weekday"
        )
    minutes, hours, days, months, weekdays = (
        _numbers(part, field) for part, field in zip(parts, _FIELDS, strict=True)
    )
    return Period(
        text=text,
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either_day=not (parts[2].startswith("*") or parts[4].startswith("*")),
    )


def containing(periods: Sequence[Period], moment: datetime) -> Period | None:
    """The first of the periods that a moment lies in."""
    return next((period for period in periods if period.contains(moment)), None)


def _numbers(text: str, field: _Field) -> frozenset[int]:
    found: set[int] = set()
    for item in text.split(","):
        span, slash, step_text = item.partition("/")
        step = _number(step_text, field, low=1) if slash else 1
        first_text, dash, last_text = span.partition("-")
        if span == "*":
            first, last = field.low, field.high
        else:
            first = _number(first_text, field)
            last = _number(last_text, field) if dash else (field.high if slash else first)
        if last < first:
            raise ValueError(f"{item!r} in the {field.name} runs backwards; write two ranges")
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _number(text: str, field: _Field, low: int | None = None) -> int:
    if low is None and text in field.names:
        return field.low + field.names.index(text)
    least = field.low if low is None else low
    # isdecimal admits digits of other scripts, which nobody means here.
    if not (text.isascii() and text.isdecimal() and least <= int(text) <= field.high):
        raise ValueError(f"{text!r} is no {field.name}; it goes from {least} to {field.high}")
    return int(text)
