"""The section of the configuration that says when nothing is to be changed.

It follows the conventions of `schema.py`, which puts it into the whole configuration.
"""

from collections.abc import Iterator
from typing import Annotated
from zoneinfo import ZoneInfo

from msgspec import Meta

from mpc.options import Contradiction, Options, option
from runtime.config.cron import parse_period


class Schedule(Options):
    """Periods in which the controller decides and journals, and changes nothing."""

    exclude: tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...] = option(
        (),
        "Periods in which nothing is changed, as in a crontab: minute, hour, day of the month, "
        'month, day of the week. "* 2-4 * * *" is every night from 2:00 to 4:59.',
        max_length=100,
        kind="a list of at most 100 texts of five fields",
    )
    timezone: str | None = option(
        None,
        "Time zone of schedule.exclude.",
        min_length=1,
        max_length=100,
        kind="the name of a time zone",
        absent="that of the driver's machine",
        example="Europe/Vienna",
    )


def schedule_contradictions(schedule: Schedule) -> Iterator[Contradiction]:
    for text in schedule.exclude:
        try:
            parse_period(text)
        except ValueError as error:
            yield ((("schedule", "exclude"), f"must be periods as in a crontab: {error}"),)
    if schedule.timezone is not None:
        try:
            ZoneInfo(schedule.timezone)
        except (ValueError, OSError, LookupError):
            yield ((("schedule", "timezone"), "must be the name of a time zone known here"),)
