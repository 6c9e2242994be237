"""Functions of quantities and versions.

Source: kubernetes v1.34.1, apiserver/pkg/cel/library (quantity.go, semverlib.go).
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.api import quantity as quantities
from scheduler_core.api.quantity import DECIMAL_EXPONENT, Quantity
from scheduler_core.cel import semver
from scheduler_core.cel.functions import function, method, traversal
from scheduler_core.cel.semver import Semver, SemverError
from scheduler_core.cel.values import MAX_INT, MIN_INT, EvaluationError

QUANTITY: Final = "kubernetes.Quantity"
SEMVER: Final = "kubernetes.Semver"


@function("quantity", "string", cost=traversal())
def quantity(text: str) -> Quantity:
    try:
        return quantities.parse(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from error


@function("isQuantity", "string", cost=traversal())
def is_quantity(text: str) -> bool:
    try:
        quantities.parse(text)
    except ValueError:
        return False
    return True


@function("sign", QUANTITY)
def sign(value: Quantity) -> int:
    return (value.nano > 0) - (value.nano < 0)


@method("isInteger", QUANTITY)
def is_integer(value: Quantity) -> bool:
    return value.nano % 10**9 == 0 and MIN_INT <= value.nano // 10**9 <= MAX_INT


@method("asInteger", QUANTITY)
def as_integer(value: Quantity) -> int:
    if not is_integer(value):
        raise EvaluationError("cannot convert value to integer")
    return value.nano // 10**9


@method("asApproximateFloat", QUANTITY)
def as_float(value: Quantity) -> float:
    return value.nano / 10**9


@method("add", QUANTITY, QUANTITY)
def add(value: Quantity, other: Quantity) -> Quantity:
    return value + other


@method("add", QUANTITY, "int")
def add_int(value: Quantity, other: int) -> Quantity:
    return value + Quantity.of(other, DECIMAL_EXPONENT)


@method("sub", QUANTITY, QUANTITY)
def sub(value: Quantity, other: Quantity) -> Quantity:
    return value - other


@method("sub", QUANTITY, "int")
def sub_int(value: Quantity, other: int) -> Quantity:
    return value - Quantity.of(other, DECIMAL_EXPONENT)


@method("isGreaterThan", QUANTITY, QUANTITY)
@method("isGreaterThan", SEMVER, SEMVER)
def is_greater(value: Any, other: Any) -> bool:
    return bool(value > other)


@method("isLessThan", QUANTITY, QUANTITY)
@method("isLessThan", SEMVER, SEMVER)
def is_less(value: Any, other: Any) -> bool:
    return bool(value < other)


@method("compareTo", QUANTITY, QUANTITY)
@method("compareTo", SEMVER, SEMVER)
def compare_to(value: Any, other: Any) -> int:
    return int(value > other) - int(value < other)


@function("semver", "string", cost=traversal())
def to_semver(text: str) -> Semver:
    return to_semver_tolerantly(text, False)


@function("semver", "string", "bool", cost=traversal())
def to_semver_tolerantly(text: str, is_tolerant: bool) -> Semver:
    try:
        return semver.parse_tolerant(text) if is_tolerant else semver.parse(text)
    except SemverError as error:
        raise EvaluationError(str(error)) from error


@function("isSemver", "string", cost=traversal())
def is_semver(text: str) -> bool:
    return is_semver_tolerantly(text, False)


@function("isSemver", "string", "bool", cost=traversal())
def is_semver_tolerantly(text: str, is_tolerant: bool) -> bool:
    try:
        to_semver_tolerantly(text, is_tolerant)
    except EvaluationError:
        return False
    return True


@method("major", SEMVER)
def major(value: Semver) -> int:
    return value.major


@method("minor", SEMVER)
def minor(value: Semver) -> int:
    return value.minor


@method("patch", SEMVER)
def patch(value: Semver) -> int:
    return value.patch
