"""What the operators do, and how items of maps and lists are found.

Source: cel-go 0.26, common/stdlib and interpreter/attributes.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from scheduler_core.cel.functions import size_of
from scheduler_core.cel.library.moments import added, subtracted
from scheduler_core.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    NO_OVERLOAD,
    NONE,
    EvaluationError,
    Map,
    Optional,
    Uint,
    compare,
    equal,
    is_number,
    shown,
    type_name,
)


def item(holder: Any, key: Any) -> Any:
    """What the holder has by this key or index."""
    value, found = _found(holder, key)
    if found:
        return value
    if isinstance(holder, tuple):
        raise EvaluationError(f"index out of bounds: {shown(key)}")
    raise EvaluationError(f"no such key: {shown(key)}")


def optional_item(holder: Any, key: Any) -> Optional:
    """The same as an optional value, of a holder that may be optional itself."""
    if isinstance(holder, Optional):
        if not holder.has_value:
            return NONE
        holder = holder.value
    if not isinstance(holder, (Map, tuple)):
        raise EvaluationError(f"no such key: {shown(key)}")
    value, found = _found(holder, key)
    return Optional(True, value) if found else NONE


def has_item(holder: Any, key: str) -> bool:
    """Whether the holder has the field; one that has none is an error."""
    if isinstance(holder, Optional):
        return holder.has_value and has_item(holder.value, key)
    if not isinstance(holder, Map):
        raise EvaluationError(f"no such key: {shown(key)}")
    return holder.find(key)[1]


def _found(holder: Any, key: Any) -> tuple[Any, bool]:
    if isinstance(holder, Map):
        return holder.find(key)
    if isinstance(holder, tuple):
        if not is_number(key):
            raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")
        if isinstance(key, float) and not key.is_integer():
            raise EvaluationError(f"unsupported index value {key} in list")
        index = int(key)
        return (holder[index], True) if 0 <= index < len(holder) else (None, False)
    return None, False


def _negated(value: Any) -> Any:
    if type(value) is bool:
        raise EvaluationError(NO_OVERLOAD)
    if isinstance(value, Uint) or not is_number(value):
        raise EvaluationError(f"{NO_OVERLOAD}: -_")
    return _checked(-value)


def _not(value: Any) -> bool:
    if type(value) is not bool:
        raise EvaluationError(NO_OVERLOAD)
    return not value


def _checked(number: Any) -> Any:
    if isinstance(number, float):
        return number
    if not MIN_INT <= number <= MAX_INT:
        raise EvaluationError("integer overflow")
    return number


def _calculated(name: str, calculate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(one: Any, other: Any) -> Any:
        if not is_number(one):
            raise EvaluationError(f"{NO_OVERLOAD}: {name}")
        if type(one) is not type(other):
            raise EvaluationError(NO_OVERLOAD)
        result = calculate(one, other)
        if isinstance(one, Uint):
            if not 0 <= result <= MAX_UINT:
                raise EvaluationError("unsigned integer overflow")
            return Uint(result)
        return _checked(result)

    return operate


def _sum(one: Any, other: Any) -> Any:
    of_times = added(one, other)
    if of_times is not None:
        return of_times
    if isinstance(one, (str, bytes, tuple)):
        if type(one) is not type(other):
            raise EvaluationError(NO_OVERLOAD)
        joined: Any = one
        return joined + other
    return _number_sum(one, other)


def _difference(one: Any, other: Any) -> Any:
    of_times = subtracted(one, other)
    return of_times if of_times is not None else _number_difference(one, other)


def _quotient(one: Any, other: Any) -> Any:
    if isinstance(one, float):
        if other == 0:
            return math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)
        return one / other
    if other == 0:
        raise EvaluationError("division by zero")
    whole = abs(one) // abs(other)
    return whole if (one < 0) == (other < 0) else -whole


def _remainder(one: Any, other: Any) -> Any:
    if isinstance(one, float):
        raise EvaluationError(f"{NO_OVERLOAD}: _%_")
    if other == 0:
        raise EvaluationError("modulus by zero")
    rest = abs(one) % abs(other)
    return -rest if one < 0 else rest


def _is_in(value: Any, holder: Any) -> bool:
    if isinstance(holder, Map):
        return value in holder
    if not isinstance(holder, tuple):
        raise EvaluationError(NO_OVERLOAD)
    return any(equal(value, each) for each in holder)


_number_difference = _calculated("_-_", lambda one, other: one - other)
_number_sum = _calculated("_+_", lambda one, other: one + other)
OPERATORS: Final[Mapping[str, Callable[..., Any]]] = {
    "!_": _not,
    "-_": _negated,
    "_==_": equal,
    "_!=_": lambda one, other: not equal(one, other),
    "_<_": lambda one, other: compare(one, other, "_<_") < 0,
    "_<=_": lambda one, other: compare(one, other, "_<=_") <= 0,
    "_>_": lambda one, other: compare(one, other, "_>_") > 0,
    "_>=_": lambda one, other: compare(one, other, "_>=_") >= 0,
    "_+_": _sum,
    "_-_": _difference,
    "_*_": _calculated("_*_", lambda one, other: one * other),
    "_/_": _calculated("_/_", _quotient),
    "_%_": _calculated("_%_", _remainder),
    "@in": _is_in,
}


def cost_of(name: str, one: Any, other: Any) -> int:
    """What an operator with two sides costs."""
    if name == "@in":
        return size_of(other) if isinstance(other, tuple) else 1
    if name in ("_==_", "_!=_") or (name[1] in "<>" and isinstance(one, (str, bytes))):
        return math.ceil(min(size_of(one), size_of(other)) * 0.1)
    if name == "_+_" and isinstance(one, (str, bytes)):
        return math.ceil((size_of(one) + size_of(other)) * 0.1)
    return 1
