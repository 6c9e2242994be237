"""A manifest as the API server has it after decoding: known fields only, of the right types, written its way.

The result is what decoding into the server's types and encoding again makes of the manifest: unknown fields and nulls
go, empty values go where their field says so, and fields that are always written are there with their zero value.
Problems of types are those of Go's JSON decoder, with its words; the first one in the manifest counts. Unknown fields
are collected for whoever asked for strictness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, cast

from scheduler_core.api.schema.problems import DecodeError, MapKey, Reading
from scheduler_core.api.schema.scalars import READERS, STRUCTS, ZEROS, read_string
from scheduler_core.api.schema.types import SCHEMAS, Field, Type, type_named, type_of

Manifest = dict[str, Any]

_ABSENT: Final = object()
_GO_ITEMS: Final = {"string": "string", "bytes": "[]uint8"}


def read(
    manifest: Mapping[str, Any], api_version: str, kind: str, base: Mapping[str, Any] | None = None
) -> tuple[Manifest, list[str]]:
    """(the manifest as the API server has it, unknown fields); DecodeError when it does not fit.

    `base` was read before: parts of the manifest that are its very objects are taken over, not read again. They are
    shared with it, so they may not be changed in place.
    """
    reading = Reading()
    shared: Manifest = {}
    if base is not None:
        shared = {name: part for name, part in base.items() if part is not None and part is manifest.get(name)}
        manifest = {name: part for name, part in manifest.items() if name not in shared}
    try:
        found = _struct(type_of(api_version, kind))(manifest, reading)
    except RecursionError:  # schemas of schemas may be of any depth
        raise DecodeError("exceeded max depth") from None
    if reading.problem:
        raise DecodeError(reading.problem)
    return {"kind": kind, "apiVersion": api_version, **found, **shared}, reading.unknown


def read_part(value: Mapping[str, Any], type_name: str) -> tuple[Manifest, list[str]]:
    """The same of a part of a manifest, by the name of its type."""
    reading = Reading()
    found = _struct(type_named(type_name))(value, reading)
    if reading.problem:
        raise DecodeError(reading.problem)
    return found, reading.unknown


def without_empty_lists(value: Any) -> Any:
    """The value as the store gives it back: an empty list that is always written comes back as null."""
    if isinstance(value, dict):
        return {key: without_empty_lists(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_empty_lists(item) for item in value] if value else None
    return value


def empty(api_version: str, kind: str, field: str) -> Manifest:
    """What the server writes for a field of a kind that nobody has filled in; a map of its own each time."""
    return cast(Manifest, _struct(type_named(type_of(api_version, kind).fields[field].shape))({}, Reading()))


Reader = Callable[[Any, Reading], Any]


@lru_cache(maxsize=512)
def _struct(type_: Type) -> Reader:
    """A reader of maps of this type; always gives a map."""
    readers: dict[str, Callable[[Any, Reading], Any]] = {}
    required: list[tuple[str, Callable[[], Any]]] = []

    def prepare() -> None:
        # Types refer to themselves, so fields are looked at when the first manifest comes.
        for field in type_.fields.values():
            readers[field.name] = _field(type_, field)
            zero = _zero(field)
            if zero is not None:
                required.append((field.name, zero))

    def read_struct(value: Any, reading: Reading) -> Manifest:
        if not readers and type_.fields:
            prepare()
        result: Manifest = {}
        for name, item in value.items():
            reader = readers.get(name)
            if reader is None:
                is_known = (reading.path, name) == _MANAGED
                if not reading.path or type_.name in NESTED_KINDS:
                    is_known = name in _IDENTITY
                if not is_known:
                    reading.unknown.append(reading.path_text(name))
                continue
            if item is None:
                continue
            reading.path.append(name)
            found = reader(item, reading)
            reading.path.pop()
            if found is not _ABSENT:
                result[name] = found
        for name, zero in required:
            if name not in result:
                result[name] = zero()
        return result

    return read_struct


NESTED_KINDS: Final = frozenset({"core.PersistentVolumeClaim"})  # objects inside of others say what they are too
_IDENTITY: Final = frozenset({"kind", "apiVersion"})
_MANAGED: Final = (["metadata"], "managedFields")  # known, and not kept


def _field(owner: Type, field: Field) -> Reader:
    """A reader of a field's values other than null; `_ABSENT` when the value is not written."""
    if field.shape in READERS:
        return _scalar(owner, field)
    if field.shape in SCHEMAS:
        return _schema(field.shape)
    if field.shape.startswith("[]"):
        return _list(owner, field)
    if field.shape.startswith("{}"):
        return _map(owner, field)
    reader = _struct(type_named(field.shape))

    def read_struct(value: Any, reading: Reading) -> Any:
        if type(value) is not dict and not isinstance(value, Mapping):
            reading.refuse(owner, value, field.go_name)
            return _ABSENT
        return reader(value, reading)

    return read_struct


