"""The OpenAPI document of version 2 in protobuf, the one form that older kubectl reads to validate and to explain.

Source: the messages of github.com/google/gnostic-models v0.7.0, openapiv2/OpenAPIv2.proto. Values of extensions and of
enumerations are texts of YAML there, of which JSON is a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import orjson

from kschedweb.kubeapi.wire import BYTES, VARINT, written_varint

Document = dict[str, Any]
Encode = Callable[[Any], bytes]


def encoded(document: Document) -> bytes:
    """The document as a message; KeyError for what no message has a field for."""
    return _message(
        {
            "swagger": (1, str.encode),
            "info": (2, lambda info: _message({"title": (1, str.encode), "version": (2, str.encode)}, info)),
            "paths": (8, lambda paths: _named(2, paths, _path_item)),
            "definitions": (9, lambda schemas: _named(1, schemas, _schema)),
        },
        document,
    )


def _path_item(item: Document) -> bytes:
    numbers = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
    return _message({name: (number, _operation) for name, number in numbers.items()}, item)


def _operation(operation: Document) -> bytes:
    return _message(_OPERATION, operation, extensions=13)


def _parameter(parameter: Document) -> bytes:
    """As one of the parameters of an operation: a choice of kinds in a choice, and that in another."""
    if parameter["in"] == "body":
        chosen = _field(1, _message(_BODY, parameter, extensions=6))
    else:
        number, shift = {"query": (3, 1), "path": (4, 0)}[parameter["in"]]  # the first may be empty, by a field 5
        fields = {name: (number + (shift if number > 4 else 0), encode) for name, (number, encode) in _OTHER.items()}
        chosen = _field(2, _field(number, _message(fields, parameter, extensions=22 + shift)))
    return _field(1, chosen)


def _responses(responses: Document) -> bytes:
    return _named(1, responses, lambda response: _field(1, _message(_RESPONSE, response, extensions=5)))


def _schema(schema: Document) -> bytes:
    return _message(_SCHEMA, schema, extensions=31)


def _message(fields: dict[str, tuple[int, Encode]], value: Document, extensions: int = 0) -> bytes:
    """A message; what begins with `x-` are its `extensions`. A list is a field that is repeated."""
    written = []
    for name, item in value.items():
        if name.startswith("x-") and extensions:
            written.append(_field(extensions, _field(1, name.encode()) + _field(2, _any(item))))
            continue
        number, encode = fields[name]
        if encode is _bool:
            written.append(written_varint(number << 3 | VARINT) + written_varint(int(item)))
        else:
            each = item if isinstance(item, list) and encode is not _type else [item]
            written += [_field(number, encode(one)) for one in each]
    return b"".join(written)


def _named(number: int, values: Document, encode: Encode) -> bytes:
    return b"".join(_field(number, _field(1, name.encode()) + _field(2, encode(item))) for name, item in values.items())


def _field(number: int, content: bytes) -> bytes:
    return written_varint(number << 3 | BYTES) + written_varint(len(content)) + content


def _any(value: Any) -> bytes:
    return _field(2, orjson.dumps(value))


def _bool(value: Any) -> bytes:
    raise NotImplementedError("a number and no content: see _message")


def _type(value: str | Iterable[str]) -> bytes:
    names = [value] if isinstance(value, str) else value
    return b"".join(_field(1, name.encode()) for name in names)


def _additional(value: Document) -> bytes:
    return _field(1, _schema(value))


_SCHEMA: Final[dict[str, tuple[int, Encode]]] = {
    "$ref": (1, str.encode),
    "format": (2, str.encode),
    "description": (4, str.encode),
    "required": (19, str.encode),
    "enum": (20, _any),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _additional),
    "properties": (25, lambda properties: _named(1, properties, _schema)),
}
_BODY: Final[dict[str, tuple[int, Encode]]] = {
    "description": (1, str.encode),
    "name": (2, str.encode),
    "in": (3, str.encode),
    "required": (4, _bool),
    "schema": (5, _schema),
}
# Of a parameter of the path; one of the query has a field more.
_OTHER: Final[dict[str, tuple[int, Encode]]] = {
    "required": (1, _bool),
    "in": (2, str.encode),
    "description": (3, str.encode),
    "name": (4, str.encode),
    "type": (5, str.encode),
    "format": (6, str.encode),
    "uniqueItems": (19, _bool),
    "enum": (20, _any),
}
_RESPONSE: Final[dict[str, tuple[int, Encode]]] = {
    "description": (1, str.encode),
    "schema": (2, _additional),
}
_OPERATION: Final[dict[str, tuple[int, Encode]]] = {
    "tags": (1, str.encode),
    "summary": (2, str.encode),
    "description": (3, str.encode),
    "operationId": (5, str.encode),
    "produces": (6, str.encode),
    "consumes": (7, str.encode),
    "parameters": (8, _parameter),
    "responses": (9, _responses),
}
