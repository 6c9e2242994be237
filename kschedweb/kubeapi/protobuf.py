"""Bodies in protobuf, as client-go and typed kubectl commands send them, turned into the objects that JSON would give.

A body is four bytes, then an envelope that names the kind and holds the message. Fields that the schema does not have
are passed over, as in the API server. Which empty values are written is decided where manifests are read.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf and the generated decoders,
whose messages these are.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import orjson

from kschedweb.kubeapi.wire import BYTES, VARINT, ProtobufError, Wire, begin, fields, signed, varint
from scheduler_core.api.quantity import parse
from scheduler_core.api.schema import Field, Type, type_named, type_of
from scheduler_core.api.schema.numbers import Place, numbers_of

MAGIC: Final = b"k8s\0"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_ONE: Final = -62_135_596_800  # seconds: the zero time
# Names of fields in messages, where they are not the manifest's with a large first letter.
_GO_NAMES: Final = {
    "metadata": "ObjectMeta", "uid": "UID", "apiVersion": "APIVersion", "ip": "IP", "nfs": "NFS", "csi": "CSI",
}  # fmt: skip
Manifest = dict[str, Any]
# Puts a field's value, found with this wire type, into a manifest.
Setter = Callable[[Manifest, int, Wire], None]
# The value of a field that may stand several times: the one before, and what was found.
Reader = Callable[[Any, Wire], Any]


def read_object(content: bytes, api_version: str, kind: str) -> Manifest:
    """The object in a body, which should be of this kind; ProtobufError.

    A body that names another kind is read as that one, if it is known, for whoever compares them.
    """
    if not content:
        raise ProtobufError("empty data")
    if not content.startswith(MAGIC):
        expected = " ".join(str(byte) for byte in MAGIC)
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{expected}]")
    if len(content) == len(MAGIC):
        raise ProtobufError("empty body")
    begin()
    envelope: Manifest = {}
    _fill(content[len(MAGIC) :], envelope, _ENVELOPE, "Unknown")
    named = envelope.get("typeMeta", {})
    version, found = named.get("apiVersion") or api_version, named.get("kind") or kind
    try:
        return {"kind": found, "apiVersion": version, **_message(_known(version, found, api_version, kind), envelope)}
    except ProtobufError as error:
        raise ProtobufError(str(error), version, found) from None


def _known(version: str, found: str, api_version: str, kind: str) -> Type:
    if found == "DeleteOptions":  # each group has them
        return type_named("meta.DeleteOptions")
    try:
        return type_of(version, found)
    except KeyError:
        return type_of(api_version, kind)


def _message(type_: Type, envelope: Manifest) -> Manifest:
    found: Manifest = {}
    _fill(envelope.get("raw", b""), found, _setters(type_.name), type_.go_name)
    return found


def _fill(content: bytes, into: Manifest, setters: dict[int, Setter], name: str) -> None:
    """Read a message's fields into a manifest."""
    for number, wire, value in fields(content, name):
        setter = setters.get(number)
        if setter is not None:
            setter(into, wire, value)


# Fields


@lru_cache(maxsize=512)
def _setters(type_name: str) -> dict[int, Setter]:
    """How the fields of a message of this type are read, by number."""
    type_ = type_named(type_name)
    places = numbers_of(type_name)
    return _nested(
        {places[name]: _setter(field) for name, field in type_.fields.items() if name in places}, type_.go_name
    )


def _nested(by_place: dict[Place, Setter], name: str) -> dict[int, Setter]:
    """Setters by the first number of their places; what stands deeper is read by that of the message it is in."""
    setters: dict[int, Setter] = {}
    inside: dict[int, dict[Place, Setter]] = {}
    for (number, *inner), setter in by_place.items():
        if inner:
            inside.setdefault(number, {})[tuple(inner)] = setter
        else:
            setters[number] = setter
    for number, of_message in inside.items():
        setters[number] = _inlined(_nested(of_message, name), name)
    return setters


def _inlined(setters: dict[int, Setter], name: str) -> Setter:
    """A message whose fields manifests have beside the others."""

    def put(into: Manifest, wire: int, value: Wire) -> None:
        _expect(wire, BYTES, name)
        _fill(_content(value), into, setters, name)

    return put


def _setter(field: Field) -> Setter:
    name, shape = field.name, field.shape
    go_name = _GO_NAMES.get(name) or name[:1].upper() + name[1:]
    if shape.startswith("{}"):
        return _map_setter(name, go_name, shape[2:])
    if shape.startswith("[]"):
        return _list_setter(name, go_name, shape[2:])
    reader, expected = _reader(shape)

    def put(into: Manifest, wire: int, value: Wire) -> None:
        _expect(wire, expected, go_name)
        into[name] = reader(into.get(name), value)

    return put


def _list_setter(name: str, go_name: str, shape: str) -> Setter:
    reader, expected = _reader(shape)

    def put(into: Manifest, wire: int, value: Wire) -> None:
        items = into.setdefault(name, [])
        if expected == VARINT and wire == BYTES:  # numbers may stand together
            content, at = _content(value), 0
            while at < len(content):
                number, at = varint(content, at)
                items.append(reader(None, number))
            return
        _expect(wire, expected, go_name)
        items.append(reader(None, value))

    return put