def _scalar(owner: Type, field: Field) -> Reader:
    read_scalar = READERS[field.shape]
    omits = field.omits_empty and not field.is_pointer and field.shape not in STRUCTS
    go_name = field.go_name

    if field.shape == "string":  # most fields are

        def read_text(value: Any, reading: Reading) -> Any:
            if type(value) is not str:
                reading.refuse(owner, value, go_name)
                return _ABSENT
            return _ABSENT if omits and not value else value

        return read_text

    def read_value(value: Any, reading: Reading) -> Any:
        found = read_scalar(value, reading, owner, go_name)
        return _ABSENT if omits and not found else found

    return read_value


_SCHEMA: Final = "apiextensions.JSONSchemaProps"
# What stands in the place of a schema must be, in the API server's words.
_PLAIN: Final = {
    "schemaorbool": "boolean or JSON schema expected",
    "schemaorarray": "object or array of JSON schemas expected",
    "schemaorstrings": "JSON schema or array of strings expected",
}


def _schema(shape: str) -> Reader:
    """A reader of schemas, or of what may stand in their place; nobody hears of unknown fields in these."""
    reader = _struct(type_named(_SCHEMA))

    def read_one(value: Any, reading: Reading) -> Any:
        if isinstance(value, Mapping):
            return reader(value, reading)
        if value is not None:
            reading.fail(_PLAIN[shape])
        return {}

    def read_schema(value: Any, reading: Reading) -> Any:
        known = len(reading.unknown)
        found = value
        if isinstance(value, list) and shape == "schemaorarray":
            found = [read_one(each, reading) for each in value]
        elif isinstance(value, list) and shape == "schemaorstrings":
            found = [read_string(each, reading, type_named(_SCHEMA), "string") for each in value]
        elif not isinstance(value, bool) or shape != "schemaorbool":
            found = read_one(value, reading)
        del reading.unknown[known:]
        return found

    return read_schema


def _list(owner: Type, field: Field) -> Reader:
    item = _item(owner, field)

    def read_list(value: Any, reading: Reading) -> Any:
        if not isinstance(value, list):
            reading.refuse(owner, value, field.go_name)
            return _ABSENT
        if not value:
            return _ABSENT if field.omits_empty else []
        result = []
        path = reading.path
        for index, one in enumerate(value):
            path.append(index)
            result.append(item(one, reading))
            path.pop()
        return result

    return read_list


def _map(owner: Type, field: Field) -> Reader:
    item = _item(owner, field)

    def read_map(value: Any, reading: Reading) -> Any:
        if type(value) is not dict and not isinstance(value, Mapping):
            reading.refuse(owner, value, field.go_name)
            return _ABSENT
        if not value:
            return _ABSENT
        result = {}
        path = reading.path
        for name, one in value.items():
            path.append(MapKey(name))
            result[name] = item(one, reading)
            path.pop()
        return result

    return read_map


def _item(owner: Type, field: Field) -> Reader:
    """A reader of the items of a list or map; null is the zero value."""
    shape = field.item
    go_name = field.go_name[2:] if field.shape.startswith("[]") else _GO_ITEMS.get(shape, field.go_name)
    if shape in READERS:
        read_scalar, zero = READERS[shape], ZEROS[shape]

        def read_value(value: Any, reading: Reading) -> Any:
            return zero if value is None else read_scalar(value, reading, owner, go_name)

        return read_value
    if shape in SCHEMAS:
        return _schema(shape)
    if shape.startswith("[]"):

        def read_texts(value: Any, reading: Reading) -> Any:
            if not isinstance(value, list):
                reading.refuse(owner, value, go_name)
                return None
            return [read_string(one, reading, owner, "string") for one in value]

        return read_texts
    reader = _struct(type_named(shape))

    def read_struct(value: Any, reading: Reading) -> Any:
        if value is None:
            value = {}
        if type(value) is not dict and not isinstance(value, Mapping):
            reading.refuse(owner, value, go_name)
            return {}
        return reader(value, reading)

    return read_struct


def _zero(field: Field) -> Callable[[], Any] | None:
    """What is written for an absent field; None when nothing is."""
    if field.is_pointer:
        return None if field.omits_empty else _null
    if field.shape in STRUCTS:
        if field.omits_zero:
            return None
        value = ZEROS[field.shape]
        return lambda: value
    if field.shape[:2] in ("[]", "{}"):
        return None if field.omits_empty else _null
    if field.shape in READERS:
        value = ZEROS[field.shape]
        return None if field.omits_empty else lambda: value
    reader = _struct(type_named(field.shape))
    return lambda: reader({}, Reading())


def _null() -> None:
    return None
