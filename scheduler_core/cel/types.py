"""Types of expressions: names, and tuples of a container with what it holds; and which fit into which.

Type parameters are names that begin with `_var`; a `Bindings` says what they stand for so far.
Source: cel-go 0.26, checker/types.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

Type = str | tuple["Type", ...]
Bindings = dict[str, Type]

BOOL: Final = "bool"
BYTES: Final = "bytes"
DYN: Final = "dyn"
ANY: Final = "any"
ERROR: Final = "!error!"
INT: Final = "int"
STRING: Final = "string"
NULL: Final = "null_type"
TIMESTAMP: Final = "timestamp"
DURATION: Final = "duration"
DEVICE: Final = "kubernetes.DRADevice"
QUANTITY: Final = "kubernetes.Quantity"
SEMVER: Final = "kubernetes.Semver"
URL: Final = "kubernetes.URL"
FORMAT: Final = "kubernetes.NamedFormat"
IP: Final = "net.IP"
CIDR: Final = "net.CIDR"
OPTIONAL: Final = "optional_type"
DEVICE_FIELDS: Final[dict[str, Type]] = {
    "driver": STRING,
    "attributes": ("map", STRING, ("map", STRING, ANY)),
    "capacity": ("map", STRING, ("map", STRING, QUANTITY)),
}
_SCALARS: Final = frozenset({BOOL, "double", DURATION, INT, TIMESTAMP, "uint"})
_FULL_NAMES: Final = {
    ANY: "google.protobuf.Any", TIMESTAMP: "google.protobuf.Timestamp", DURATION: "google.protobuf.Duration",
}  # fmt: skip


def shown(kind: Type, is_result: bool = False) -> str:
    """The type as messages have it; a result is called by its full name."""
    if isinstance(kind, tuple):
        return f"{kind[0]}({', '.join(shown(part, is_result) for part in kind[1:])})"
    names = _FULL_NAMES if is_result else {NULL: "null"}
    return names.get(kind, kind)


def is_open(kind: Type) -> bool:
    """Whether values of the type are known only when the expression is evaluated."""
    return kind in (DYN, ANY)


def is_parameter(kind: Type) -> bool:
    return isinstance(kind, str) and kind.startswith("_var")


def is_struct(kind: Type) -> bool:
    """Whether values have fields, or might: they are declared as objects."""
    return isinstance(kind, str) and kind.startswith("kubernetes.")


def is_scalar(kind: Type) -> bool:
    """Whether all values of the type have one size."""
    if isinstance(kind, tuple) and kind[0] == OPTIONAL:
        return is_scalar(kind[1])
    return kind in _SCALARS


def head(kind: Type) -> Type:
    return kind[0] if isinstance(kind, tuple) else kind


def of_optional(kind: Type) -> Type | None:
    """What an optional holds; None for what is none."""
    return kind[1] if isinstance(kind, tuple) and kind[0] == OPTIONAL else None


def assigned(bindings: Bindings, ones: Sequence[Type], others: Sequence[Type]) -> Bindings | None:
    """The bindings with which the first types can stand for the others, one by one; None when they cannot."""
    copy = dict(bindings)
    return copy if _all_assignable(copy, ones, others) else None


def substituted(bindings: Bindings, kind: Type, *, open_left: bool = False) -> Type:
    """The type with its parameters replaced by what they stand for; `open_left`: the unbound ones by `dyn`."""
    if isinstance(kind, tuple):
        return (kind[0], *(substituted(bindings, part, open_left=open_left) for part in kind[1:]))
    if is_parameter(kind):
        if kind in bindings:
            return substituted(bindings, bindings[kind], open_left=open_left)
        return DYN if open_left else kind
    return kind


def most_general(one: Type, other: Type) -> Type:
    """The more general of two types that fit."""
    return one if _is_equal_or_less_specific(one, other) else other


def _all_assignable(bindings: Bindings, ones: Sequence[Type], others: Sequence[Type]) -> bool:
    return len(ones) == len(others) and all(
        _is_assignable(bindings, one, other) for one, other in zip(ones, others, strict=True)
    )


def _is_assignable(bindings: Bindings, one: Type, other: Type) -> bool:
    if is_parameter(other):
        fits, is_bound = _binds(bindings, one, other)
        if fits or is_bound:
            return fits
    if is_parameter(one):
        return _binds(bindings, other, one)[0]
    if is_open(one) or is_open(other) or ERROR in (one, other):
        return True
    if NULL in (one, other):
        return _may_be_null(other if one == NULL else one)
    if head(one) == "type" or head(other) == "type":
        return head(one) == head(other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one[0] == other[0] and _all_assignable(bindings, one[1:], other[1:])
    return one == other


def _may_be_null(kind: Type) -> bool:
    return kind in (NULL, DURATION, TIMESTAMP, IP, CIDR) or is_struct(kind) or head(kind) == OPTIONAL


def _binds(bindings: Bindings, kind: Type, parameter: Type) -> tuple[bool, bool]:
    """(whether the parameter can stand for the type, whether it stood for something before)."""
    if kind == parameter:
        return True, True
    assert isinstance(parameter, str)
    bound = bindings.get(parameter)
    if bound is not None:
        if kind == bound:
            return True, True
        if not _is_assignable(bindings, kind, bound):
            return False, True
        wider = most_general(kind, bound)
        if _is_not_in(bindings, parameter, wider):
            bindings[parameter] = wider
        return True, True
    if _is_not_in(bindings, parameter, kind):
        bindings[parameter] = kind
        return True, False
    return False, False


def _is_not_in(bindings: Bindings, parameter: str, kind: Type) -> bool:
    if kind == parameter:
        return False
    if isinstance(kind, tuple):
        return all(_is_not_in(bindings, parameter, part) for part in kind[1:])
    if is_parameter(kind) and kind in bindings:
        return _is_not_in(bindings, parameter, bindings[kind])
    return True


def _is_equal_or_less_specific(one: Type, other: Type) -> bool:
    if is_open(one) or is_parameter(one):
        return True
    if is_open(other) or is_parameter(other):
        return False
    if head(one) == "type":
        return head(other) == "type"
    if isinstance(one, tuple) and isinstance(other, tuple):
        return (one[0], len(one)) == (other[0], len(other)) and all(
            _is_equal_or_less_specific(a, b) for a, b in zip(one[1:], other[1:], strict=True)
        )
    return one == other
