"""How much of a resource is used, as a function of time since a start: what annotations of pods and nodes say.

    300Mi                               always as much
    ramp(100Mi, 600Mi, 120s)            from the first to the second in that time, and so on for ever after
    sine(200Mi, 50Mi, 60s)              around the first, up and down by the second, with that period
    trace(0s=100Mi, 30s=500Mi, 60s=0)   from each time on as much

Amounts are whole units (bytes, thousandths of a core for cpu), times microseconds since the start. Every model knows
bounds over a span of time, so that nobody needs to look at it again and again.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Final, Protocol

import msgspec

from scheduler_core.api.quantity import parse
from scheduler_core.api.resources import amount
from scheduler_core.config.duration import Duration

_LONGEST: Final = 2000  # characters
_QUARTER: Final = 0.25


class Usage(Protocol):
    """One model."""

    def at(self, since: int) -> int:
        """Return the amount at that time."""
        ...

    def bounds(self, begin: int, end: int | None) -> tuple[int, int]:
        """Return amounts it does not go below and above between both times; `end` None is for ever."""
        ...

    def first_above(self, limit: int) -> int | None:
        """Return the first time at which it is more than the limit; None when it never is."""
        ...


class Constant(msgspec.Struct, frozen=True, gc=False):
    level: int

    def at(self, since: int) -> int:
        return self.level

    def bounds(self, begin: int, end: int | None) -> tuple[int, int]:
        return self.level, self.level

    def first_above(self, limit: int) -> int | None:
        return 0 if self.level > limit else None


class Ramp(msgspec.Struct, frozen=True, gc=False):
    first: int
    last: int
    span_us: int

    def at(self, since: int) -> int:
        if since >= self.span_us:
            return self.last
        return self.first + (self.last - self.first) * max(since, 0) // self.span_us

    def bounds(self, begin: int, end: int | None) -> tuple[int, int]:
        early, late = self.at(begin), self.last if end is None else self.at(end)
        return min(early, late), max(early, late)

    def first_above(self, limit: int) -> int | None:
        if self.first > limit:
            return 0
        if self.last <= limit:
            return None
        # The first whole microsecond at which the rounded amount is above the limit.
        rise = self.last - self.first
        return min(self.span_us, -(-(limit + 1 - self.first) * self.span_us // rise))


class Sine(msgspec.Struct, frozen=True, gc=False):
    middle: int
    swing: int
    period_us: int

    def at(self, since: int) -> int:
        phase = (since % self.period_us) / self.period_us
        return max(0, self.middle + round(self.swing * math.sin(2 * math.pi * phase)))

    def bounds(self, begin: int, end: int | None) -> tuple[int, int]:
        if end is None or end - begin >= self.period_us:
            return max(0, self.middle - self.swing), self.middle + self.swing
        ends = (self.at(begin), self.at(end))
        low = max(0, self.middle - self.swing) if self._passes(begin, end, 3 * _QUARTER) else min(ends)
        return low, self.middle + self.swing if self._passes(begin, end, _QUARTER) else max(ends)

    def first_above(self, limit: int) -> int | None:
        if self.middle > limit:
            return 0
        if self.middle + self.swing <= limit:
            return None
        at = math.asin(min(1.0, (limit + 1 - self.middle) / self.swing)) / (2 * math.pi)
        return min(math.ceil(at * self.period_us), self.period_us // 4)

    def _passes(self, begin: int, end: int, phase: float) -> bool:
        """Whether the phase, a part of the period, comes between both times."""
        return math.floor(end / self.period_us - phase) > math.ceil(begin / self.period_us - phase) - 1


class Trace(msgspec.Struct, frozen=True, gc=False):
    times_us: tuple[int, ...]  # ascending, the first is 0
    levels: tuple[int, ...]

    def at(self, since: int) -> int:
        return self.levels[max(0, bisect_right(self.times_us, since) - 1)]

    def bounds(self, begin: int, end: int | None) -> tuple[int, int]:
        first = max(0, bisect_right(self.times_us, begin) - 1)
        last = len(self.levels) if end is None else max(first + 1, bisect_right(self.times_us, end))
        return min(self.levels[first:last]), max(self.levels[first:last])

    def first_above(self, limit: int) -> int | None:
        return next((time for time, level in zip(self.times_us, self.levels, strict=True) if level > limit), None)


def parse_usage(resource: str, text: str) -> Usage:
    """Return the model that the text describes; ValueError says what is wrong with it."""
    text = text.strip()
    if len(text) > _LONGEST:
        raise ValueError(f"is longer than {_LONGEST} characters")
    name, opened, rest = text.partition("(")
    if not opened:
        return Constant(_amount(resource, text))
    if not rest.endswith(")"):
        raise ValueError(f"{text!r}: the closing bracket is missing")
    parts = [part.strip() for part in rest[:-1].split(",")]
    if name == "trace":
        return _trace(resource, parts)
    if name not in ("ramp", "sine"):
        raise ValueError(f"{name!r} is none of ramp, sine, trace")
    if len(parts) != 3:
        raise ValueError(f"{name} needs two amounts and a time, as in {name}(100Mi, 50Mi, 60s)")
    first, second, span = _amount(resource, parts[0]), _amount(resource, parts[1]), _time(parts[2])
    if span == 0:
        raise ValueError(f"{name}: the time must be more than 0")
    return Ramp(first, second, span) if name == "ramp" else Sine(first, second, span)


def _trace(resource: str, parts: list[str]) -> Trace:
    times, levels = [], []
    for part in parts:
        time, equals, level = part.partition("=")
        if not equals:
            raise ValueError(f"trace: {part!r} is not of the form 30s=500Mi")
        times.append(_time(time.strip()))
        levels.append(_amount(resource, level.strip()))
        if len(times) > 1 and times[-1] <= times[-2]:
            raise ValueError("trace: the times must ascend")
    if times[0] != 0:
        times.insert(0, 0)
        levels.insert(0, 0)
    return Trace(tuple(times), tuple(levels))


def _amount(resource: str, text: str) -> int:
    found = amount(resource, parse(text))
    if found < 0:
        raise ValueError(f"{text!r} is negative")
    return found


def _time(text: str) -> int:
    found = Duration.parse(text).us
    if found < 0:
        raise ValueError(f"{text!r} is negative")
    return found
