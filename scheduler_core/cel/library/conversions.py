"""Conversions between types.

Source: cel-go 0.26, common/types.
"""

from __future__ import annotations

import ipaddress
import math
from typing import Any

from scheduler_core.cel.functions import function, no_overload, traversal
from scheduler_core.cel.times import NANOS, Duration, Moment
from scheduler_core.cel.values import MAX_INT, MAX_UINT, MIN_INT, EvaluationError, TypeValue, Uint, type_name

_ADDRESSES = (ipaddress.IPv4Address, ipaddress.IPv6Address)  # networks are addresses too
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


def _unfit(value: Any, kind: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_name(value)}' to '{kind}'")


@function("int", "dyn")
def to_int(value: Any) -> int:
    if isinstance(value, str):
        number = _parsed(value, "int")
    elif isinstance(value, (Duration, Moment)):
        number = value.nanos if isinstance(value, Duration) else value.nanos // NANOS
    elif isinstance(value, float):
        if not MIN_INT < value < MAX_INT:  # the ends cannot be told from what is beyond them
            raise EvaluationError("integer overflow")
        number = math.trunc(value)
    elif isinstance(value, int) and type(value) is not bool:
        number = int(value)
    else:
        raise no_overload("int", [value])
    if not MIN_INT <= number <= MAX_INT:
        raise _unfit(value, "int") if isinstance(value, str) else EvaluationError("integer overflow")
    return number


@function("uint", "dyn")
def to_uint(value: Any) -> Uint:
    if isinstance(value, str):
        if value[:1] in ("+", "-"):
            raise _unfit(value, "uint")
        number = _parsed(value, "uint")
    elif isinstance(value, float):
        if not 0 <= value < MAX_UINT:
            raise EvaluationError("unsigned integer overflow")
        number = math.trunc(value)
    elif isinstance(value, int) and type(value) is not bool:
        number = int(value)
    else:
        raise no_overload("uint", [value])
    if not 0 <= number <= MAX_UINT:
        raise _unfit(value, "uint") if isinstance(value, str) else EvaluationError("unsigned integer overflow")
    return Uint(number)


def _parsed(text: str, kind: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 40):
        raise _unfit(text, kind)
    return int(text)


@function("double", "dyn")
def to_double(value: Any) -> float:
    if isinstance(value, str):
        try:
            if "_" in value or value != value.strip():
                raise ValueError
            return float(value)
        except ValueError:
            raise _unfit(value, "double") from None
    if isinstance(value, (int, float)) and type(value) is not bool:
        return float(value)
    raise no_overload("double", [value])


@function("bool", "dyn")
def to_bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    if not isinstance(value, str):
        raise no_overload("bool", [value])
    if value not in _TRUE + _FALSE:
        raise _unfit(value, "bool")
    return value in _TRUE


@function("string", "dyn")
def to_string(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    if isinstance(value, float):
        return _double_text(value)
    if isinstance(value, (int, str, Duration, Moment, *_ADDRESSES)):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    raise no_overload("string", [value])


def _double_text(value: float) -> str:
    if math.isinf(value) or math.isnan(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= exponent < 21:
        mantissa, _, power = repr(value).partition("e")
        return f"{mantissa.removesuffix('.0')}e{power}" if power else f"{value:e}"
    return repr(value).removesuffix(".0") if "e" not in repr(value) else f"{value:.0f}"


@function("bytes", "dyn", cost=traversal())
def to_bytes(value: Any) -> bytes:
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    raise no_overload("bytes", [value])


@function("dyn", "dyn", cost=lambda arguments, result: 0)
def to_dyn(value: Any) -> Any:
    return value


@function("type", "dyn")
def to_type(value: Any) -> TypeValue:
    return TypeValue(type_name(value))
