"""A manifest as the API server has it after decoding: known fields only, of the right types, written its way.

The result is what decoding into the server's types and encoding again makes of the manifest: unknown fields and nulls
go, empty values go where their field says so, and fields that are always written are there with their zero value.
Problems of types are those of Go's JSON decoder, with its words; the first one in the manifest counts. Unknown fields
are collected for whoever asked for strictness.

Longer than 400 lines because it is one reader with a function for each shape, which call one another.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, cast

from scheduler_core.api.quantity import parse
from scheduler_core.api.schema.moments import in_utc
from scheduler_core.api.schema.types import Field, Type, type_named, type_of
from scheduler_core.api.text_cache import cached_by_text

Manifest = dict[str, Any]

_INTEGERS: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/=]")
_ABSENT: Final = object()


class _Key(str):  # a key of a map, which places of wrong values leave out
    __slots__ = ()


class DecodeError(Exception):
    """The manifest does not fit its type; the message is the JSON decoder's."""


class Reading:
    """What is noticed on the way: unknown fields by path, and the first problem."""

    __slots__ = ("_is_over", "path", "problem", "unknown")

    def __init__(self) -> None:
        self.path: list[str | int] = []
        self.unknown: list[str] = []
        self.problem = ""
        self._is_over = False

    def refuse(self, owner: Type | None, value: Any, go_name: str) -> None:
        """Note that the value does not fit the type, unless something was noted before."""
        if not self.problem:
            names = ".".join(step for step in self.path if type(step) is str)
            place = f"Go struct field {owner.go_name}.{names}" if owner is not None else "Go value"
            self.problem = f"json: cannot unmarshal {_json_kind(value, go_name)} into {place} of type {go_name}"

    def refuse_and_end(self, owner: Type, value: Any, go_name: str) -> None:
        """The same for a type that reads itself, see `fail`."""
        names = ".".join(step for step in self.path if type(step) is str)
        place = f"Go struct field {owner.go_name}.{names}"
        self.fail(f"json: cannot unmarshal {_json_kind(value, go_name)} into {place} of type {go_name}")

    def fail(self, message: str) -> None:
        """Note what a type that reads itself says of its value: reading ends there, whatever was noted before."""
        if not self._is_over:
            self.problem, self._is_over = message, True

    def note(self, message: str) -> None:
        if not self.problem:
            self.problem = message

    def path_text(self, name: str) -> str:
        text = ""
        for step in (*self.path, name):
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text


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
    found = _struct(type_of(api_version, kind))(manifest, reading)
    if reading.problem:
        raise DecodeError(reading.problem)
    return {"kind": kind, "apiVersion": api_version, **found, **shared}, reading.unknown


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
                if not reading.path or type_.name in _NESTED_KINDS:
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


_NESTED_KINDS: Final = frozenset({"core.PersistentVolumeClaim"})  # objects inside of others say what they are too
_IDENTITY: Final = frozenset({"kind", "apiVersion"})
_MANAGED: Final = (["metadata"], "managedFields")  # known, and not kept


def _field(owner: Type, field: Field) -> Reader:
    """A reader of a field's values other than null; `_ABSENT` when the value is not written."""
    if field.shape in _SCALARS:
        return _scalar(owner, field)
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
    read_scalar = _SCALARS[field.shape]
    omits = field.omits_empty and not field.is_pointer and field.shape not in _STRUCTS
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
            path.append(_Key(name))
            result[name] = item(one, reading)
            path.pop()
        return result

    return read_map


def _item(owner: Type, field: Field) -> Reader:
    """A reader of the items of a list or map; null is the zero value."""
    shape = field.item
    go_name = field.go_name[2:] if field.shape.startswith("[]") else _GO_ITEMS.get(shape, field.go_name)
    if shape in _SCALARS:
        read_scalar, zero = _SCALARS[shape], _ZEROS[shape]

        def read_value(value: Any, reading: Reading) -> Any:
            return zero if value is None else read_scalar(value, reading, owner, go_name)

        return read_value
    if shape.startswith("[]"):

        def read_texts(value: Any, reading: Reading) -> Any:
            if not isinstance(value, list):
                reading.refuse(owner, value, go_name)
                return None
            return [_text(one, reading, owner, "string") for one in value]

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
    if field.shape in _STRUCTS:
        if field.omits_zero:
            return None
        value = _ZEROS[field.shape]
        return lambda: value
    if field.shape[:2] in ("[]", "{}"):
        return None if field.omits_empty else _null
    if field.shape in _SCALARS:
        value = _ZEROS[field.shape]
        return None if field.omits_empty else lambda: value
    reader = _struct(type_named(field.shape))
    return lambda: reader({}, Reading())


def _null() -> None:
    return None


def _text(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    if not isinstance(value, str):
        reading.refuse(owner, value, go_name)
        return ""
    return value


def _integer(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    least, most = _INTEGERS.get(go_name, _INTEGERS["int64"])
    if type(value) is not int or not least <= value <= most:
        reading.refuse(owner, value, go_name)
        return 0
    return value


def _bool(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    if not isinstance(value, bool):
        reading.refuse(owner, value, go_name)
        return False
    return value


def _quantity(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    try:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            value = ""
        return _quantity_text(str(value))
    except ValueError as error:
        reading.fail(str(error))
        return "0"


@cached_by_text(4096)
def _quantity_text(text: str) -> str:
    return str(parse(text))


def _int_or_string(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    if isinstance(value, str):
        return value
    if type(value) is int and _INTEGERS["int32"][0] <= value <= _INTEGERS["int32"][1]:
        return value
    reading.refuse_and_end(owner, value, "int32")
    return 0


def _time(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    return _time_text(value, reading, owner, digits=0)


def _micro_time(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    return _time_text(value, reading, owner, digits=6)


def _time_text(value: Any, reading: Reading, owner: Type, *, digits: int) -> str | None:
    if not isinstance(value, str):
        reading.refuse_and_end(owner, value, "string")
        return None
    try:
        return in_utc(value, digits=digits)
    except ValueError as error:
        reading.fail(str(error))
        return None


def _raw(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    return value


def _bytes(value: Any, reading: Reading, owner: Type, go_name: str) -> Any:
    text = _text(value, reading, owner, go_name).replace("\n", "").replace("\r", "")
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except binascii.Error:
        wrong = _NOT_BASE64.search(text)
        reading.note(f"illegal base64 data at input byte {wrong.start() if wrong else len(text) // 4 * 4}")
    return text


_SCALARS: Final[dict[str, Callable[[Any, Reading, Type, str], Any]]] = {
    "string": _text,
    "int32": _integer,
    "int64": _integer,
    "bool": _bool,
    "quantity": _quantity,
    "intorstring": _int_or_string,
    "time": _time,
    "microtime": _micro_time,
    "raw": _raw,
    "bytes": _bytes,
}
_ZEROS: Final[dict[str, Any]] = {
    "string": "",
    "int32": 0,
    "int64": 0,
    "bool": False,
    "quantity": "0",
    "intorstring": 0,
    "time": None,
    "microtime": None,
    "raw": None,
    "bytes": None,
}
# Structs of the server, which it writes whether they are empty or not.
_STRUCTS: Final = frozenset({"quantity", "intorstring", "time", "microtime", "raw"})
_GO_ITEMS: Final = {"string": "string", "bytes": "[]uint8"}


def _json_kind(value: Any, go_name: str) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return f"number {value!r}" if go_name.startswith("int") else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
