"""Plain scalars of YAML 1.1 as Go reads them and writes them into JSON: null, truth values, numbers, else text."""

from __future__ import annotations

import math
import re
from typing import Any, Final

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:(?P<ten>0|[1-9][0-9_]*)|0x(?P<hex>[0-9a-fA-F_]+)|0b(?P<two>[01_]+)|0o?(?P<eight>[0-7_]+))"
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES = {"ten": 10, "hex": 16, "two": 2, "eight": 8}
_LONGEST_NUMBER: Final = 250  # longer ones, in base 16, fit no float


def is_number(text: str) -> bool:
    """Whether a plain scalar of this text is no text."""
    return any(form.fullmatch(text) for form in (_INTEGER, _FLOAT, _NOT_FINITE))


def plain_scalar(text: str) -> Any:
    """What a plain scalar says; ValueError for a number that JSON cannot write."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if text[0] not in "+-.0123456789":
        return text
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        name = integer.lastgroup or "ten"
        digits = integer[name].replace("_", "")
        if not digits:
            return text
        if len(text) > _LONGEST_NUMBER:
            raise ValueError(f"a number of {len(text)} digits is too long")
        number = int(integer["sign"] + digits, _BASES[name])
        return number if -(2**63) <= number < 2**64 else float(number)
    if _FLOAT.fullmatch(text):
        value = float(text.replace("_", ""))
        if math.isfinite(value):
            # Go writes such a number into JSON without a point.
            return int(value) if value.is_integer() and abs(value) < 2**63 else value
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is no number that JSON knows")
    return text
