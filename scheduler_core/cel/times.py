"""Moments and durations, to the nanosecond, as texts and as numbers.

Source: Go 1.24, time (ParseDuration, RFC 3339); cel-go 0.26, common/types (timestamp.go, duration.go).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

NANOS: Final = 10**9
_UNITS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 10**6, "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]*+)(\.[0-9]*+)?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_MOMENT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d++))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_LONGEST: Final = 2**63 - 1  # nanoseconds
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62135596800, 253402300799  # seconds: the years 1 to 9999


class TimeError(ValueError):
    """The text or the number is no moment or no duration."""


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanos: int

    def __str__(self) -> str:
        return f"{_decimal(self.nanos)}s"


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """Nanoseconds since 1970."""

    nanos: int

    def __str__(self) -> str:
        whole, rest = divmod(self.nanos, NANOS)
        at = _EPOCH + timedelta(seconds=whole)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{at.year:04d}{at:-%m-%dT%H:%M:%S}{fraction}Z"

    def within(self, zone: tzinfo = UTC) -> datetime:
        """Its date and time of day there, without what is less than a second."""
        return (_EPOCH + timedelta(seconds=self.nanos // NANOS)).astimezone(zone)


def duration_of(nanos: int) -> Duration:
    if not -_LONGEST - 1 <= nanos <= _LONGEST:
        raise TimeError("duration overflow")
    return Duration(nanos)


def moment_of(nanos: int) -> Moment:
    if not _FIRST <= nanos // NANOS <= _LAST:
        raise TimeError("timestamp overflow")
    return Moment(nanos)


def parse_duration(text: str) -> Duration:
    """`1h2m3.5s`, `-3ms`, `0`."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    total, place = Fraction(0), 0
    while place < len(rest):
        match = _PART.match(rest, place)
        if match is None or not (match[1] or (match[2] and len(match[2]) > 1)) or len(match[0]) > 60:
            raise TimeError("invalid duration")
        # What is less than a nanosecond is dropped in each part.
        amount = Fraction(f"{match[1] or 0}{match[2] if match[2] and len(match[2]) > 1 else ''}")
        total += int(amount * _UNITS[match[3]])
        place = match.end()
    if not rest or total > _LONGEST + (sign < 0):
        raise TimeError("invalid duration")
    return Duration(sign * int(total))


def parse_moment(text: str) -> Moment:
    """A text of RFC 3339."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise TimeError("invalid timestamp")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    shift = 0
    if match[8]:
        if int(match[9]) > 24 or int(match[10]) > 60:
            raise TimeError("invalid timestamp")
        shift = (int(match[9]) * 60 + int(match[10])) * (-60 if match[8] == "-" else 60)
    try:
        # The year 0 has as many days as the year 2000, and 730485 days less.
        at = datetime(year or 2000, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise TimeError("invalid timestamp") from error
    seconds = int((at - _EPOCH).total_seconds()) - (0 if year else 730485 * 86400) - shift
    return moment_of(seconds * NANOS + int((match[7] or "0")[:9].ljust(9, "0")))


def zone_of(name: str) -> tzinfo:
    """A zone by its name or its distance from UTC. TimeError where there is none."""
    hours, colon, minutes = name.partition(":")
    try:
        if colon:
            shift = int(hours) * 60 + (-int(minutes) if name.startswith("-") else int(minutes))
            return timezone(timedelta(minutes=shift))
        return UTC if name in ("", "UTC") else ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise TimeError(f"unknown time zone {name}") from error


def _decimal(nanos: int) -> str:
    whole, rest = divmod(abs(nanos), NANOS)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if nanos < 0 else ''}{whole}{fraction}"
