"""Schemas of definitions: structural, with defaults that fit, and nothing that the API server does not keep.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{validation,complete}.go,
pkg/apiserver/schema/defaulting/validation.go and pkg/apis/apiextensions/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, forbidden, invalid, required, unsupported
from scheduler_core.admission.custom import structural
from scheduler_core.admission.custom.rules import rule_problems
from scheduler_core.admission.custom.structural import EMBEDDED, IDENTITY, INT_OR_STRING, PRESERVES, Schema
from scheduler_core.admission.custom.values import Validator, pattern_problem

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_NESTED: Final = ("allOf", "anyOf", "oneOf")
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_DEPTH: Final = 100
# Of the root of a schema whose status is a part of its own: these alone may stand there, in Go's words.
_AT_ROOT: Final = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum",
    "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items",
    "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
_NOT_AT_ROOT: Final = (
    "id", "$schema", "$ref", "default", "enum", "maxProperties", "minProperties", "allOf", "oneOf", "anyOf", "not",
    "additionalProperties", "patternProperties", "dependencies", "additionalItems", "definitions", "nullable", EMBEDDED,
    INT_OR_STRING, "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
)  # fmt: skip
# What the API server does not know in a schema: that it is there at all, and what it is called in messages.
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


def schema_problems(validation: Manifest | None, path: str, *, has_status: bool) -> Iterator[Problem]:
    """Of the schema of a version, or of all. `has_status`: status is a part of its own."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return
    place = f"{path}.openAPIV3Schema"
    if _depth(schema) > _DEPTH:
        yield forbidden(place, f"schemas of more than {_DEPTH} levels are not read by this service")
        return
    if has_status:
        if schema.get("type") != "object":
            detail = (
                'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            )
            yield invalid(f"{place}.type", schema.get("type", ""), detail)
        elif any(name in schema for name in _NOT_AT_ROOT):
            detail = (
                f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema if the status subresource is"
                " enabled"
            )
            yield invalid(place, dict(schema), detail)
    if schema.get("nullable"):
        yield forbidden(f"{place}.nullable", "nullable cannot be true at the root")
    unread = list(_unread(schema, place))
    found: list[Problem] = []
    if not unread:
        found = sorted(
            [*_invariants(schema, "root", place), *_completeness(schema, schema, place, place)],
            key=lambda each: f"{each.path}: {each.detail}",
        ) or list(_defaults(schema, place, is_root=True))
    yield from found
    others = list(_openapi(schema, place, is_root=True, inside_meta=False))
    yield from others
    if not unread and not found and not others:
        yield from rule_problems(schema, place)


def _depth(schema: Any) -> int:
    below = list(_below(schema))
    return 1 + (max(map(_depth, below)) if below else 0) if isinstance(schema, Mapping) else 0


def _below(schema: Schema) -> Iterator[Schema]:
    """All schemas inside of a schema."""
    for name in ("items", "additionalProperties", "not", "additionalItems"):
        found = schema.get(name)
        if isinstance(found, Mapping):
            yield found
        elif isinstance(found, list):
            yield from found
    for name in ("properties", "patternProperties", "definitions", "dependencies"):
        yield from (each for each in (schema.get(name) or {}).values() if isinstance(each, Mapping))
    for name in _NESTED:
        yield from schema.get(name) or ()


def _unread(schema: Schema, path: str) -> Iterator[str]:
    """What makes a schema one that has no structure at all; it is told by `_openapi`."""
    for name in (*_UNSUPPORTED, "$schema"):
        if schema.get(name):
            yield f"{path}.{name}"
    if isinstance(schema.get("items"), list) or schema.get(PRESERVES) is False:
        yield path
    for each in _below(schema):
        yield from _unread(each, path)


def _invariants(schema: Schema, level: str, path: str) -> Iterator[Problem]:
    """Of a schema outside of combinations."""
    kind, properties, more = schema.get("type"), schema.get("properties") or {}, schema.get("additionalProperties")
    if kind == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    items = structural.of_item(schema)
    if items is not None:
        yield from _invariants(items, "item", f"{path}.items")
    for name, each in properties.items():
        yield from _invariants(each, "field", f"{path}.properties[{name}]")
    if more is not None:
        if level == "root":
            yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(more, Mapping):
            yield from _invariants(more, "field", f"{path}.additionalProperties")
    if schema.get(INT_OR_STRING):
        for name in (PRESERVES, EMBEDDED):
            if schema.get(name):
                yield invalid(f"{path}.{name}", True, f"must be false if {INT_OR_STRING} is true")
    yield from _combinations(schema, path, level, skips=_is_int_or_string(schema))
    yield from _type(schema, level, path)
    if EMBEDDED in schema and more is not None:
        yield forbidden(f"{path}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    if level == "root" and kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    yield from _identity(schema, level, path)
    if schema.get(EMBEDDED) and not schema.get(PRESERVES) and not properties:
        detail = f"must not be empty if {EMBEDDED} is true without {PRESERVES}"
        yield required(f"{path}.properties", detail)


def _type(schema: Schema, level: str, path: str) -> Iterator[Problem]:
    kind = schema.get("type")
    if schema.get(EMBEDDED) and kind != "object":
        detail = f"must be object if {EMBEDDED} is true"
        yield invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVES):
        where = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
        yield required(f"{path}.type", f"must not be empty {where[level]}")


def _identity(schema: Schema, level: str, path: str) -> Iterator[Problem]:
    """What says which object it is may be restricted in few ways."""
    properties = schema.get("properties") or {}
    is_object = level == "root" or bool(schema.get(EMBEDDED))
    for name in ("kind", "apiVersion"):
        if is_object and name in properties and properties[name].get("type") != "string":
            yield invalid(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    if is_object and metadata.get("type") != "object":
        yield invalid(f"{path}.properties[metadata].type", metadata.get("type", ""), "must be object")
    if level == "root":
        names = (metadata.get("properties") or {}).keys()
        rest = {name: each for name, each in metadata.items() if name not in ("type", "default", "description")}
        if names and names <= {"name", "generateName"}:
            rest.pop("properties", None)
        if rest:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(f"{path}.properties[metadata]", detail)


def _is_int_or_string(schema: Schema) -> bool:
    first = (schema.get("allOf") or [{}])[0]
    return _INT_OR_STRING in (schema.get("anyOf"), first.get("anyOf"))


def _combinations(schema: Schema, path: str, level: str, *, skips: bool = False) -> Iterator[Problem]:
    """Of what a schema says beside its structure. `skips`: a number or a text is asked for in the one way there is."""
    for name in _NESTED:
        for index, each in enumerate(schema.get(name) or ()):
            if skips and name == "anyOf" and schema.get(name) == _INT_OR_STRING:
                continue
            is_first = skips and name == "allOf" and not index and each.get("anyOf") == _INT_OR_STRING
            yield from _nested(each, f"{path}.{name}[{index}]", level, skips=is_first)
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not", level)
    if schema.get("pattern") and (problem := pattern_problem(schema["pattern"])):
        told = f"must be a valid regular expression, but isn't: {problem}"
        yield invalid(f"{path}.pattern", schema["pattern"], told)


def _nested(schema: Schema, path: str, level: str, *, skips: bool = False) -> Iterator[Problem]:
    """Of a schema in a combination, which may say nothing of structure."""
    yield from _combinations(schema, path, level, skips=skips)
    items = structural.of_item(schema)
    if items is not None:
        yield from _nested(items, f"{path}.items", level)
    for name, each in (schema.get("properties") or {}).items():
        yield from _nested(each, f"{path}.properties[{name}]", "field")
    for name, word in _ONLY_STRUCTURE.items():
        if name in schema and schema[name] not in (False, "", []):
            yield forbidden(f"{path}.{name}", f"must be {word} to be structural")
    if "metadata" in (schema.get("properties") or {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


_ONLY_STRUCTURE: Final = {
    "type": "empty", "additionalProperties": "undefined", "default": "undefined", "title": "empty",
    "description": "empty", "nullable": "false", PRESERVES: "false", EMBEDDED: "false", INT_OR_STRING: "false",
    "x-kubernetes-list-map-keys": "empty", "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined", "x-kubernetes-validations": "empty",
}  # fmt: skip


def _completeness(said: Schema, schema: Schema | None, path: str, at: str) -> Iterator[Problem]:
    """Everything that is restricted in combinations stands in the structure too."""
    combined = [(f"{at}.{name}[{i}]", each) for name in _NESTED for i, each in enumerate(said.get(name) or ())]
    if said.get("not") is not None:
        combined.append((f"{at}.not", said["not"]))
    for place, each in combined:
        yield from _nested_completeness(each, schema, path, place)


def _nested_completeness(said: Schema, schema: Schema | None, path: str, at: str) -> Iterator[Problem]:
    if schema is None:
        yield required(path, f"because it is defined in {at}")
        return
    yield from _completeness(said, schema, path, at)
    items = structural.of_item(said)
    if items is not None:
        yield from _nested_completeness(items, structural.of_item(schema), f"{path}.items", f"{at}.items")
    known = schema.get("properties") or {}
    for name, each in (said.get("properties") or {}).items():
        place = f"{path}.properties[{name}]"
        yield from _nested_completeness(each, known.get(name), place, f"{at}.properties[{name}]")


def _defaults(schema: Schema, path: str, *, is_root: bool = False) -> Iterator[Problem]:
    """Defaults are values of their schema, with no field that it does not have."""
    if "default" in schema:
        default = schema["default"]
        found, _ = structural.pruned({"default": default}, {"properties": {"default": schema}})
        if found["default"] != default and not schema.get(EMBEDDED):
            yield invalid(f"{path}.default", default, "must not have unknown fields")
        yield from Validator(schema).problems(default, f"{path}.default")
    items, more = structural.of_item(schema), schema.get("additionalProperties")
    if items is not None:
        yield from _defaults(items, f"{path}.items")
    if isinstance(more, Mapping):
        yield from _defaults(more, f"{path}.additionalProperties")
    for name, each in (schema.get("properties") or {}).items():
        if not is_root or name not in IDENTITY:
            yield from _defaults(each, f"{path}.properties[{name}]")


def _openapi(schema: Schema, path: str, *, is_root: bool, inside_meta: bool) -> Iterator[Problem]:
    """What else is asked of every schema, wherever it stands."""
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    for name in _UNSUPPORTED:
        if schema.get(name) is not None:
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if inside_meta and schema.get(EMBEDDED):
        yield forbidden(f"{path}.{EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)
    more, properties = schema.get("additionalProperties"), schema.get("properties") or {}
    if more is not None and more is not True and properties:
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", detail)
    if isinstance(more, Mapping):
        yield from _openapi(more, f"{path}.additionalProperties", is_root=False, inside_meta=inside_meta)
    for name, each in properties.items():
        is_meta = inside_meta or ((is_root or bool(schema.get(EMBEDDED))) and name in IDENTITY)
        if is_root and name in IDENTITY:
            yield from _without_defaults(each, f"{path}.properties[{name}]", f"in top-level {name}")
        yield from _openapi(each, f"{path}.properties[{name}]", is_root=False, inside_meta=is_meta)
    combined = [(f"{path}.{name}[{i}]", each) for name in _NESTED for i, each in enumerate(schema.get(name) or ())]
    for name in ("not", "items"):
        if isinstance(schema.get(name), Mapping):
            combined.append((f"{path}.{name}", schema[name]))
    for place, each in combined:
        yield from _openapi(each, place, is_root=False, inside_meta=inside_meta)
    if schema.get(PRESERVES) is False:
        yield invalid(f"{path}.{PRESERVES}", False, "must be true or undefined")
    yield from _merging(schema, path)


def _without_defaults(schema: Schema, path: str, where: str) -> Iterator[Problem]:
    if "default" in schema:
        yield forbidden(f"{path}.default", f"must not be set {where}")
    for name, each in (schema.get("properties") or {}).items():
        yield from _without_defaults(each, f"{path}.properties[{name}]", where)


_TREATMENTS: Final = (("map", "object", ("atomic", "granular")), ("list", "array", ("atomic", "set", "map")))
_OF_KEYS: Final = "this property is in x-kubernetes-list-map-keys, so it"


def _merging(schema: Schema, path: str) -> Iterator[Problem]:
    """How lists and maps are merged."""
    kind, items = schema.get("type"), structural.of_item(schema)
    for word, wanted, values in (
        ("map", "object", ("atomic", "granular")),
        ("list", "array", ("atomic", "set", "map")),
    ):
        name = f"x-kubernetes-{word}-type"
        said = schema.get(name)
        if said is not None and kind != wanted:
            detail = f"must be {wanted} if {name} is specified"
            yield invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)
        if said is not None and said not in values:
            yield unsupported(f"{path}.{name}", said, values)
    said, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    if said == "set" and items is not None:
        yield from _set_items(items, path)
    if keys and said != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        place = f"{path}.x-kubernetes-list-type"
        yield required(place, detail) if said is None else invalid(place, said, detail)
    if said in ("set", "map") and items is not None and items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {said}")
    if said == "map":
        yield from _map_keys(schema, keys, path)


def _set_items(items: Schema, path: str) -> Iterator[Problem]:
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type") not in (None, "atomic"):
        yield invalid(f"{path}.items.x-kubernetes-list-type", items["x-kubernetes-list-type"], detail)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(f"{path}.items.x-kubernetes-map-type", items.get("x-kubernetes-list-type"), detail)


def _map_keys(schema: Schema, keys: list[str], path: str) -> Iterator[Problem]:
    place, items = f"{path}.x-kubernetes-list-map-keys", structural.of_item(schema)
    if not keys:
        yield required(place, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), detail)
        return
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        found, of_key = properties.get(key), f"{path}.items.properties[{key}]"
        if found is None:
            yield invalid(place, keys, "entries must all be names of item properties")
        elif found.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{of_key}.type", items.get("type"), detail)
        if key in keys[:index]:
            yield invalid(place, keys, "must not contain duplicate entries")
    for key in keys:
        found, of_key = properties.get(key), f"{path}.items.properties[{key}]"
        if found is None:
            continue
        if key not in (items.get("required") or ()) and "default" not in found:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            yield required(f"{of_key}.default", detail)
        if found.get("nullable"):
            yield forbidden(f"{of_key}.nullable", f"{_OF_KEYS} cannot be nullable")
