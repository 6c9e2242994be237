"""Times in manifests: RFC 3339 in, UTC out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)

_PARTS: Final = ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05")
_ZONE: Final = "Z07:00"
_OUT_OF_RANGE: Final = {"01": "month", "02": "day", "15": "hour", "04": "minute", "05": "second"}
_RANGES: Final = {
    "month": range(1, 13), "day": range(1, 32), "hour": range(24), "minute": range(60), "second": range(60),
}  # fmt: skip


def in_utc(text: str, *, digits: int) -> str:
    """The time in UTC with this many decimals of a second, the rest cut off; ValueError when it is none.

    Times that have decimals need them all. The error is that of the server's language.
    """
    match = _TIME.fullmatch(text)
    if match is None or (digits and len(match[2] or "") != digits):
        raise ValueError(_problem(text, digits))
    moment, decimals, zone = match.groups()
    try:
        _shifted(moment, zone)
    except OverflowError:
        raise ValueError(f'parsing time "{text}": year outside of range [1,9999] in UTC') from None
    except ValueError:
        raise ValueError(_problem(text, digits)) from None
    fraction = "." + (decimals or "")[:digits].ljust(digits, "0") if digits else ""
    return _shifted(moment, zone) + fraction + "Z"


def _problem(text: str, digits: int) -> str:
    """Which part of a time is missing or too large."""
    decimals = "." + "0" * digits
    rest = text
    for part in (*_PARTS, decimals, _ZONE):
        length = _length(part, rest)
        if length < 0:
            layout = f"2006-01-02T15:04:05{decimals if digits else ''}Z07:00"
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
        word = _OUT_OF_RANGE.get(part, "")
        if word and int(rest[:length]) not in _RANGES[word]:
            return f'parsing time "{text}": {word} out of range'
        rest = rest[length:]
    return f'parsing time "{text}": ' + (f'extra text: "{rest}"' if rest else "day out of range")


def _length(part: str, text: str) -> int:
    """How much of the text the part takes; -1 when the text does not begin with it."""
    if part == _ZONE:
        if text[:1] == "Z":
            return 1
        is_zone = text[:1] in ("+", "-") and _are_digits(text[1:3]) and text[3:4] == ":" and _are_digits(text[4:6])
        return 6 if is_zone and len(text) >= 6 else -1
    if part == ".":  # no decimals are asked for, and any are passed over
        return 0 if text[:1] != "." else 1 + len(text[1:]) - len(text[1:].lstrip("0123456789"))
    if part.isdigit() or part[0] == ".":
        start = int(part[0] == ".")
        given = text[: len(part)]
        is_there = len(given) == len(part) and given[:start] == part[:start] and _are_digits(given[start:])
        return len(part) if is_there else -1
    return len(part) if text.startswith(part) else -1


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


@lru_cache(maxsize=4096)
def _shifted(text: str, zone: str) -> str:
    moment = datetime.fromisoformat(text + (zone if zone != "Z" else "+00:00")).astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")  # strftime leaves out zeros of early years
