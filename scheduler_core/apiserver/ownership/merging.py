"""An applied object laid over the stored one, and fields taken out of an object. Nothing given is changed.

Source: structured-merge-diff v6.3.0, typed/{merge,remove}.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.apiserver.ownership import sets
from scheduler_core.apiserver.ownership.comparing import ABSENT
from scheduler_core.apiserver.ownership.sets import FieldSet
from scheduler_core.apiserver.ownership.shapes import Form, Shape


def merged(live: Any, applied: Any, shape: Shape) -> Any:
    """The applied value over the live one; ABSENT when nothing is left of them."""
    shape = shape.of_values(live, applied)
    if shape.form in (Form.SCALAR, Form.ANY) or shape.is_atomic or not (_has_parts(live) or _has_parts(applied)):
        return applied if applied is not ABSENT else live
    if shape.form == Form.LIST:
        items = _merged_items(_items(live), _items(applied), shape)
        return items or ABSENT
    before: Mapping[str, Any] = live if isinstance(live, Mapping) else {}
    after: Mapping[str, Any] = applied if isinstance(applied, Mapping) else {}
    result: dict[str, Any] = {}
    for name in (*before, *(name for name in after if name not in before)):
        below = shape.below(name)
        if below is not None:
            made = merged(before.get(name, ABSENT), after.get(name, ABSENT), below)
            if made is not ABSENT:
                result[name] = made
    return result or ABSENT


def _has_parts(value: Any) -> bool:
    return isinstance(value, (Mapping, list)) and bool(value)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _merged_items(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    """Items of both lists: those of the applied one in its order, the others where they stood among them."""
    left = [(shape.element(item), item) for item in live]
    right = [(shape.element(item), item) for item in applied]
    theirs, ours = dict(right), dict(left)
    if len(ours) < len(left):  # an item that stands there twice is not merged with
        elements = [element for element, _ in left]
        ours = {element: ABSENT if elements.count(element) > 1 else item for element, item in left}
    shared = [element for element, _ in right if element in ours]
    done: set[str] = set()
    result: list[Any] = []

    def take(element: str) -> None:
        done.add(element)
        made = merged(ours.get(element, ABSENT), theirs[element], shape.item)
        if made is not ABSENT:
            result.append(made)
        if shared and shared[0] == element:
            shared.pop(0)

    at, there = 0, 0
    while at < len(left) or there < len(right):
        if at < len(left) and there < len(right):
            element = left[at][0]
            if element == right[there][0]:
                take(element)
                at, there = at + 1, there + 1
                continue
            if element in theirs and shared and shared[0] != element:
                at += 1  # its turn comes later
                continue
        if at < len(left):
            element, item = left[at]
            if element not in theirs:
                result.append(item)
                at += 1
                continue
            if element in done:
                at += 1
        if there < len(right):
            take(right[there][0])
            there += 1
    return result


def removed(value: Any, gone: FieldSet, shape: Shape) -> Any:
    """The value without these fields; None where nothing is left."""
    shape = shape.of_values(value)
    if shape.form == Form.SCALAR:
        return value
    if not _has_parts(value) or shape.is_atomic:
        return None
    if isinstance(value, list):
        items = []
        for item in value:
            found = gone.get(shape.element(item))
            if found is None:
                items.append(item)
            elif not sets.is_member(found):
                items.append(removed(item, sets.below(found), shape.item))
        return items or None
    result: dict[str, Any] = {}
    for name, each in value.items():
        found, below = gone.get(sets.field_element(name)), shape.below(name)
        if found is None or below is None:
            result[name] = each
        elif not sets.is_member(found):
            result[name] = removed(each, sets.below(found), below)
    return result or None
