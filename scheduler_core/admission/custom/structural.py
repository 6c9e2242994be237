"""What a structural schema makes of a value: fields that it does not have are pruned, and defaults are filled in.

Schemas are JSONSchemaProps as a CustomResourceDefinition has them, read by the table of fields. Nothing given is
changed, but for what `complete` is given, which has to be fresh.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver, pkg/apiserver/schema/{pruning,defaulting} and
objectmeta.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from scheduler_core.admission.context import Manifest
from scheduler_core.api.schema import DecodeError, read_part

Schema = Mapping[str, Any]
IDENTITY: Final = ("apiVersion", "kind", "metadata")
PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"


class CoercionError(Exception):
    """What says which object a value is, does not say it as it must; the message has the place."""


def of_item(schema: Schema | None) -> Schema | None:
    """The schema of the items of a list."""
    items = (schema or {}).get("items")
    return items if isinstance(items, Mapping) else None


def of_field(schema: Schema | None, name: str) -> tuple[Schema | None, bool]:
    """(the schema of a field, None where anything may stand; whether there is such a field)."""
    if schema is None:
        return None, False
    found = (schema.get("properties") or {}).get(name)
    if found is not None:
        return found, True
    more = schema.get("additionalProperties")
    return (more if isinstance(more, Mapping) else None), more is not None


def pruned(manifest: Manifest, schema: Schema | None) -> tuple[Manifest, list[str]]:
    """(the object without fields that its schema does not have, the paths of those); its metadata is left alone."""
    unknown: list[str] = []
    if schema is not None and schema.get(PRESERVES):
        found = _kept(manifest, {**schema, EMBEDDED: True}, "", unknown)
    else:
        found = _pruned(manifest, {**(schema or {}), EMBEDDED: True}, "", unknown)
    return found, sorted(unknown)


def _pruned(value: Any, schema: Schema | None, path: str, unknown: list[str]) -> Any:
    if schema is not None and schema.get(PRESERVES):
        return _kept(value, schema, path, unknown)
    if isinstance(value, Mapping):
        result: Manifest = {}
        for name, each in value.items():
            if schema is not None and schema.get(EMBEDDED) and name in IDENTITY:
                result[name] = each
                continue
            below, is_known = of_field(schema, name)
            place = f"{path}.{name}" if path else name
            if is_known:
                result[name] = _pruned(each, below, place, unknown)
            else:
                unknown.append(place)
        return result
    if isinstance(value, list):
        items = of_item(schema)
        return [_pruned(each, items, f"{path}[{index}]", unknown) for index, each in enumerate(value)]
    return value


def _kept(value: Any, schema: Schema | None, path: str, unknown: list[str]) -> Any:
    """The value with all its fields, those that the schema has pruned."""
    if schema is None:
        return value
    if isinstance(value, Mapping):
        result: Manifest = {}
        for name, each in value.items():
            below, is_known = of_field(schema, name)
            is_identity = schema.get(EMBEDDED) and name in IDENTITY
            place = f"{path}.{name}" if path else name
            result[name] = _pruned(each, below, place, unknown) if is_known and not is_identity else each
        return result
    if isinstance(value, list):
        items = of_item(schema)
        return [_kept(each, items, f"{path}[{index}]", unknown) for index, each in enumerate(value)]
    return value


def complete(value: Any, schema: Schema | None) -> None:
    """Fill in the defaults, in place, and take out nulls that the schema does not allow."""
    if schema is None:
        return
    if isinstance(value, dict):
        for name in [name for name, each in value.items() if each is None]:
            below, is_known = of_field(schema, name)
            if is_known and below is not None and not below.get("nullable") and "default" not in below:
                del value[name]
        for name, below in (schema.get("properties") or {}).items():
            if "default" in below and (name not in value or (value[name] is None and not below.get("nullable"))):
                value[name] = deepcopy(below["default"])
        for name, each in value.items():
            below, _ = of_field(schema, name)
            if each is None and below is not None and not below.get("nullable"):
                value[name] = each = deepcopy(below.get("default"))
            complete(each, below)
    elif isinstance(value, list):
        items = of_item(schema)
        for index, each in enumerate(value):
            if each is None and items is not None and not items.get("nullable"):
                value[index] = each = deepcopy(items.get("default"))
            complete(each, items)


def coerced(manifest: Manifest, schema: Schema | None) -> tuple[Manifest, list[str]]:
    """(the object whose metadata is what there is of such; unknown fields of that). CoercionError.

    The same becomes of objects inside of it, where a schema is given.
    """
    unknown: list[str] = []
    found = _coerced(manifest, {**(schema or {}), EMBEDDED: True}, "", unknown)
    return found, sorted(unknown)


def _coerced(value: Any, schema: Schema | None, path: str, unknown: list[str]) -> Any:
    if schema is None:
        return value
    if isinstance(value, Mapping):
        result = dict(value)
        for name, each in value.items():
            place = f"{path}.{name}" if path else name
            if schema.get(EMBEDDED) and name in ("apiVersion", "kind") and not isinstance(each, str):
                raise CoercionError(f"{place}: must be a string")
            if schema.get(EMBEDDED) and name == "metadata" and each is not None:
                result[name] = _metadata(each, place, unknown)
                continue
            below, _ = of_field(schema, name)
            result[name] = _coerced(each, below, place, unknown)
        return result
    if isinstance(value, list):
        items = of_item(schema)
        return [_coerced(each, items, f"{path}[{index}]", unknown) for index, each in enumerate(value)]
    return value


def _metadata(value: Any, path: str, unknown: list[str]) -> Manifest:
    if not isinstance(value, Mapping):
        raise CoercionError(f"{path}: expected a map")
    try:
        found, not_known = read_part(value, "meta.ObjectMeta")
    except DecodeError as error:
        raise CoercionError(f"{path}: {error}") from None
    if found.get("creationTimestamp") is None:
        found.pop("creationTimestamp", None)
    if "managedFields" in value:
        found["managedFields"] = value["managedFields"]
        not_known = [name for name in not_known if name != "managedFields"]
    unknown += [f"{path}.{name}" for name in not_known]
    return found


def embedded_objects(value: Any, schema: Schema | None, path: str = "") -> Iterator[tuple[str, Manifest]]:
    """The objects inside of a value, by place."""
    if schema is None:
        return
    if isinstance(value, Mapping):
        if schema.get(EMBEDDED):
            yield path, dict(value)
        for name, each in value.items():
            below, _ = of_field(schema, name)
            yield from embedded_objects(each, below, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        items = of_item(schema)
        for index, each in enumerate(value):
            yield from embedded_objects(each, items, f"{path}[{index}]")
