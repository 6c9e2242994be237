"""The messages of events.py as schemas of the OpenAPI document, for the REST views that answer with them.

`ref` is what a view names as its answer; `add_messages` puts what the names mean into the document, once. Every field
of a message is there in each answer, so all are required.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from kschedweb.live import events

Schema = dict[str, Any]

PRIMITIVES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_FOLDER = "#/components/schemas/"


def ref(cls: type) -> Schema:
    """A reference to the schema of a message or a view."""
    return {"$ref": _FOLDER + cls.__name__}


def nullable_ref(cls: type) -> Schema:
    return {"allOf": [ref(cls)], "nullable": True}


def add_messages(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """A hook of drf-spectacular, run when the schema is made."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    for value in vars(events).values():
        if isinstance(value, type) and dataclasses.is_dataclass(value):
            if value.__name__ in schemas:
                raise ValueError(f"an answer of a view and a live message are both called {value.__name__}")
            schemas[value.__name__] = _object(value)
    return result


def _object(cls: type) -> Schema:
    hints = typing.get_type_hints(cls)
    properties = {field.name.rstrip("_"): _schema(hints[field.name]) for field in dataclasses.fields(cls)}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schema(hint: Any) -> Schema:
    if hint is Any:
        return {}
    if hint in PRIMITIVES:
        return {"type": PRIMITIVES[hint]}
    if hint is events.Cursor:
        return {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return ref(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is Sequence:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    if origin in (types.UnionType, typing.Union):
        return _union([argument for argument in arguments if argument is not type(None)], type(None) in arguments)
    raise TypeError(f"live events must not use {hint!r}: it has no schema here")


def _union(members: Sequence[Any], nullable: bool) -> Schema:
    if len(members) == 1:
        if nullable and isinstance(members[0], type) and dataclasses.is_dataclass(members[0]):
            return nullable_ref(members[0])
        return _schema(members[0]) | ({"nullable": True} if nullable else {})
    mapping = {member.__dataclass_fields__["type"].default: _FOLDER + member.__name__ for member in members}
    return {
        "oneOf": [ref(member) for member in members],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
