"""Values of expressions, and what is equal, ordered, or wrong about them.

bool, int, float, str, bytes and None stand for themselves; lists are tuples. Errors are raised as `EvaluationError`.
Source: cel-go 0.26, common/types.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.api.quantity import Quantity
from scheduler_core.cel.semver import Semver
from scheduler_core.cel.times import Duration, Moment
from scheduler_core.cel.types import shown as shown_type
from scheduler_core.cel.urls import Url

MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1
NO_OVERLOAD: Final = "no such overload"


class EvaluationError(Exception):
    """What is wrong, in the words of cel-go."""


class Uint(int):
    """A number without a sign."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    has_value: bool = False
    value: Any = None


NONE: Final = Optional()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Format:
    """A named format of texts."""

    name: str


class Map:
    """Keys and values in their order. Numbers of different types are one key, a truth value is never a number.

    `missing`: the value of every key that is not there (`find` alone knows it).
    """

    __slots__ = ("_entries", "_missing")

    def __init__(self, pairs: Iterator[tuple[Any, Any]] | Any = (), missing: Any = None) -> None:
        self._entries: dict[Any, tuple[Any, Any]] = {}
        self._missing = missing
        for key, value in pairs:
            held = _hashed(key)
            if held in self._entries:
                raise EvaluationError(f"insert failed: key {shown(key)} already exists")
            self._entries[held] = key, value

    def find(self, key: Any) -> tuple[Any, bool]:
        """(the value, whether there is one)."""
        entry = self._entries.get(_hashed(key))
        if entry is not None:
            return entry[1], True
        return (self._missing, True) if self._missing is not None else (None, False)

    def __contains__(self, key: Any) -> bool:
        return _hashed(key) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def keys(self) -> tuple[Any, ...]:
        return tuple(key for key, _ in self._entries.values())

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._entries.values())


def _hashed(key: Any) -> Any:
    if type(key) in (bool, str, int):
        return (key,) if type(key) is bool else key
    if isinstance(key, (int, float)):
        return key
    return ("?", id(key)) if isinstance(key, (Map, tuple)) else ("?", key)


def kind_of(value: Any) -> str:
    """The type of a value, as the checker calls it."""
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return "unknown"


def type_name(value: Any) -> str:
    """The full name of the type of a value."""
    return shown_type(kind_of(value), is_result=True)


_TYPES: Final[tuple[tuple[Any, str], ...]] = (
    (bool, "bool"), (Uint, "uint"), (int, "int"), (float, "double"), (str, "string"), (bytes, "bytes"),
    (type(None), "null_type"), (tuple, "list"), (Map, "map"), (Quantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"), (Optional, "optional_type"), (TypeValue, "type"),
    (Duration, "duration"), (Moment, "timestamp"), (Url, "kubernetes.URL"), (Format, "kubernetes.NamedFormat"),
    # A network is an address too.
    ((ipaddress.IPv4Interface, ipaddress.IPv6Interface), "net.CIDR"),
    ((ipaddress.IPv4Address, ipaddress.IPv6Address), "net.IP"),
)  # fmt: skip


# Types that refuse to be compared with others.
_STRICT: Final = (Quantity, Semver, Format, Url, ipaddress.IPv4Address, ipaddress.IPv6Address)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and type(value) is not bool


def equal(one: Any, other: Any) -> bool:
    """Values of different types are unequal, but for numbers. EvaluationError where a type refuses others."""
    if is_number(one) and is_number(other):
        return bool(one == other)
    if isinstance(one, _STRICT):
        if type(one) is not type(other):
            if other is None:
                return False
            raise EvaluationError(NO_OVERLOAD)
        return one == other
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, Map) and isinstance(other, Map):
        if len(one) != len(other):
            return False
        return all(key in other and equal(value, other.find(key)[0]) for key, value in one.items())
    if isinstance(one, Optional) and isinstance(other, Optional):
        return one.has_value == other.has_value and (not one.has_value or equal(one.value, other.value))
    return type(one) is type(other) and bool(one == other)


def compare(one: Any, other: Any, name: str) -> int:
    """-1, 0 or 1 of what can be ordered."""
    if is_number(one) and is_number(other):
        if math.isnan(one) or math.isnan(other):
            raise EvaluationError("NaN values cannot be ordered")
    elif not isinstance(one, (bool, int, float, str, bytes, Moment, Duration)):
        raise EvaluationError(f"{NO_OVERLOAD}: {name}")
    elif type(one) is not type(other):
        raise EvaluationError(NO_OVERLOAD)
    if isinstance(one, str):
        one, other = one.encode(), other.encode()  # as Go orders them
    return int(one > other) - int(one < other)


def shown(value: Any) -> str:
    """A value as messages have it."""
    if type(value) is bool:
        return "true" if value else "false"
    return "null" if value is None else str(value)
