"""Messages of protobuf as they stand on the wire: numbered fields of four kinds.

Source: the decoders that go-to-protobuf generates, whose messages these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
_TOO_SHORT: Final = "unexpected EOF"
Wire = bytes | int
# How many fields may still be read of the body that is being read: what is small on the wire may be large in memory.
MOST_FIELDS: Final = 200_000
_left: ContextVar[list[int]] = ContextVar("fields left")


class ProtobufError(ValueError):
    """The content is not what it should be. `kind` and `version` are those of the envelope, when it could be read."""

    def __init__(self, message: str, version: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.version = version
        self.kind = kind


def begin() -> None:
    """Count the fields of a new body from here on."""
    _left.set([MOST_FIELDS])


def fields(content: bytes, name: str) -> Iterator[tuple[int, int, Wire]]:
    """(number, wire type, value) of the fields of a message; groups, which nobody writes, are passed over."""
    at, end, left = 0, len(content), _left.get()
    while at < end:
        left[0] -= 1
        if left[0] < 0:
            raise ProtobufError(f"the body has more than {MOST_FIELDS} fields")
        tag, at = varint(content, at)
        number, wire = signed(tag >> 3, 32), tag & 7
        if wire == GROUP_END:
            raise ProtobufError(f"proto: {name}: wiretype end group for non-group")
        if number <= 0:
            raise ProtobufError(f"proto: {name}: illegal tag {number} (wire type {tag})")
        if wire == VARINT:
            value, at = varint(content, at)
            yield number, wire, value
        elif wire == GROUP:
            yield number, wire, b""  # a known field is refused here
            at = _after_group(content, at)
        else:
            start, at = _span(content, at, wire)
            yield number, wire, content[start:at]


def _after_group(content: bytes, at: int) -> int:
    depth = 1
    while depth:
        tag, at = varint(content, at)
        wire = tag & 7
        if wire == VARINT:
            _, at = varint(content, at)
        elif wire == GROUP:
            depth += 1
        elif wire == GROUP_END:
            depth -= 1
        else:
            _, at = _span(content, at, wire)
    return at


def _span(content: bytes, at: int, wire: int) -> tuple[int, int]:
    """Where a value that is no varint begins and ends."""
    if wire == BYTES:
        length, at = varint(content, at)
        if length >> 63:
            raise ProtobufError("proto: negative length found during unmarshaling")
    elif wire in (FIXED64, FIXED32):
        length = 8 if wire == FIXED64 else 4
    else:
        raise ProtobufError(f"proto: illegal wireType {wire}")
    if at + length > len(content):
        raise ProtobufError(_TOO_SHORT)
    return at, at + length


def varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    end = len(content)
    while shift < 64:
        if at >= end:
            raise ProtobufError(_TOO_SHORT)
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise ProtobufError("proto: integer overflow")


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def written_varint(value: int) -> bytes:
    """The number, which is not negative, as it stands on the wire."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
