"""Schedules of cron jobs: five fields or a descriptor such as `@daily`, and the times they come at.

A field is a list of `*`, `?`, `low-high`, each with `/step`; months and days of the week have names. Where neither day
field is a star, a day that fits one of them counts. Time that a clock change skips has no starts; time that it repeats
has them twice. Times are microseconds since 1970, starts are on whole seconds. Upstream differs for some starts where a
clock change skips midnight or shifts half an hour.

No kept library reads this dialect (`?`, `7/10` up to the end, a stepped star that restricts, `@every`), and the API
server refuses schedules with the texts below. Source: github.com/robfig/cron v3.0.1, parser.go and spec.go.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, Protocol

from scheduler_core.api.times import microseconds, moment_of

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_DAYS: Final = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
# The fields of a schedule: least and greatest value, and names.
_FIELDS: Final[tuple[tuple[int, int, Mapping[str, int]], ...]] = (
    (0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, _MONTHS), (0, 6, _DAYS),
)  # fmt: skip
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_DURATION: Final = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+|[+-]?0", re.ASCII)
_DURATION_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNIT_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_SEARCHED_YEARS: Final = 5  # a day such as 30 February never comes
_SECOND_US: Final = 1_000_000


class ScheduleError(ValueError):
    """The text is no schedule; the message is the API server's."""


class Schedule(Protocol):
    """When something starts again and again."""

    def next_after(self, time: int) -> int | None:
        """Return the first start after the time; None when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Interval:
    """`@every`: a start so many whole seconds after the last one."""

    seconds: int

    def next_after(self, time: int) -> int:
        return (time // _SECOND_US + self.seconds) * _SECOND_US


@dataclass(frozen=True, slots=True)
class Fields:
    """The five fields, each as the values it allows, read in a time zone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    is_any_day: bool  # one of the two day fields has a plain star
    zone: tzinfo = UTC

    def next_after(self, time: int) -> int | None:
        at = moment_of(time).replace(microsecond=0) + timedelta(seconds=1)
        last_year = at.astimezone(self.zone).year + _SEARCHED_YEARS
        while (local := at.astimezone(self.zone)).year <= last_year:
            if local.month not in self.months:
                at = self._midnight(local.year + local.month // 12, local.month % 12 + 1, 1)
            elif not self._has_day(local):
                day = local.date() + timedelta(days=1)
                at = self._midnight(day.year, day.month, day.day)
            elif local.hour not in self.hours:
                at += timedelta(hours=1) - timedelta(minutes=local.minute, seconds=local.second)
            elif local.minute not in self.minutes or local.second:
                at += timedelta(minutes=1) - timedelta(seconds=local.second)
            else:
                return microseconds(at)
        return None

    def _has_day(self, local: datetime) -> bool:
        in_month, in_week = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return in_month and in_week if self.is_any_day else in_month or in_week

    def _midnight(self, year: int, month: int, day: int) -> datetime:
        """The day's first moment, which is one o'clock where the clock skips midnight."""
        return datetime(year, month, day, tzinfo=self.zone).astimezone(UTC)


def parse_schedule(text: str, zone: str = "") -> Schedule:
    """Return the schedule of a text, which may begin with a zone of its own (`TZ=…`); raises ScheduleError.

    `zone` is the name of a time zone, UTC when empty; one that is not known counts as UTC.
    """
    if text.startswith(("TZ=", "CRON_TZ=")):
        named, _, text = text.partition(" ")
        zone = named.partition("=")[2]
        if not is_zone(zone):
            raise ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
        text = text.strip()
    if text.startswith(_EVERY):
        return Interval(_interval_seconds(text))
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise ScheduleError(f"unrecognized descriptor: {text}")
    fields = _DESCRIPTORS.get(text, text).split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    read = [_values(field, *facts) for field, facts in zip(fields, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = (values for values, _ in read)
    return Fields(minutes, hours, days, months, weekdays, read[2][1] or read[4][1], zone_of(zone))


def is_zone(name: str) -> bool:
    """Whether a time zone has this name."""
    return name in ("", "UTC") or name in _zones() or not _zones()


def zone_of(name: str) -> tzinfo:
    """Return the time zone of this name; UTC for one that is not known."""
    try:
        return zoneinfo.ZoneInfo(name) if name not in ("", "UTC") else UTC
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    """The zones this machine knows; none on one without a database of them, where every name is taken."""
    return frozenset(zoneinfo.available_timezones())


def _interval_seconds(text: str) -> int:
    duration = text.removeprefix(_EVERY)
    if not _DURATION.fullmatch(duration):
        raise ScheduleError(f'failed to parse duration {text}: time: invalid duration "{duration}"')
    seconds = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _DURATION_PART.findall(duration))
    return 1 if duration.startswith("-") else max(1, int(seconds + 1e-9))


def _values(field: str, least: int, most: int, names: Mapping[str, int]) -> tuple[frozenset[int], bool]:
    """The values that a field allows, and whether a part of it is a star without a step."""
    values: set[int] = set()
    has_star = False
    for part in filter(None, field.split(",")):
        span, is_star = _range(part, least, most, names)
        values.update(span)
        has_star |= is_star
    return frozenset(values), has_star


def _range(text: str, least: int, most: int, names: Mapping[str, int]) -> tuple[range, bool]:
    span, *steps = text.split("/")
    low, *rest = span.split("-")
    is_star = low in ("*", "?")
    if is_star:
        first, last = least, most
    else:
        first = _number(low, names)
        if len(rest) > 1:
            raise ScheduleError(f"too many hyphens: {text}")
        last = _number(rest[0], names) if rest else first
    step = 1
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {text}")
    if steps:
        step = _number(steps[0], {})
        if not rest:
            last = most
    if first < least:
        raise ScheduleError(f"beginning of range ({first}) below minimum ({least}): {text}")
    if last > most:
        raise ScheduleError(f"end of range ({last}) above maximum ({most}): {text}")
    if first > last:
        raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if not step:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return range(first, last + 1, step), is_star and step == 1


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not _INTEGER.fullmatch(text):
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if len(text) > 18:
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    number = int(text)
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
