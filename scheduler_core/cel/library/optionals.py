"""Functions of optional values.

Source: cel-go 0.26, cel/library.go.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.cel.functions import function, method
from scheduler_core.cel.values import NONE, EvaluationError, Map, Optional

OPTIONAL: Final = "optional_type"


@function("optional.of", "dyn")
def optional_of(value: Any) -> Optional:
    return Optional(True, value)


@function("optional.none")
def optional_none() -> Optional:
    return NONE


@function("optional.ofNonZeroValue", "dyn")
def optional_of_non_zero(value: Any) -> Optional:
    is_zero = value is None or (isinstance(value, (bool, int, float, str, bytes, tuple, Map)) and not _truth(value))
    return NONE if is_zero else Optional(True, value)


def _truth(value: Any) -> bool:
    return bool(len(value)) if isinstance(value, (str, bytes, tuple, Map)) else bool(value)


@function("optional.unwrap", "list")
@method("unwrapOpt", "list")
def unwrapped(held: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(each.value for each in held if each.has_value)


@method("hasValue", OPTIONAL)
def has_value(value: Optional) -> bool:
    return value.has_value


@method("value", OPTIONAL)
def value_of(value: Optional) -> Any:
    if not value.has_value:
        raise EvaluationError("optional.none() dereference")
    return value.value


@method("orValue", OPTIONAL, "dyn")
def or_value(value: Optional, other: Any) -> Any:
    return value.value if value.has_value else other


@method("or", OPTIONAL, OPTIONAL)
def or_optional(value: Optional, other: Optional) -> Optional:
    return value if value.has_value else other