def _map_setter(name: str, go_name: str, shape: str) -> Setter:
    """Maps are messages of key and value, one for each entry."""
    is_list = shape.startswith("[]")
    reader, expected = _reader("texts" if is_list else shape)
    nothing: Wire = 0 if expected == VARINT else b""

    def put(into: Manifest, wire: int, value: Wire) -> None:
        _expect(wire, BYTES, go_name)
        key: Wire = b""
        found = nothing
        for number, inner, part in fields(_content(value), go_name):
            if number == 1:
                _expect(inner, BYTES, go_name)
                key = part
            elif number == 2:
                _expect(inner, expected, go_name)
                found = part
        into.setdefault(name, {})[_text(None, key)] = reader(None, found)

    return put


def _expect(wire: int, expected: int, go_name: str) -> None:
    if wire != expected:
        raise ProtobufError(f"proto: wrong wireType = {wire} for field {go_name}")


def _content(value: Wire) -> bytes:
    assert isinstance(value, bytes)  # the wire type was looked at
    return value


def _reader(shape: str) -> tuple[Reader, int]:
    """How values of a shape are read, and their wire type."""
    if shape in _READERS:
        return _READERS[shape]

    def read_struct(before: Any, value: Wire) -> Any:
        into = before if before is not None else {}
        _fill(_content(value), into, _setters(shape), shape.rpartition(".")[2])
        return into

    return read_struct, BYTES


def _text(before: Any, value: Wire) -> str:
    return _content(value).decode("utf-8", "replace")


def _encoded(before: Any, value: Wire) -> str:
    return base64.b64encode(_content(value)).decode()


def _bool(before: Any, value: Wire) -> bool:
    return bool(value)


def _int32(before: Any, value: Wire) -> int:
    assert isinstance(value, int)
    return signed(value, 32)


def _int64(before: Any, value: Wire) -> int:
    assert isinstance(value, int)
    return signed(value, 64)


def _quantity(before: Any, value: Wire) -> str:
    text = "0"
    for number, wire, part in fields(_content(value), "Quantity"):
        if number == 1:
            _expect(wire, BYTES, "String_")
            text = _text(None, part)
    try:
        parse(text)
    except ValueError as error:
        raise ProtobufError(str(error)) from None
    return text


def _int_or_string(before: Any, value: Wire) -> Any:
    is_text, number, text = False, 0, ""
    for field, wire, part in fields(_content(value), "IntOrString"):
        if field in (1, 2):
            _expect(wire, VARINT, "Type" if field == 1 else "IntVal")
            number, is_text = (number, part == 1) if field == 1 else (_int32(None, part), is_text)
        elif field == 3:
            _expect(wire, BYTES, "StrVal")
            text = _text(None, part)
    return text if is_text else number


def _time(before: Any, value: Wire) -> str | None:
    moment = _moment(_content(value), has_fraction=False)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def _micro_time(before: Any, value: Wire) -> str | None:
    moment = _moment(_content(value), has_fraction=True)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _moment(content: bytes, *, has_fraction: bool) -> datetime | None:
    """The time of a message of seconds and nanoseconds; None for the zero time."""
    if not content:
        return None
    seconds = nanos = 0
    for number, wire, part in fields(content, "Timestamp"):
        if number in (1, 2):
            _expect(wire, VARINT, "Seconds" if number == 1 else "Nanos")
            if number == 1:
                seconds = _int64(None, part)
            else:
                nanos = _int32(None, part)
    if seconds == _YEAR_ONE and not (has_fraction and nanos):
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000 if has_fraction else 0)
    except OverflowError:
        raise ProtobufError("Time.MarshalJSON: year outside of range [0,9999]") from None


def _raw(before: Any, value: Wire) -> Any:
    """JSON inside of protobuf; nothing when there is none."""
    content: Wire = b""
    for number, wire, part in fields(_content(value), "RawExtension"):
        if number == 1:
            _expect(wire, BYTES, "Raw")
            content = part
    if not content:
        return None
    try:
        return orjson.loads(_content(content))
    except orjson.JSONDecodeError as error:
        raise ProtobufError(f"a raw value is not JSON: {error}") from None


def _texts(before: Any, value: Wire) -> list[str]:
    found: Manifest = {}
    _fill(_content(value), found, {1: _list_setter("items", "Items", "string")}, "ExtraValue")
    return found.get("items") or []


_READERS: Final[dict[str, tuple[Reader, int]]] = {
    "string": (_text, BYTES),
    "bytes": (_encoded, BYTES),
    "bool": (_bool, VARINT),
    "int32": (_int32, VARINT),
    "int64": (_int64, VARINT),
    "quantity": (_quantity, BYTES),
    "intorstring": (_int_or_string, BYTES),
    "time": (_time, BYTES),
    "microtime": (_micro_time, BYTES),
    "raw": (_raw, BYTES),
    "texts": (_texts, BYTES),
}


def _type_meta(into: Manifest, wire: int, value: Wire) -> None:
    _expect(wire, BYTES, "TypeMeta")
    _fill(_content(value), into.setdefault("typeMeta", {}), _TYPE_META, "TypeMeta")


def _raw_content(into: Manifest, wire: int, value: Wire) -> None:
    _expect(wire, BYTES, "Raw")
    into["raw"] = value


def _put_text(name: str, go_name: str) -> Setter:
    def put(into: Manifest, wire: int, value: Wire) -> None:
        _expect(wire, BYTES, go_name)
        into[name] = _text(None, value)

    return put


_TYPE_META: Final[dict[int, Setter]] = {1: _put_text("apiVersion", "APIVersion"), 2: _put_text("kind", "Kind")}
_ENVELOPE: Final[dict[int, Setter]] = {1: _type_meta, 2: _raw_content}
