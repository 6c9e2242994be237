"""Types of expressions: names, and tuples of a container with what it holds."""

from __future__ import annotations

from typing import Final

Type = str | tuple["Type", ...]

BOOL: Final = "bool"
DYN: Final = "dyn"
INT: Final = "int"
STRING: Final = "string"
DEVICE: Final = "kubernetes.DRADevice"
QUANTITY: Final = "kubernetes.Quantity"
NUMBERS: Final = frozenset({"int", "uint", "double"})
DEVICE_FIELDS: Final[dict[str, Type]] = {
    "driver": STRING,
    "attributes": ("map", STRING, ("map", STRING, "any")),
    "capacity": ("map", STRING, ("map", STRING, QUANTITY)),
}


def shown(kind: Type, is_result: bool = False) -> str:
    """The type as messages have it; a result of any type is called by its full name."""
    if isinstance(kind, tuple):
        return f"{kind[0]}({', '.join(shown(part, is_result) for part in kind[1:])})"
    names = {"any": "google.protobuf.Any"} if is_result else {"null_type": "null"}
    return names.get(kind, kind)


def is_open(kind: Type) -> bool:
    """Whether values of the type are known only when the expression is evaluated."""
    return kind in (DYN, "any")


def fits(one: Type, other: Type) -> bool:
    """Whether values of the two can be of one type."""
    if is_open(one) or is_open(other) or one == other:
        return True
    if isinstance(one, tuple) and isinstance(other, tuple) and (one[0], len(one)) == (other[0], len(other)):
        return all(fits(a, b) for a, b in zip(one[1:], other[1:], strict=True))
    return "null_type" in (one, other) and not {one, other} & {BOOL, STRING, "bytes", *NUMBERS}
