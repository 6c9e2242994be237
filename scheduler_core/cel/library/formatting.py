"""Texts with places for values: `"%s has %d devices".format([name, count])`.

Numbers are written as in American English, as upstream's locale has them.
Source: cel-go 0.26, ext/formatting.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from scheduler_core.cel.functions import method, traversal
from scheduler_core.cel.library.conversions import to_string
from scheduler_core.cel.semver import quoted
from scheduler_core.cel.times import Duration, Moment
from scheduler_core.cel.types import DYN, Type, head, shown
from scheduler_core.cel.values import EvaluationError, Map, TypeValue, kind_of, type_name

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.(\d*+))?(.)?)", re.ASCII | re.DOTALL)
_NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PRECISION: Final = 6


@method("format", "string", "list", cost=traversal())
def format_text(text: str, values: tuple[Any, ...]) -> str:
    made, used = "", 0
    for part in _parts(text):
        if isinstance(part, str):
            made += part
            continue
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        made += _CLAUSES[part[1]](values[used], part[0])
        used += 1
    return made


def places_of(text: str, count: int) -> list[str]:
    """The letters of the places for values, of which there are so many. EvaluationError when the text is wrong."""
    letters: list[str] = []
    for part in _parts(text):
        if not isinstance(part, str):
            if len(letters) >= count:
                raise EvaluationError(f"index {len(letters)} out of range")
            letters.append(part[1])
    if count > len(letters):
        told = f"too many arguments supplied to string.format (expected {len(letters)}, got {count})"
        raise EvaluationError(told)
    return letters


def type_problem(letter: str, kind: Type) -> str:
    """Why no value of the type can stand at such a place; empty when one can."""
    rule, kinds = _RULES[letter]
    return "" if kind == DYN or head(kind) in kinds else f"{rule}, was given {shown(head(kind), is_result=True)}"


def _parts(text: str) -> Iterator[str | tuple[int, str]]:
    """Texts, and (precision, letter) of places for values."""
    place = 0
    for match in _CLAUSE.finditer(text):
        yield text[place : match.start()]
        place = match.end()
        digits, letter = match[1], match[2]
        if match[0] == "%%":
            yield "%"
        elif letter is None:
            raise EvaluationError("unexpected end of string")
        elif digits == "":
            told = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            raise EvaluationError(f"could not parse formatting clause: error while parsing precision: {told}")
        elif letter not in _CLAUSES:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
        else:
            yield (_PRECISION if digits is None else int(digits)), letter
    yield text[place:]


def _wrong(letter: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {_RULES[letter][0]}, was given {type_name(value)}")


def _string(value: Any, precision: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, TypeValue):
        return value.name
    if isinstance(value, (tuple, Map)):
        return _literal(value)
    if kind_of(value) in ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration"):
        return to_string(value)
    raise _wrong("s", value)


def _literal(value: Any) -> str:
    """The value as an expression has it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, Map):
        pairs = sorted((_key(key), _literal(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
    if isinstance(value, (Moment, Duration)):
        return f"{'timestamp' if isinstance(value, Moment) else 'duration'}({quoted(str(value))})"
    if isinstance(value, float):
        is_finite = math.isfinite(value)
        return f"{value:.{_PRECISION}f}" if is_finite else quoted(to_string(value))
    if isinstance(value, (str, bytes)):
        return f"{'b' if isinstance(value, bytes) else ''}{quoted(to_string(value))}"
    if value is not None and kind_of(value) not in ("bool", "int", "uint", "type"):
        raise EvaluationError(f"error during formatting: no formatting function for {type_name(value)}")
    return _string(value, _PRECISION)


def _key(key: Any) -> str:
    if kind_of(key) not in ("string", "bool", "int", "uint"):
        text = f"no formatting function for map key of type {type_name(key)}"
        raise EvaluationError(f"error during formatting: {text}")
    return _literal(key)


def _decimal(value: Any, precision: int) -> str:
    if kind_of(value) not in ("int", "uint"):
        raise _wrong("d", value)
    return str(int(value))


def _double(letter: str, value: Any) -> float:
    if isinstance(value, float) or value in _NOT_FINITE:
        return float(value)
    raise _wrong(letter, value)


def _fixed(value: Any, precision: int) -> str:
    number = _double("f", value)
    return f"{number:,.{precision}f}" if math.isfinite(number) else _not_finite(number)


def _scientific(value: Any, precision: int) -> str:
    number = _double("e", value)
    if not math.isfinite(number):
        return _not_finite(number)
    mantissa, _, exponent = f"{number:.{precision}e}".partition("e")
    return f"{mantissa}\u202f×\u202f10{exponent.removeprefix('+').translate(_RAISED)}"


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _based(sign: str) -> Callable[[Any, int], str]:
    def write(value: Any, precision: int) -> str:
        if type(value) is bool and sign == "b":
            return str(int(value))
        if isinstance(value, (str, bytes)) and sign in "xX":
            digits = (value.encode() if isinstance(value, str) else value).hex()
            return digits.upper() if sign == "X" else digits
        if kind_of(value) not in ("int", "uint"):
            raise _wrong(sign, value)
        return f"{int(value):{sign}}"

    return write


_ANY: Final = (
    "list", "map", "int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration", "type", "null_type",
)  # fmt: skip
_ALL: Final = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
_OF_HEX: Final = (
    "only integers, byte buffers, and strings can be formatted as hex",
    ("int", "uint", "string", "bytes"),
)
# By letter: the rule in words, and the types that may stand there.
_RULES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "s": (f"string clause can only be used on {_ALL}", _ANY),
    "d": ("decimal clause can only be used on integers", ("int", "uint")),
    "f": ("fixed-point clause can only be used on doubles", ("double", "string")),
    "e": ("scientific clause can only be used on doubles", ("double", "string")),
    "b": ("only integers and bools can be formatted as binary", ("int", "uint", "bool")),
    "o": ("octal clause can only be used on integers", ("int", "uint")),
    "x": _OF_HEX,
    "X": _OF_HEX,
}
_CLAUSES: Final[dict[str, Callable[[Any, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    **{letter: _based(letter) for letter in "boxX"},
}
