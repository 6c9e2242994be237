"""Functions of lists and sets.

Source: cel-go 0.26, ext/lists.go and ext/sets.go; kubernetes v1.34.1, apiserver/pkg/cel/library/lists.go.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from scheduler_core.cel.functions import crossed, function, items, method
from scheduler_core.cel.library.moments import added
from scheduler_core.cel.times import Duration
from scheduler_core.cel.values import NONE, EvaluationError, Optional, compare, equal


@method("indexOf", "list", "dyn", cost=items)
def list_index_of(held: tuple[Any, ...], value: Any) -> int:
    return next((index for index, each in enumerate(held) if equal(each, value)), -1)


@method("lastIndexOf", "list", "dyn", cost=items)
def list_last_index_of(held: tuple[Any, ...], value: Any) -> int:
    return next((index for index in reversed(range(len(held))) if equal(held[index], value)), -1)


@method("isSorted", "list", cost=items)
def is_sorted(held: tuple[Any, ...]) -> bool:
    return all(compare(one, other, "_<_") <= 0 for one, other in zip(held, held[1:], strict=False))


@method("sum", "list", cost=items)
def list_sum(held: tuple[Any, ...]) -> Any:
    if held and all(isinstance(each, Duration) for each in held):
        return reduce(added, held)
    if not all(isinstance(each, (int, float)) and type(each) is not bool for each in held):
        raise EvaluationError("no such overload")
    total = sum(held)
    if not held:
        return 0
    return type(held[0])(total)


@method("min", "list", cost=items)
def list_min(held: tuple[Any, ...]) -> Any:
    return _extreme(held, "min", -1)


@method("max", "list", cost=items)
def list_max(held: tuple[Any, ...]) -> Any:
    return _extreme(held, "max", 1)


def _extreme(held: tuple[Any, ...], name: str, wanted: int) -> Any:
    if not held:
        raise EvaluationError(f"{name} called on empty list")
    best = held[0]
    for each in held[1:]:
        if compare(each, best, "_<_") == wanted:
            best = each
    return best


@method("distinct", "list", cost=items)
def distinct(held: tuple[Any, ...]) -> tuple[Any, ...]:
    made: list[Any] = []
    for each in held:
        if not any(equal(each, other) for other in made):
            made.append(each)
    return tuple(made)


@method("flatten", "list", cost=items)
def flatten(held: tuple[Any, ...]) -> tuple[Any, ...]:
    return flatten_deep(held, 1)


@method("flatten", "list", "int", cost=items)
def flatten_deep(held: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    made: list[Any] = []
    for each in held:
        made += flatten_deep(each, depth - 1) if isinstance(each, tuple) and depth else (each,)
    return tuple(made)


@method("reverse", "list", cost=items)
def reverse(held: tuple[Any, ...]) -> tuple[Any, ...]:
    return held[::-1]


@method("slice", "list", "int", "int", cost=items)
def list_slice(held: tuple[Any, ...], start: int, end: int) -> tuple[Any, ...]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(held):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(held)}")
    return held[start:end]


@method("sort", "list", cost=items)
def sort(held: tuple[Any, ...]) -> tuple[Any, ...]:
    return sorted_by(held, held)


def sorted_by(held: tuple[Any, ...], keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items in the order of their keys, one for each."""
    if any(type(each) is not type(keys[0]) for each in keys):
        raise EvaluationError("list elements must have the same type")
    for each in keys[1:]:
        compare(each, keys[0], "_<_")
    order = sorted(range(len(held)), key=lambda place: _comparable(keys[place]))
    return tuple(held[place] for place in order)


def _comparable(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value  # as Go orders them


@function("lists.range", "int")
def list_range(count: int) -> tuple[int, ...]:
    if count > 1_000_000:
        raise EvaluationError("list is too long")
    return tuple(range(count))


@method("first", "list")
def first(held: tuple[Any, ...]) -> Optional:
    return Optional(True, held[0]) if held else NONE


@method("last", "list")
def last(held: tuple[Any, ...]) -> Optional:
    return Optional(True, held[-1]) if held else NONE


@function("sets.contains", "list", "list", cost=crossed(1))
def set_contains(held: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return all(any(equal(each, other) for each in held) for other in others)


@function("sets.equivalent", "list", "list", cost=crossed(2))
def set_equivalent(held: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return set_contains(held, others) and set_contains(others, held)


@function("sets.intersects", "list", "list", cost=crossed(1))
def set_intersects(held: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return any(equal(each, other) for each in held for other in others)
