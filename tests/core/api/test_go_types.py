"""The table of Go types has the fields of the schema, in its order and with its types."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scheduler_core.api.schema import type_named
from scheduler_core.api.schema.go_types import GoField, fields_of, underlying

SHAPES = {
    "resource.Quantity": "quantity", "intstr.IntOrString": "intorstring", "v1.Time": "time",
}  # fmt: skip
UNKNOWN_TO_THE_SCHEMA = {"managedFields", "v1.ManagedFieldsEntry"}  # of templates: nothing reads them


def structs(name: str, seen: dict[str, None]) -> dict[str, None]:
    """The structs that fields lead to from here."""
    fields = fields_of(name)
    if fields is not None and name not in seen and name not in UNKNOWN_TO_THE_SCHEMA:
        seen[name] = None
        for field in fields:
            structs(item(underlying(field.type.lstrip("*"))), seen)
    return seen


def item(name: str) -> str:
    return name.removeprefix("[]").rpartition("]")[2]


def in_manifests(name: str) -> Iterator[GoField]:
    """The fields as manifests have them."""
    for field in fields_of(name) or ():
        if not field.manifest_name:
            yield from in_manifests(field.type)
        elif field.manifest_name not in UNKNOWN_TO_THE_SCHEMA:
            yield field


def shape(name: str) -> str:
    """What the schema calls a Go type."""
    name = underlying(SHAPES.get(name, name))
    if name.startswith("*"):
        return shape(name[1:])
    if name.startswith("[]"):
        return "[]" + shape(name[2:])
    if name.startswith("map["):
        return "{}" + shape(item(name))
    return schema_name(name) if fields_of(name) is not None else name


def schema_name(name: str) -> str:
    for package in ("core", "meta"):
        try:
            return type_named(f"{package}.{name.removeprefix('v1.')}").name
        except KeyError:
            continue
    raise AssertionError(f"the schema has no {name}")


STRUCTS = list(structs("v1.PodTemplateSpec", {}))


def test_all_structs_below_a_template_are_there() -> None:
    assert len(STRUCTS) == 111
    assert {"v1.PersistentVolumeClaimSpec", "v1.NodeSelectorTerm", "v1.SleepAction"} <= set(STRUCTS)


@pytest.mark.parametrize("name", STRUCTS)
def test_fields_are_those_of_the_schema(name: str) -> None:
    found = [(each.manifest_name, shape(each.type), each.type.startswith("*")) for each in in_manifests(name)]
    fields = type_named(schema_name(name)).fields.values()
    assert found == [(each.name, each.shape, each.is_pointer) for each in fields]
