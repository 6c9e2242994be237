"""An upload's files: unpacked within limits, their format told from their content, their text checked.

The web process only measures them, piece by piece; whoever takes their objects has them unpacked in memory.
"""

import codecs
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

from kschedweb.cluster.intake import openb
from kschedweb.cluster.intake.limits import Limits
from kschedweb.cluster.intake.problems import Place, UnreadableError, UploadTooLargeError

GZIP_MAGIC = b"\x1f\x8b"
HISTORY_MAGIC = b"KSCHED-HISTORY"  # of files that kschedweb.scheduling.past.files knows
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
TEMPLATE_MARK = b"{{"  # of Helm and others; nothing in JSON begins so
HISTORY_UNPACKS_TO = 10  # times its size, or more
PIECE_BYTES = 1 << 16
_UNPACKED_PIECE = 1 << 20
_HEAD_BYTES = 4096
_NAME_LENGTH = 1000
# Around each container's log in what `kubectl cluster-info dump` prints.
_LOG_MARK = b"==== START logs for container "
_LOG_BEGINS = re.compile(rb"^==== START (logs for container [^\n]*?) ====\r?$", re.MULTILINE)


class Format(StrEnum):
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Received:
    """A file as it came, on disk or in memory; `size` in bytes."""

    name: str
    file: BinaryIO
    size: int

    @classmethod
    def of(cls, name: str, content: bytes) -> "Received":
        return cls(name, io.BytesIO(content), len(content))

    def pieces(self, size: int = PIECE_BYTES) -> Iterator[bytes]:
        """The content from its beginning."""
        self.file.seek(0)
        while piece := self.file.read(size):
            yield piece

    @property
    def is_history(self) -> bool:
        """Whether it is no file of objects, but a history with all that was decided in it."""
        return next(self.pieces(), b"").startswith(HISTORY_MAGIC)

    def upload(self) -> "Upload":
        return Upload(self.name, b"".join(self.pieces()))


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in memory, packed or not."""

    name: str
    content: bytes

    @property
    def is_history(self) -> bool:
        """As of what was received."""
        return self.content.startswith(HISTORY_MAGIC)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file ready to be parsed: UTF-8 for sure, without byte order mark and logs of containers, which are counted."""

    name: str
    format: Format
    content: bytes
    logs: int = 0


def unpacked(upload: Upload, limits: Limits) -> bytes:
    """The content without its gzip; UnreadableError or UploadTooLargeError."""
    if not upload.content.startswith(GZIP_MAGIC):
        return upload.content
    found = io.BytesIO()
    for piece in _unpacked(upload.name, _cut(upload.content), limits):
        found.write(piece)
    return found.getvalue()


def text_of(name: str, content: bytes) -> TextFile:
    """Check one unpacked file; UnreadableError."""
    content = _from_utf16(name, content).removeprefix(BYTE_ORDER_MARK)
    _check_utf8(name, content)
    format_ = _format_of(name, content)
    logs = 0
    if format_ is not Format.CSV and _LOG_MARK in content:
        content, logs = _without_logs(content)
        format_ = _format_of(name, content)
    return TextFile(name, format_, content, logs)


