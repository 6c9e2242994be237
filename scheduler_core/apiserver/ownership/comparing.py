"""Which fields an object has, and which of them differ between two objects of a kind.

Source: structured-merge-diff v6.3.0, typed/{compare,tofieldset}.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.apiserver.ownership import sets
from scheduler_core.apiserver.ownership.sets import FieldSet
from scheduler_core.apiserver.ownership.shapes import Form, Shape


class _Absent:
    """No value at all, which is not null."""


ABSENT: Final = _Absent()
_MEMBER: Final[FieldSet] = {}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Fields of the old object only, of both with different values, of the new object only."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet


def compare(old: Any, new: Any, shape: Shape) -> Comparison:
    """How two objects of a kind differ; OwnershipError when one has items without keys."""
    removed, modified, added = _compared(old, new, shape)
    return Comparison(*(sets.below(found or {}) for found in (removed, modified, added)))


_Three = tuple[FieldSet | None, FieldSet | None, FieldSet | None]
_SAME: Final[_Three] = (None, None, None)


def _compared(old: Any, new: Any, shape: Shape) -> _Three:
    shape = shape.of_values(old, new)
    if shape.form == Form.SCALAR or shape.is_atomic or not (_has_parts(old) or _has_parts(new)):
        if old is ABSENT:
            return None, None, _MEMBER
        if new is ABSENT:
            return _MEMBER, None, None
        return _SAME if old == new else (None, _MEMBER, None)
    if old == new:
        return _SAME
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    pairs = _items(old, new, shape) if shape.form == Form.LIST else _fields(old, new, shape)
    for element, (one, other, below) in pairs.items():
        three = _repeated(one, other, below) if shape.form == Form.LIST else _compared(one, other, below)
        if three is not _SAME:
            for found, total in zip(three, (removed, modified, added), strict=True):
                if found is not None:
                    total[element] = found
    return (
        sets.node(removed, is_member=new is ABSENT),
        sets.node(modified, is_member=False),
        sets.node(added, is_member=old is ABSENT),
    )


def _has_parts(value: Any) -> bool:
    return isinstance(value, (Mapping, list)) and bool(value)


_Pairs = dict[str, tuple[Any, Any, Shape]]


def _fields(old: Any, new: Any, shape: Shape) -> _Pairs:
    before: Mapping[str, Any] = old if isinstance(old, Mapping) else {}
    after: Mapping[str, Any] = new if isinstance(new, Mapping) else {}
    pairs: _Pairs = {}
    for name in (*before, *(name for name in after if name not in before)):
        below = shape.below(name)
        if below is not None:
            pairs[sets.field_element(name)] = (before.get(name, ABSENT), after.get(name, ABSENT), below)
    return pairs


def _items(old: Any, new: Any, shape: Shape) -> _Pairs:
    """The items of two lists by path element; each a list, since an element may stand there more than once."""
    before, after = _by_element(old, shape), _by_element(new, shape)
    elements = (*before, *(element for element in after if element not in before))
    return {element: (before.get(element, []), after.get(element, []), shape.item) for element in elements}


def _by_element(value: Any, shape: Shape) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in value if isinstance(value, list) else ():
        found.setdefault(shape.element(item), []).append(item)
    return found


def _repeated(old: list[Any], new: list[Any], shape: Shape) -> _Three:
    """Items of one path element; where it stands more than once, they are one value."""
    if len(old) <= 1 and len(new) <= 1:
        return _compared(old[0] if old else ABSENT, new[0] if new else ABSENT, shape)
    if len(old) > 1 and len(new) > 1:
        return _SAME if old == new else (None, _MEMBER, None)
    if len(old) > 1:
        _, modified, added = _compared(ABSENT, new[0], shape) if new else _SAME
        return _MEMBER, modified, added
    removed, modified, _ = _compared(old[0], ABSENT, shape) if old else _SAME
    return removed, modified, _MEMBER


def fields_of(value: Any, shape: Shape) -> FieldSet:
    """Every field an object mentions: values, and items of lists and maps; not the structs around them."""
    found, _ = _mentioned(value, shape)
    return found


def _mentioned(value: Any, shape: Shape) -> tuple[FieldSet, bool]:
    """(what is mentioned below a value, whether the value itself is)."""
    shape = shape.of_values(value)
    if shape.form in (Form.SCALAR, Form.ANY) or shape.is_atomic:
        return {}, True
    found: FieldSet = {}
    if isinstance(value, list):
        items = _by_element(value, shape)
        for element, each in items.items():
            below = _mentioned(each[0], shape.item)[0] if len(each) == 1 else {}
            found[element] = sets.node(below, is_member=True)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            below_shape = shape.below(name)
            if below_shape is None:
                continue
            below, is_mentioned = _mentioned(each, below_shape)
            is_bare = each is None or (isinstance(each, Mapping) and not each)
            made = sets.node(below, is_member=is_mentioned or is_bare or shape.form == Form.MAP)
            if made is not None:
                found[sets.field_element(name)] = made
    return found, False


def named_fields(found: FieldSet, shape: Shape | None) -> FieldSet:
    """The set with the fields of structs that have something below them."""
    result: FieldSet = {}
    for element, each in found.items():
        if element == sets.SELF:
            result[element] = each
            continue
        below_shape: Shape | None = None
        is_named = False
        if shape is not None and element[0] == "f" and shape.form in (Form.STRUCT, Form.MAP):
            below_shape = shape.below(element[2:])
            is_named = shape.form == Form.STRUCT and below_shape is not None
        elif shape is not None and element[0] == "k" and shape.form == Form.LIST:
            below_shape = shape.item
        below = named_fields(sets.below(each), below_shape)
        made = sets.node(below, is_member=is_named or sets.is_member(each))
        if made is not None:
            result[element] = made
    return result
