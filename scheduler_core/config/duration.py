"""Durations as Go writes them: `15s`, `1m30s`, `1.5h`, `300ms`. Kept in whole microseconds."""

from __future__ import annotations

import re
from functools import total_ordering

_UNIT_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_TEXT = re.compile(r"([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)


@total_ordering
class Duration:
    """An immutable span of time; prints the way it is parsed."""

    # Not a dataclass: those the decoder would read as an object with a field.
    __slots__ = ("us",)

    def __init__(self, us: int) -> None:
        self.us = us

    @staticmethod
    def parse(text: str) -> Duration:
        """Raises ValueError with Go's words."""
        if text in ("0", "+0", "-0"):
            return Duration(0)
        match = _TEXT.fullmatch(text) if len(text) < 100 else None
        if match is None:
            raise ValueError(f'time: invalid duration "{text}"')
        nanoseconds = 0
        for number, unit in _PART.findall(match[2]):
            whole, _, fraction = number.partition(".")
            nanoseconds += int(whole or "0") * _UNIT_NS[unit]
            nanoseconds += int(fraction or "0") * _UNIT_NS[unit] // 10 ** len(fraction)
        if nanoseconds >= 2**63:
            raise ValueError(f'time: invalid duration "{text}"')
        us = max(nanoseconds // 1_000, 1) if nanoseconds else 0  # a span that is there is none of zero
        return Duration(-us if match[1] == "-" else us)

    def __eq__(self, other: object) -> bool:
        return self.us == other.us if isinstance(other, Duration) else NotImplemented

    def __lt__(self, other: Duration) -> bool:
        return self.us < other.us

    def __hash__(self) -> int:
        return hash(self.us)

    def __repr__(self) -> str:
        return f"Duration({self.us})"

    def __str__(self) -> str:
        sign, us = ("-", -self.us) if self.us < 0 else ("", self.us)
        if us == 0:
            return "0s"
        if us < 1_000:
            return f"{sign}{us}µs"
        if us < 1_000_000:
            return f"{sign}{_decimal(us, 1_000)}ms"
        minutes, us = divmod(us, 60_000_000)
        hours, minutes = divmod(minutes, 60)
        text = f"{_decimal(us, 1_000_000)}s"
        if hours:
            text = f"{hours}h{minutes}m{text}"
        elif minutes:
            text = f"{minutes}m{text}"
        return sign + text


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    digits = str(rest).zfill(len(str(unit)) - 1).rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
