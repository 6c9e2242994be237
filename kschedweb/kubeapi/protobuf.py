"""Reviews in protobuf: kubectl asks what it may do in no other form.

Other kinds are not read from protobuf. Source: kubernetes v1.34.1, staging/src/k8s.io/api/{authentication,
authorization}/v1/generated.proto; the envelope of apimachinery/pkg/runtime/serializer/protobuf.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_MAGIC: Final = b"k8s\0"
_RESOURCE: Final = {
    1: "namespace", 2: "verb", 3: "group", 4: "version", 5: "resource", 6: "subresource", 7: "name",
}  # fmt: skip
_OTHER: Final = {1: "path", 2: "verb"}
# Fields of messages by number: a text, or a name and the fields of the message below it.
Fields = dict[int, Any]
_SPEC: Final[dict[str, Fields]] = {
    "SelfSubjectAccessReview": {1: ("resourceAttributes", _RESOURCE), 2: ("nonResourceAttributes", _OTHER)},
    "SubjectAccessReview": {1: ("resourceAttributes", _RESOURCE), 2: ("nonResourceAttributes", _OTHER), 3: "user"},
    "SelfSubjectRulesReview": {1: "namespace"},
    "SelfSubjectReview": {},
    "TokenReview": {1: "token"},
}


class ProtobufError(ValueError):
    """The content is not what it should be."""


def read_review(content: bytes, kind: str) -> dict[str, Any]:
    """The review of this kind; ProtobufError."""
    if not content.startswith(_MAGIC):
        raise ProtobufError("the body does not begin as protobuf of Kubernetes does")
    envelope = dict(_fields(content[len(_MAGIC) :]))
    raw = envelope.get(2, b"")
    spec = {} if kind == "SelfSubjectReview" else _message(_bytes(dict(_fields(_bytes(raw))).get(2, b"")), _SPEC[kind])
    return {"kind": kind, "spec": spec}


def _message(content: bytes, fields: Fields) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(content):
        field = fields.get(number)
        if field is None:
            continue
        if isinstance(field, str):
            try:
                found[field] = _bytes(value).decode()
            except UnicodeDecodeError:
                raise ProtobufError(f"{field} is no text") from None
        else:
            found[field[0]] = _message(_bytes(value), field[1])
    return found


def _fields(content: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a message, as they stand on the wire."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(content, at)
            yield number, value
            continue
        if wire == 2:
            length, at = _varint(content, at)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ProtobufError("the body is not protobuf")
        if at + length > len(content):
            raise ProtobufError("the body ends too early")
        yield number, content[at : at + length]
        at += length


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(content) and shift < 64:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ProtobufError("the body ends too early")


def _bytes(value: bytes | int) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a message was expected")
    return value
