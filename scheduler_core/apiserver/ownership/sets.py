"""Sets of fields of an object, in the form `fieldsV1` has on the wire, and what can be done with them.

A set is a tree of maps. The keys of a map are path elements: `f:NAME` a field or the key of a map, `k:{…}` an item of a
list by the values of its keys, `v:VALUE` an item of a list of plain values. An empty map says that the field belongs to
the set; a map with the key `.` says so too, and that fields below it do; a map without it speaks of fields below only.
Sets are never changed in place. The whole object, the empty path, belongs to no set.

Source: structured-merge-diff v6.3.0, fieldpath.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

FieldSet = dict[str, Any]
Path = tuple[str, ...]
SELF: Final = "."
_LEAF: Final[FieldSet] = {}


def node(below: FieldSet, *, is_member: bool) -> FieldSet | None:
    """A field with what is below it; None where neither belongs to the set."""
    if not below:
        return _LEAF if is_member else None
    return {SELF: _LEAF, **below} if is_member else below


def is_member(found: FieldSet) -> bool:
    return not found or SELF in found


def below(found: FieldSet) -> FieldSet:
    """What belongs to the set below a field."""
    if SELF not in found:
        return found
    return {element: each for element, each in found.items() if element != SELF}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    result = dict(one)
    for element, theirs in other.items():
        ours = result.get(element)
        if ours is None or element == SELF:
            result[element] = theirs
        else:
            both = node(union(below(ours), below(theirs)), is_member=is_member(ours) or is_member(theirs))
            result[element] = both if both is not None else _LEAF
    return result


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for element, ours in one.items():
        theirs = other.get(element)
        if theirs is None:
            continue
        both = node(intersection(below(ours), below(theirs)), is_member=is_member(ours) and is_member(theirs))
        if both is not None:
            result[element] = both
    return result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in the first set only; a field in the second one takes nothing away below itself."""
    result: FieldSet = {}
    for element, ours in one.items():
        theirs = other.get(element)
        if theirs is None:
            result[element] = ours
            continue
        left = node(difference(below(ours), below(theirs)), is_member=is_member(ours) and not is_member(theirs))
        if left is not None:
            result[element] = left
    return result


def without(one: FieldSet, excluded: FieldSet) -> FieldSet:
    """The set without the excluded fields and everything below them."""
    result: FieldSet = {}
    for element, ours in one.items():
        theirs = excluded.get(element)
        if theirs is None:
            result[element] = ours
        elif not is_member(theirs):
            left = node(without(below(ours), below(theirs)), is_member=is_member(ours))
            if left is not None:
                result[element] = left
    return result


def has(one: FieldSet, path: Path) -> bool:
    found: FieldSet | None = one
    for element in path:
        if found is None:
            return False
        found = found.get(element)
    return bool(path) and found is not None and is_member(found)


def of_paths(*paths: Path) -> FieldSet:
    result: FieldSet = {}
    for path in paths:
        made: FieldSet = _LEAF
        for element in reversed(path):
            made = {element: made}
        result = union(result, made)
    return result


def paths(one: FieldSet) -> Iterator[Path]:
    """Every field of the set: at each level first those of the level, then what is below."""
    elements = [element for element in sorted(one, key=order) if element != SELF]
    yield from ((element,) for element in elements if is_member(one[element]))
    for element in elements:
        yield from ((element, *rest) for rest in paths(below(one[element])))


def in_order(one: FieldSet) -> FieldSet:
    """The set as it is written."""
    return {element: in_order(one[element]) for element in sorted(one, key=order)}


def known(one: Any) -> FieldSet:
    """A set as a client sent it, without path elements that mean nothing; ValueError when it is none."""
    if not isinstance(one, Mapping):
        raise ValueError("a set of fields is a map")
    result: FieldSet = {}
    for element, each in one.items():
        if element == SELF:
            result[element] = _LEAF
        elif len(element) < 2 or element[1] != ":":
            raise ValueError(f"missing colon: {element}")
        elif element[0] in "fkvi":
            result[key_element(json.loads(element[2:])) if element[0] == "k" else element] = known(each)
    return result


def field_element(name: str) -> str:
    return f"f:{name}"


def key_element(values: Mapping[str, Any]) -> str:
    return "k:" + _json({name: values[name] for name in sorted(values)})


def value_element(value: Any) -> str:
    return "v:" + _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=4096)
def order(element: str) -> tuple[Any, ...]:
    """What path elements are sorted by."""
    if element == SELF:
        return (-1,)
    kind, text = element[0], element[2:]
    if kind == "f":
        return (0, text)
    if kind == "k":
        return (1, tuple((name, _value_order(value)) for name, value in sorted(json.loads(text).items())))
    return (2, _value_order(json.loads(text))) if kind == "v" else (3, int(text))


def _value_order(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, _json(value))


def path_text(path: Path) -> str:
    """A path as messages have it: `.spec.containers[name="c"].image`."""
    return "".join(element_text(element) for element in path)


def element_text(element: str) -> str:
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "k":
        values = json.loads(text)
        return f"[{','.join(f'{name}={_json(values[name])}' for name in sorted(values))}]"
    return f"[={text}]" if kind == "v" else f"[{text}]"