def shown(name: str) -> str:
    """A file's name as it can be stored and sent, whatever bytes it was made of."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)[:_NAME_LENGTH]


def measure(received: Received, limits: Limits) -> tuple[Format, int]:
    """Format and unpacked size, without keeping what is unpacked; UploadTooLargeError past the limit.

    Of an unsound gzip file it is as much as can be unpacked: whoever reads it says what is wrong.
    """
    head = next(received.pieces(), b"")
    size = received.size
    if head.startswith(GZIP_MAGIC):
        head, size = b"", 0
        with suppress(UnreadableError):
            for piece in _unpacked(received.name, received.pieces(), limits):
                head = head or piece[:_HEAD_BYTES]
                size += len(piece)
    return _format_of(received.name, head[:_HEAD_BYTES].removeprefix(BYTE_ORDER_MARK)), size


def is_small(uploads: Iterable[Received], limits: Limits) -> bool:
    """Whether a request may take the objects of these files itself; the errors of `measure`."""
    if any(received.is_history for received in uploads):
        return sum(received.size for received in uploads) * HISTORY_UNPACKS_TO <= limits.sync_bytes
    sizes = [measure(received, limits) for received in uploads]
    of_yaml = sum(size for format_, size in sizes if format_ is Format.YAML)
    return of_yaml <= limits.sync_yaml_bytes and sum(size for _, size in sizes) <= limits.sync_bytes


def _unpacked(name: str, pieces: Iterable[bytes], limits: Limits) -> Iterator[bytes]:
    """The unpacked content in pieces; stops at the limit, whatever would still come.

    Several members may follow each other, and zero bytes may fill up the end. What a member leaves of a piece is
    copied: the number of members is bounded too.
    """
    place = Place(name)
    total = members = 0
    member = None
    for piece in pieces:
        rest = piece
        while True:
            if member is None:
                rest = rest.lstrip(b"\0") if members else rest
                if not rest:
                    break
                members += 1
                if members > limits.gzip_members:
                    limit = limits.gzip_members
                    raise UploadTooLargeError(place, f"has more than {limit:,} gzip members", limit=limit)
                member = zlib.decompressobj(wbits=31)
            try:
                unpacked = member.decompress(rest, _UNPACKED_PIECE)
            except zlib.error as error:
                raise UnreadableError(place, f"is not a sound gzip file: {error}") from None
            total += len(unpacked)
            if total > limits.unpacked_bytes:
                limit = limits.unpacked_bytes
                raise UploadTooLargeError(place, f"unpacks to more than {limit:,} bytes", limit=limit)
            if unpacked:
                yield unpacked
            if member.eof:
                rest, member = member.unused_data, None
            else:
                rest = member.unconsumed_tail
                if not rest and not unpacked:
                    break  # it wants more than this piece has
    if member is not None:
        raise UnreadableError(place, "is not a sound gzip file: it ends too early")


def _cut(content: bytes) -> Iterator[bytes]:
    return (content[start : start + PIECE_BYTES] for start in range(0, len(content), PIECE_BYTES))


def _without_logs(content: bytes) -> tuple[bytes, int]:
    """Leave logs of containers out, and in their places their lines: messages name those of the file."""
    parts, end, logs = [], 0, 0
    while (begin := _LOG_BEGINS.search(content, end)) is not None:
        mark = b"==== END " + begin[1] + b" ===="
        over = content.find(mark, begin.end())
        parts.append(content[end : begin.start()])
        logs, end = logs + 1, len(content) if over < 0 else over + len(mark)
        parts.append(b"\n" * content.count(b"\n", begin.start(), end))
    return b"".join([*parts, content[end:]]), logs


def _from_utf16(name: str, content: bytes) -> bytes:
    """As UTF-8 what begins with a mark of UTF-16, as what PowerShell writes does."""
    if not content.startswith(UTF16_MARKS):
        return content
    try:
        return content.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise UnreadableError(Place(name), f"is not sound UTF-16: {error.reason} at offset {error.start:,}") from None


def _check_utf8(name: str, content: bytes) -> None:
    """Decode piece by piece: the text itself is of no use here."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(content)
    for start in range(0, len(view), _UNPACKED_PIECE):
        piece = view[start : start + _UNPACKED_PIECE]
        try:
            decoder.decode(piece, final=start + len(piece) == len(view))
        except UnicodeDecodeError as error:
            # What was left of the piece before stands in front of this one.
            offset = start + len(piece) - len(error.object) + error.start
            raise UnreadableError(
                Place(name), f"is not UTF-8: byte 0x{content[offset]:02x} at offset {offset}"
            ) from None


def _format_of(name: str, content: bytes) -> Format:
    start = content[:_HEAD_BYTES].lstrip() or content.lstrip()[:_HEAD_BYTES]
    if start[:1] in (b"{", b"[") and not start.startswith(TEMPLATE_MARK):
        return Format.JSON
    first_line = start.partition(b"\n")[0].decode("utf-8", "replace").strip()
    if openb.is_header(first_line) or name.lower().removesuffix(".gz").endswith(".csv"):
        return Format.CSV
    return Format.YAML
