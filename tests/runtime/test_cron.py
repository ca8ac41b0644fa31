"""Crontab periods: every field by the numbers it names, and what is wrong is told."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.config import Config, ConfigError, load_config
from runtime.config.cron import containing, parse_period

moments = st.datetimes(timezones=st.just(UTC))


@given(moments)
def test_stars_contain_every_minute(moment: datetime) -> None:
    assert parse_period("* * * * *").contains(moment)
    assert parse_period("*/1 */1 * * *").contains(moment)


@given(moments, st.integers(0, 23), st.integers(0, 23))
def test_a_range_of_hours(moment: datetime, one: int, other: int) -> None:
    first, last = sorted((one, other))
    period = parse_period(f"* {first}-{last} * * *")
    assert period.contains(moment) == (first <= moment.hour <= last)


@given(moments, st.sets(st.integers(0, 59), min_size=1))
def test_a_list_of_minutes(moment: datetime, minutes: set[int]) -> None:
    period = parse_period(f"{','.join(map(str, sorted(minutes)))} * * * *")
    assert period.contains(moment) == (moment.minute in minutes)


@given(moments, st.integers(1, 59))
def test_steps_count_from_the_start(moment: datetime, step: int) -> None:
    assert parse_period(f"*/{step} * * * *").contains(moment) == (moment.minute % step == 0)


@given(moments)
def test_names_and_numbers_are_the_same(moment: datetime) -> None:
    assert parse_period("* * * Mar mon-FRI").contains(moment) == (
        moment.month == 3 and moment.isoweekday() <= 5
    )
    assert parse_period("* * * * 7").contains(moment) == (moment.isoweekday() == 7)


@given(moments)
def test_of_two_restricted_days_one_is_enough(moment: datetime) -> None:
    assert parse_period("* * 13 * fri").contains(moment) == (
        moment.day == 13 or moment.isoweekday() == 5
    )
    assert parse_period("* * 13 * *").contains(moment) == (moment.day == 13)


def test_the_first_period_that_contains_is_told() -> None:
    periods = [parse_period("* 2 * * *"), parse_period("* 2-4 * * *")]
    three = datetime(2026, 1, 1, 3, 30, tzinfo=UTC)
    assert containing(periods, three) == periods[1]
    assert containing(periods, three.replace(hour=5)) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("* * * *", "4 fields, not five"),
        ("60 * * * *", "'60' is no minute; it goes from 0 to 59"),
        ("* 4-2 * * *", "runs backwards"),
        ("* * 0 * *", "'0' is no day of the month"),
        ("*/0 * * * *", "'0' is no minute; it goes from 1 to 59"),
        ("* * * foo *", "'foo' is no month"),
        ("* , * * *", "'' is no hour"),
        ("٣ * * * *", "is no minute"),
    ],
)
def test_what_is_wrong_is_told(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_period(text)
    with pytest.raises(ConfigError, match=told):
        load_config(None, [f'schedule.exclude=["{text}"]'])


def test_the_section_reads_and_refuses() -> None:
    assert Config().schedule.exclude == ()
    config = load_config(None, ['schedule.exclude=["* 2-4 * * *"]', "schedule.timezone=UTC"])
    assert config.schedule.exclude == ("* 2-4 * * *",)
    with pytest.raises(ConfigError, match="name of a time zone"):
        load_config(None, ["schedule.timezone=Nowhere"])
