"""An upload's files: unpacked within limits, their format told from their content, their text checked."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kschedweb.cluster.intake import openb
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 1 << 20


class Format(StrEnum):
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was received."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file ready to be parsed: UTF-8 for sure, without byte order mark."""

    name: str
    format: Format
    content: bytes


def open_text(upload: Upload, limits: Limits) -> TextFile:
    """Unpack and check one file; UnreadableError or UploadTooLargeError."""
    content = upload.content
    if content.startswith(GZIP_MAGIC):
        content = b"".join(_unpacked(upload, limits.unpacked_bytes))
    content = content.removeprefix(BYTE_ORDER_MARK)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            Place(upload.name), f"is not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}"
        ) from None
    return TextFile(upload.name, _format_of(upload.name, content), content)


def measure(upload: Upload, limits: Limits) -> tuple[Format, int]:
    """Format and unpacked size, without keeping what is unpacked; UploadTooLargeError past the limit."""
    content = upload.content
    if not content.startswith(GZIP_MAGIC):
        return _format_of(upload.name, content[:4096].removeprefix(BYTE_ORDER_MARK)), len(content)
    size, head = 0, b""
    for chunk in _unpacked(upload, limits.unpacked_bytes):
        head = head or chunk[:4096]
        size += len(chunk)
    return _format_of(upload.name, head.removeprefix(BYTE_ORDER_MARK)), size


def _unpacked(upload: Upload, limit: int) -> Iterator[bytes]:
    """The unpacked content in chunks; stops at the limit, whatever would still come."""
    place = Place(upload.name)
    total = 0
    rest = upload.content
    while rest:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                chunk = member.decompress(rest, _CHUNK)
            except zlib.error as error:
                raise UnreadableError(place, f"is not a sound gzip file: {error}") from None
            rest = member.unconsumed_tail
            total += len(chunk)
            if total > limit:
                raise UploadTooLargeError(place, f"unpacks to more than {limit:,} bytes", limit=limit)
            if chunk:
                yield chunk
            elif not rest and not member.eof:
                raise UnreadableError(place, "is not a sound gzip file: it ends too early")
        # Several members may follow each other, and zero bytes may fill up the end.
        rest = member.unused_data.lstrip(b"\0")


def _format_of(name: str, content: bytes) -> Format:
    start = content.lstrip()
    if start[:1] in (b"{", b"["):
        return Format.JSON
    first_line = start.partition(b"\n")[0].decode("utf-8", "replace").strip()
    if openb.is_header(first_line) or name.lower().removesuffix(".gz").endswith(".csv"):
        return Format.CSV
    return Format.YAML
