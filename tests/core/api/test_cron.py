"""Schedules of cron jobs: what they mean, when they come next, what is refused. The texts of refusals are recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.cron import ScheduleError, parse_schedule, zone_of
from scheduler_core.api.times import microseconds, moment_of
from tests.cases import cases


def starts(text: str, after: str, count: int, zone: str = "") -> list[str]:
    """The next starts, in the zone."""
    schedule = parse_schedule(text, zone)
    time = microseconds(datetime.fromisoformat(after))
    found = []
    for _ in range(count):
        following = schedule.next_after(time)
        if following is None:
            break
        time = following
        found.append(moment_of(time).astimezone(zone_of(zone)).strftime("%Y-%m-%d %H:%M:%S%z"))
    return found


@cases(
    "text, want",
    ("steps", "*/20 * * * *", ["2030-01-01 00:20:00+0000", "2030-01-01 00:40:00+0000"]),
    ("up to the end", "50/5 3 * * *", ["2030-01-01 03:50:00+0000", "2030-01-01 03:55:00+0000"]),
    ("a leap day within five years", "0 0 29 feb ?", ["2032-02-29 00:00:00+0000"]),
    ("a day that never comes", "0 0 30 2 *", []),
    ("a weekday", "0 12 * * SUN", ["2030-01-06 12:00:00+0000", "2030-01-13 12:00:00+0000"]),
    ("either day when both are restricted", "0 0 13 * 5",
     ["2030-01-04 00:00:00+0000", "2030-01-11 00:00:00+0000", "2030-01-13 00:00:00+0000"]),
    ("a star with a step restricts too", "0 0 */2 * 1",
     ["2030-01-03 00:00:00+0000", "2030-01-05 00:00:00+0000", "2030-01-07 00:00:00+0000"]),
    ("a star with step 1 is a star", "0 0 */1 * 1", ["2030-01-07 00:00:00+0000"]),
    ("hourly", "@hourly", ["2030-01-01 01:00:00+0000"]),
    ("weekly", "@weekly", ["2030-01-06 00:00:00+0000"]),
    ("annually", "@annually", ["2031-01-01 00:00:00+0000"]),
    ("every", "@every 1h30m", ["2030-01-01 01:30:00+0000", "2030-01-01 03:00:00+0000"]),
    ("every, in whole seconds", "@every 1.5s", ["2030-01-01 00:00:01+0000"]),
    ("every second at most", "@every 1ms", ["2030-01-01 00:00:01+0000"]),
)  # fmt: skip
def test_starts_follow(text: str, want: list[str]) -> None:
    assert starts(text, "2030-01-01T00:00:00+00:00", max(1, len(want))) == want


@cases(
    "text, after, want",
    ("an hour that is skipped", "30 2 * * *", "2030-03-30T12:00:00+00:00", ["2030-04-01 02:30:00+0200"]),
    ("an hour that comes twice", "30 2 * * *", "2030-10-26T12:00:00+00:00",
     ["2030-10-27 02:30:00+0200", "2030-10-27 02:30:00+0100", "2030-10-28 02:30:00+0100"]),
    ("days of 23 hours", "0 0 * * *", "2030-03-30T12:00:00+00:00",
     ["2030-03-31 00:00:00+0100", "2030-04-01 00:00:00+0200"]),
)  # fmt: skip
def test_starts_follow_the_clock_of_the_zone(text: str, after: str, want: list[str]) -> None:
    assert starts(text, after, len(want), "Europe/Berlin") == want


def test_zone_within_the_text_wins() -> None:
    assert starts("TZ=Asia/Tokyo 0 9 * * *", "2030-01-01T00:00:00+00:00", 1) == ["2030-01-02 00:00:00+0000"]
    assert starts("CRON_TZ=Asia/Tokyo 0 10 * * *", "2030-01-01T00:00:00+00:00", 1) == ["2030-01-01 01:00:00+0000"]


@cases(
    "text, want",
    ("four fields", "* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
    ("descriptor", "@fortnightly", "unrecognized descriptor: @fortnightly"),
    ("a minute too many", "60 * * * *", "end of range (60) above maximum (59): 60"),
    ("backwards", "5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
    ("no step", "*/0 * * * *", "step of range should be a positive number: */0"),
    ("hyphens", "1-2-3 * * * *", "too many hyphens: 1-2-3"),
    ("slashes", "1/2/3 * * * *", "too many slashes: 1/2/3"),
    ("day zero", "* * 0 * *", "beginning of range (0) below minimum (1): 0"),
)
def test_other_texts_are_refused(text: str, want: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(text)
    assert str(caught.value) == want


FIELD = st.tuples(st.integers(0, 59), st.integers(0, 23), st.integers(1, 28), st.integers(1, 12), st.integers(0, 6))


@given(FIELD, st.tuples(*[st.booleans()] * 5), st.integers(0, 400 * 86_400), st.sampled_from(["", "America/New_York"]))
def test_next_start_is_the_first_minute_that_fits(
    fields: tuple[int, ...], stars: tuple[bool, ...], after: int, zone: str
) -> None:
    text = " ".join("*" if star else str(field) for star, field in zip(stars, fields, strict=True))
    at = datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=after)
    schedule = parse_schedule(text, zone)
    found = schedule.next_after(microseconds(at))
    assert found is not None
    # An oracle that tries every minute of the days before, and of the day itself.
    first = max(at, moment_of(found) - timedelta(days=2)).replace(second=0) + timedelta(minutes=1)
    while not _fits(first.astimezone(zone_of(zone)), fields, stars):
        first += timedelta(minutes=1)
    assert moment_of(found) == first


def _fits(local: datetime, fields: tuple[int, ...], stars: tuple[bool, ...]) -> bool:
    now = (local.minute, local.hour, local.day, local.month, local.isoweekday() % 7)
    ok = [star or value == field for star, value, field in zip(stars, now, fields, strict=True)]
    days = (ok[2] and ok[4]) if stars[2] or stars[4] else (ok[2] or ok[4])
    return ok[0] and ok[1] and days and ok[3]


def test_starts_are_in_order() -> None:
    schedule = parse_schedule("*/7 */5 * * 1-3", "Australia/Lord_Howe")
    times = [microseconds(datetime(2030, 4, 1, tzinfo=UTC))]
    for _ in range(200):
        following = schedule.next_after(times[-1])
        assert following is not None
        times.append(following)
    assert all(one < other for one, other in pairwise(times))
