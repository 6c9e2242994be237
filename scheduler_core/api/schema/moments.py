"""Times in manifests: RFC 3339 in, UTC out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")


def in_utc(text: str, *, digits: int) -> str:
    """The time in UTC with this many decimals of a second, the rest cut off; ValueError when it is none."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    moment, decimals, zone = match.groups()
    fraction = "." + (decimals or "")[:digits].ljust(digits, "0") if digits else ""
    return _shifted(moment, zone) + fraction + "Z"


@lru_cache(maxsize=4096)
def _shifted(text: str, zone: str) -> str:
    moment = datetime.fromisoformat(text + (zone if zone != "Z" else "+00:00")).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S")
