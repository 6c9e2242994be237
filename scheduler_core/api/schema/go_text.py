"""A part of a manifest as Go prints the struct it is decoded into, types and private fields included.

The text is what hashes of pod templates are made from, so it is kept to the byte: fields in the order of their struct,
`(type)` before each, no quotes; maps by sorted keys; pointers as what they point to. An empty list or map is nil, as
controllers that read protobuf have it. Source: kubernetes v1.34.1, apimachinery/pkg/util/dump, by way of go-spew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from scheduler_core.api.quantity import stored_form
from scheduler_core.api.schema.go_types import fields_of, underlying

_NIL: Final = "<nil>"
_ZEROS: Final = {"string": "", "bool": "false", "int32": "0", "int64": "0"}
_FIRST_YEAR: Final = datetime(1, 1, 1, tzinfo=UTC)
_WORD_BITS: Final = 64
# The local time of a controller whose host names no other time zone.
_LOCATION: Final = (
    "(*time.Location){name:(string)UTC zone:([]time.zone)<nil> tx:([]time.zoneTrans)<nil> extend:(string)"
    " cacheStart:(int64)0 cacheEnd:(int64)0 cacheZone:(*time.zone)<nil>}"
)


def go_text(value: Any, type_name: str) -> str:
    """Return the text of a value of this Go type; None is a nil pointer, list or map, and else the zero value."""
    return f"({type_name})" + _text(value, type_name)


def _text(value: Any, type_name: str) -> str:
    """Return the text without the type before it."""
    if value is None:
        return _absent(type_name)
    if type_name.startswith("*"):
        return _text(value, type_name[1:])
    special = _SPECIAL.get(type_name)
    if special is not None:
        return special(value)
    if fields_of(type_name) is not None:
        return _struct(value, type_name)
    shape = underlying(type_name)
    if shape.startswith("[]"):
        return "[" + " ".join(_text(item, shape[2:]) for item in value) + "]" if value else _NIL
    if shape.startswith("map["):
        item = shape.partition("]")[2]
        return "map[" + " ".join(f"{key}:{_text(value[key], item)}" for key in sorted(value)) + "]" if value else _NIL
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@lru_cache(maxsize=1024)
def _absent(type_name: str) -> str:
    """Return the text of a value that a manifest does not have; most of a template are these."""
    if type_name.startswith("*") or underlying(type_name).startswith(("[]", "map[")):
        return _NIL
    special = _SPECIAL.get(type_name)
    if special is not None:
        return special(None)
    if fields_of(type_name) is not None:
        return _struct({}, type_name)
    return _ZEROS[underlying(type_name)]


def _struct(value: Mapping[str, Any], type_name: str) -> str:
    fields = fields_of(type_name)
    assert fields is not None
    found = (
        f"{field.name}:({field.type})"
        + _text(value.get(field.manifest_name) if field.manifest_name else value, field.type)
        for field in fields
    )
    return "{" + " ".join(found) + "}"


def _int_or_string(value: int | str | None) -> str:
    is_text = isinstance(value, str)
    number, text = (0, value) if is_text else (value or 0, "")
    return f"{{Type:(intstr.Type){int(is_text)} IntVal:(int32){number} StrVal:(string){text}}}"


def _quantity(value: str | None) -> str:
    form = stored_form(value) if value is not None else None
    if form is None:
        digits, scale, decimal, text, name = 0, 0, _NIL, "", ""
    elif form.is_compact:
        digits, scale, decimal, text, name = form.digits, form.scale, _NIL, form.text, form.format
    else:
        digits, scale, decimal, text, name = 0, 0, _decimal(form.digits, -form.scale), form.text, form.format
    return (
        f"{{i:(resource.int64Amount){{value:(int64){digits} scale:(resource.Scale){scale}}}"
        f" d:(resource.infDecAmount){{Dec:(*inf.Dec){decimal}}} s:(string){text} Format:(resource.Format){name}}}"
    )


def _decimal(digits: int, scale: int) -> str:
    words, rest = [], abs(digits)
    while rest:
        words.append(str(rest % 2**_WORD_BITS))
        rest >>= _WORD_BITS
    sign = "true" if digits < 0 else "false"
    return f"{{unscaled:(big.Int){{neg:(bool){sign} abs:(big.nat)[{' '.join(words)}]}} scale:(inf.Scale){scale}}}"


def _time(value: str | None) -> str:
    seconds = (datetime.fromisoformat(value) - _FIRST_YEAR) // timedelta(seconds=1) if value is not None else 0
    location = _LOCATION if value is not None else f"(*time.Location){_NIL}"
    return f"{{Time:(time.Time){{wall:(uint64)0 ext:(int64){seconds} loc:{location}}}}}"


def _fields_v1(value: Any) -> str:
    raw = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() if value is not None else b""
    return f"{{Raw:([]uint8){'[' + ' '.join(map(str, raw)) + ']' if raw else _NIL}}}"


# Types whose manifests are no maps of their fields.
_SPECIAL: Final[dict[str, Callable[[Any], str]]] = {
    "v1.Time": _time,
    "v1.FieldsV1": _fields_v1,
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
}
