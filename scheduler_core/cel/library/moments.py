"""Functions of moments and durations.

Source: cel-go 0.26, common/types (timestamp.go, duration.go).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from scheduler_core.cel.functions import function, method, no_overload
from scheduler_core.cel.times import (
    NANOS,
    Duration,
    Moment,
    TimeError,
    duration_of,
    moment_of,
    parse_duration,
    parse_moment,
    zone_of,
)
from scheduler_core.cel.types import DURATION, TIMESTAMP
from scheduler_core.cel.values import EvaluationError, type_name

_PARTS: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDate": lambda at: at.day,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
}
_IN_ONE: Final = {"getHours": 3600 * NANOS, "getMinutes": 60 * NANOS, "getSeconds": NANOS, "getMilliseconds": 10**6}


@function("duration", "dyn")
def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, int) and type_name(value) == "int":
        return Duration(value)
    if not isinstance(value, str):
        raise no_overload("duration", [value])
    try:
        return parse_duration(value)
    except TimeError as error:
        raise EvaluationError(f"type conversion error from 'string' to '{type_name(Duration(0))}'") from error


@function("timestamp", "dyn")
def to_timestamp(value: Any) -> Moment:
    if isinstance(value, Moment):
        return value
    try:
        if isinstance(value, int) and type_name(value) == "int":
            return moment_of(value * NANOS)
        if isinstance(value, str):
            return parse_moment(value)
    except TimeError as error:
        if str(error) == "timestamp overflow":
            raise EvaluationError(str(error)) from error
        raise EvaluationError(f"type conversion error from 'string' to '{type_name(Moment(0))}'") from error
    raise no_overload("timestamp", [value])


def _declare(name: str, part: Callable[[datetime], int]) -> None:
    @method(name, TIMESTAMP)
    def of_moment(value: Moment) -> int:
        return part(value.within())

    @method(name, TIMESTAMP, "string")
    def there(value: Moment, zone: str) -> int:
        try:
            return part(value.within(zone_of(zone)))
        except TimeError as error:
            raise EvaluationError(str(error)) from error


def _declare_whole(name: str, nanos: int) -> None:
    @method(name, DURATION)
    def whole(value: Duration) -> int:
        amount = abs(value.nanos) // nanos
        return amount if value.nanos >= 0 else -amount


@method("getMilliseconds", TIMESTAMP)
def milliseconds(value: Moment) -> int:
    return value.nanos % NANOS // 10**6


@method("getMilliseconds", TIMESTAMP, "string")
def milliseconds_there(value: Moment, zone: str) -> int:
    try:
        zone_of(zone)
    except TimeError as error:
        raise EvaluationError(str(error)) from error
    return milliseconds(value)


for _name, _part in _PARTS.items():
    _declare(_name, _part)
for _name, _nanos in _IN_ONE.items():
    _declare_whole(_name, _nanos)


def added(one: Any, other: Any) -> Any:
    """The sum of durations, or of a moment and a duration; None where it is neither."""
    if isinstance(one, Duration) and isinstance(other, Duration):
        return _or_error(duration_of, one.nanos + other.nanos, "integer overflow")
    if (isinstance(one, Moment) and isinstance(other, Duration)) or (
        isinstance(one, Duration) and isinstance(other, Moment)
    ):
        return _or_error(moment_of, one.nanos + other.nanos, "timestamp overflow")
    return None


def subtracted(one: Any, other: Any) -> Any:
    """The difference; None where there is none of such values."""
    if isinstance(one, Duration) and isinstance(other, Duration):
        return _or_error(duration_of, one.nanos - other.nanos, "integer overflow")
    if isinstance(one, Moment) and isinstance(other, Moment):
        return _or_error(duration_of, one.nanos - other.nanos, "integer overflow")
    if isinstance(one, Moment) and isinstance(other, Duration):
        return _or_error(moment_of, one.nanos - other.nanos, "timestamp overflow")
    return None


def _or_error(make: Callable[[int], Any], nanos: int, error: str) -> Any:
    try:
        return make(nanos)
    except TimeError:
        raise EvaluationError(error) from None
