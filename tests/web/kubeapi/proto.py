"""Objects in protobuf, as client-go writes them: the encoder that tests ask the service with."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import orjson

from scheduler_core.api.schema import Field, type_named, type_of
from scheduler_core.api.schema.numbers import Place, numbers_of

Manifest = dict[str, Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def body(manifest: Manifest, type_name: str = "") -> bytes:
    """The whole body of a request."""
    version, kind = manifest.get("apiVersion", ""), manifest.get("kind", "")
    name = type_name or type_of(version, kind).name
    return envelope(version, kind, message(manifest, name))


def envelope(version: str, kind: str, raw: bytes) -> bytes:
    named = _chunk(1, version.encode()) + _chunk(2, kind.encode())
    return b"k8s\0" + _chunk(1, named) + _chunk(2, raw) + _chunk(3, b"") + _chunk(4, b"")


def message(manifest: Manifest, type_name: str) -> bytes:
    """A part of a manifest as the message of its type."""
    numbers = numbers_of(type_name)
    inside: dict[Place, bytes] = {(): b""}  # by the numbers of the messages it stands in
    for name, field in type_named(type_name).fields.items():
        if name not in manifest:
            continue
        *outer, number = numbers[name]
        inside[tuple(outer)] = inside.get(tuple(outer), b"") + _field(number, field, manifest[name])
    while deepest := max(inside, key=len):
        *around, number = deepest
        content = _chunk(number, inside.pop(deepest))
        inside[tuple(around)] = inside.get(tuple(around), b"") + content
    return inside[()]


def varint(value: int) -> bytes:
    value &= 0xFFFF_FFFF_FFFF_FFFF
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def _field(number: int, field: Field, value: Any) -> bytes:
    if field.shape.startswith("[]"):
        return b"".join(_value(number, field.item, item) for item in value)
    if field.shape.startswith("{}"):
        entries = (_chunk(1, key.encode()) + _value(2, field.item, item) for key, item in value.items())
        return b"".join(_chunk(number, entry) for entry in entries)
    return _value(number, field.shape, value)


def _value(number: int, shape: str, value: Any) -> bytes:
    match shape:
        case "int32" | "int64" | "bool":
            return varint(number << 3) + varint(int(value))
        case "string":
            return _chunk(number, value.encode())
        case "bytes":
            return _chunk(number, base64.b64decode(value))
        case "quantity":
            return _chunk(number, _chunk(1, value.encode()))
        case "intorstring":
            return _chunk(number, _int_or_string(value))
        case "raw":
            return _chunk(number, _chunk(1, orjson.dumps(value)))
        case "time" | "microtime":
            return _chunk(number, _moment(value))
        case "[]string":
            return _chunk(number, b"".join(_chunk(1, item.encode()) for item in value))
    return _chunk(number, message(value, shape))


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + _chunk(3, value.encode())
    return b"\x08\x00\x10" + varint(value) + b"\x1a\x00"


def _moment(value: str | None) -> bytes:
    if value is None:
        return b""
    since = datetime.fromisoformat(value) - _EPOCH
    return b"\x08" + varint(since.days * 86400 + since.seconds) + b"\x10" + varint(since.microseconds * 1000)


def _chunk(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content
