"""Paths of columns: what they lead to, and that none leads by too much."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.apiserver.custom.json_path import PathError, found
from tests.cases import cases

OBJECT: dict[str, Any] = {
    "metadata": {"name": "deep", "labels": {"a.b/c": "x", "it's": "y"}},
    "spec": {"depth": 2, "open": True, "rooms": [{"name": "a", "size": 1}, {"name": "b", "size": 3, "door": {}}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Wet", "status": "False"}]},
}


@cases(
    "path, values",
    ("a field", ".spec.depth", [2]),
    ("the whole", ".", [OBJECT]),
    ("none", ".spec.none.at.all", []),
    ("of a number", ".spec.depth.more", []),
    ("a field by name", ".metadata['name']", ["deep"]),
    ("by name in other quotes", '.metadata["name"]', ["deep"]),
    ("points in a name", r".metadata.labels.a\.b/c", ["x"]),
    ("the same in brackets", r".metadata.labels['a\.b/c']", ["x"]),
    ("all fields", ".metadata.labels.*", ["x", "y"]),
    ("all items", ".spec.rooms[*].name", ["a", "b"]),
    ("an item", ".spec.rooms[1].name", ["b"]),
    ("from the end", ".spec.rooms[-1].name", ["b"]),
    ("one too far", ".spec.rooms[2].name", []),
    ("one too far from the end", ".spec.rooms[-3].name", []),
    ("a part", ".spec.rooms[0:1].name", ["a"]),
    ("a part without ends", ".spec.rooms[:].size", [1, 3]),
    ("every second", ".spec.rooms[::2].size", [1]),
    ("backwards is nothing", ".spec.rooms[::-1].size", []),
    ("a filter by text", '.status.conditions[?(@.type=="Ready")].status', ["True"]),
    ("a filter with spaces", ".status.conditions[?( @.type == 'Wet' )].status", ["False"]),
    ("what it is not", '.status.conditions[?(@.type!="Ready")].type', ["Wet"]),
    ("a filter by number", ".spec.rooms[?(@.size>1)].name", ["b"]),
    ("and the other way", ".spec.rooms[?(@.size<=1)].name", ["a"]),
    ("what is there", ".spec.rooms[?(@.door)].name", ["b"]),
    ("by another field", ".spec.rooms[?(@.size==@.size)].name", ["a", "b"]),
    ("text is no number", '.spec.rooms[?(@.size>"1")].name', []),
    ("true is not one", ".spec[?(@.open==1)]", []),
    ("anywhere below", "..name", ["deep", "a", "b"]),
)
def test_a_path_leads_to(path: str, values: list[Any]) -> None:
    assert found(OBJECT, path) == values


@cases(
    "path",
    ("brackets that stay open", ".spec[0"),
    ("no index", ".spec.rooms[]"),
    ("a long index", f".spec.rooms[{'9' * 5000}]"),
    ("a filter in a filter", ".spec.rooms[?(@.a[?(@.b)])]"),
)
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(PathError):
        found(OBJECT, path)


@cases("path", ("all of all", "..*" * 20), ("in a filter", f".all[?(@{'..*' * 20})]"))
def test_a_path_comes_by_so_many_values(path: str) -> None:
    value: Any = 1
    for _ in range(150):
        value = {"a": value}
    with pytest.raises(PathError, match="too many values"):
        found({"all": [value] * 9}, path)
