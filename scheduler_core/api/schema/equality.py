"""Whether two parts of a manifest mean the same: quantities are compared as numbers, so `1k` equals `1e3`.

Source: kubernetes v1.34.1, apimachinery/pkg/api/equality.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.api.quantity import parse
from scheduler_core.api.schema.go_types import fields_of, underlying


def mean_the_same(one: Any, other: Any, type_name: str) -> bool:
    """Return whether two values of a Go type are equal, up to how quantities are written."""
    if one == other:
        return True
    if one is None or other is None:
        return False
    type_name = type_name.removeprefix("*")
    if type_name == "resource.Quantity":
        return parse(one) == parse(other)
    fields = fields_of(type_name)
    if fields is not None:
        return all(
            mean_the_same(one.get(field.manifest_name), other.get(field.manifest_name), field.type)
            if field.manifest_name
            else mean_the_same(one, other, field.type)
            for field in fields
        )
    shape = underlying(type_name)
    if shape.startswith("[]"):
        return len(one) == len(other) and all(
            mean_the_same(mine, yours, shape[2:]) for mine, yours in zip(one, other, strict=True)
        )
    if shape.startswith("map["):
        item = shape.partition("]")[2]
        return one.keys() == other.keys() and all(mean_the_same(one[key], other[key], item) for key in one)
    return False
