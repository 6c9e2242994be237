"""A moment, or a span of history, as a file: parts of rows, each compressed and with a checksum. Nothing here asks a
database.

    KSCHED-HISTORY 1            the head line: format and version
    {"part": "changes", …}      a line before each section: its part, rows, sizes and SHA-256
    <zstd of MessagePack>       an array of rows, each an array of the values of its part's columns
    …                           parts in the order of `PARTS`, each in as many sections as it takes
    {"part": "end", …}          how many rows each part has, so that nothing can be left out

Bytes that are wrong are a HistoryFileError that names the part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, BinaryIO

import msgspec
import orjson
import zstandard
from django.contrib.postgres.fields import ArrayField
from django.db import models

from kschedweb.cluster.intake.files import HISTORY_MAGIC
from kschedweb.cluster.models import Change, ClockReading, Event, SchedulerConfigVersion
from kschedweb.common.errors import ApplicationError
from kschedweb.scheduling.models import Binding, Eviction
from kschedweb.traces.models import (
    Attempt,
    Checkpoint,
    EngineLog,
    EngineStep,
    NodeOrder,
    QueueState,
    ThroughputCount,
)

VERSION = 1
LEVEL = 6
MOST_HEADER_BYTES = 1_000
# Unpacked: a section, the file, and either half of a checkpoint, which is packed once more.
MOST_SECTION_BYTES = 64 << 20
MOST_UNPACKED_BYTES = 2 << 30
MOST_CHECKPOINT_BYTES = 1 << 30
END = "end"


class HistoryFileError(ApplicationError):
    """The file is not a sound history; `part` says where in it."""

    code = "history_unreadable"

    def __init__(self, part: str, detail: str) -> None:
        super().__init__(f"the history cannot be used: {part}: {detail}", part=part)
        self.part = part


class Place(msgspec.Struct, frozen=True):
    """A position of both logs, the step that ended there (0.0: none had) and the time of it, in microseconds."""

    rv: int
    seq: int
    run: int
    step: int
    at_us: int


class Head(msgspec.Struct, frozen=True):
    """What a file is of. `objects_rv`: of the objects it begins with; `settings`: the cluster's at the end.

    `step_rv` and `step_seq` are those of the cluster's row, as they were at the end.
    """

    made_at_us: int
    cluster: str
    seed: int
    start: Place
    end: Place
    objects_rv: int
    step_rv: int
    step_seq: int
    digest: bytes  # of the last step
    epoch: int
    config_version: int  # the engine's at the end
    settings: dict[str, Any]
    cycles: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a part: `kind` is the type of its values, JSON being text."""

    name: str
    kind: type
    is_null: bool
    is_json: bool = False
    choices: frozenset[str] = frozenset()

    def problem(self, value: Any) -> str:
        """What is wrong with a value; empty: nothing."""
        if value is None:
            return "" if self.is_null else "is missing"
        if type(value) is not self.kind:
            return f"is {type(value).__name__}, expected {self.kind.__name__}"
        if self.choices and value not in self.choices:
            return f"is {value!r}, expected one of {', '.join(sorted(self.choices))}"
        if isinstance(value, datetime) and value.tzinfo is None:
            return "is a time without a zone"
        if isinstance(value, list) and not all(type(each) is str for each in value):
            return "is expected to be a list of texts"
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows of one table, in order of `key`."""

    name: str
    model: type[models.Model]
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    def selected(self, names: Collection[str] = ()) -> str:
        """The columns, or those of these names in their order, as SQL reads them."""
        columns = [self.columns[self.place(name)] for name in names] or self.columns
        return ", ".join(f"{each.name}::text" if each.is_json else each.name for each in columns)

    def place(self, name: str) -> int:
        return self.names.index(name)

    def check(self, rows: Any) -> None:
        """HistoryFileError for rows that are none of this part."""
        if not isinstance(rows, list):
            raise HistoryFileError(self.name, "has no rows")
        for row in rows:
            if not isinstance(row, list) or len(row) != len(self.columns):
                raise HistoryFileError(self.name, f"has a row without its {len(self.columns)} columns")
            for column, value in zip(self.columns, row, strict=True):
                if problem := column.problem(value):
                    raise HistoryFileError(self.name, f"{column.name} {problem}")


def _column(field: models.Field[Any, Any]) -> Column:
    name = str(field.column)
    if isinstance(field, ArrayField):
        return Column(name, list, field.null)
    if isinstance(field, models.JSONField):
        return Column(name, str, field.null, is_json=True)
    kind: type
    if isinstance(field, models.BooleanField):
        kind = bool
    elif isinstance(field, models.BinaryField):
        kind = bytes
    elif isinstance(field, models.DateTimeField):
        kind = datetime
    elif isinstance(field, models.IntegerField):
        kind = int
    else:
        assert isinstance(field, models.CharField | models.TextField), field
        kind = str
    return Column(name, kind, field.null, choices=frozenset(str(key) for key, _ in field.choices or ()))


def _part(name: str, model: type[models.Model], *, only: Sequence[str] = (), without: Sequence[str] = ()) -> Part:
    left_out = ("id", "cluster_id", *without)
    fields = [field for field in model._meta.concrete_fields if field.column not in left_out]
    return Part(name, model, tuple(_column(field) for field in fields if not only or field.column in only))


# In the order in which they stand in a file. Node orders come before the attempts that refer to them. Draws are columns
# of steps that only a history without names has.
PARTS = (
    _part("checkpoints", Checkpoint),
    _part("configurations", SchedulerConfigVersion),
    _part("clock", ClockReading),
    _part("changes", Change),
    _part("steps", EngineStep, without=("draws",)),
    _part("draws", EngineStep, only=("run", "step", "draws")),
    _part("log", EngineLog),
    _part("orders", NodeOrder),
    _part("attempts", Attempt),
    _part("bindings", Binding),
    _part("evictions", Eviction),
    _part("events", Event),
    _part("queue", QueueState),
    _part("throughput", ThroughputCount),
)
CHECKPOINTS, CONFIGURATIONS, CLOCK, CHANGES, STEPS, DRAWS, LOG, ORDERS, ATTEMPTS, BINDINGS, EVICTIONS = PARTS[:11]
EVENTS, QUEUE, THROUGHPUT = PARTS[11:]
HEAD = "head"
_ORDER = {name: place for place, name in enumerate((HEAD, *(part.name for part in PARTS), END))}


@cache
def part_named(name: str) -> Part:
    return next(part for part in PARTS if part.name == name)


class _Section(msgspec.Struct, forbid_unknown_fields=True):
    part: str
    rows: int
    unpacked: int
    size: int
    sha256: str


_SECTION = msgspec.json.Decoder(_Section)
_CONTENTS: dict[str, msgspec.msgpack.Decoder[Any]] = {
    HEAD: msgspec.msgpack.Decoder(Head),
    END: msgspec.msgpack.Decoder(dict[str, int]),
}
_ROWS = msgspec.msgpack.Decoder(list[Any])


# -- writing ---------------------------------------------------------------------------------------------------------


class Writer:
    """Makes the bytes of a file, section by section."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)

    def head(self, head: Head) -> bytes:
        return HISTORY_MAGIC + b" %d\n" % VERSION + self._section(HEAD, 1, msgspec.msgpack.encode(head))

    def rows(self, part: Part, rows: Sequence[Sequence[Any]]) -> bytes:
        """A section of a part."""
        return self._section(part.name, len(rows), msgspec.msgpack.encode(rows))

    def end(self) -> bytes:
        return self._section(END, 0, msgspec.msgpack.encode(self._rows))

    def _section(self, part: str, rows: int, unpacked: bytes) -> bytes:
        content = self._compressor.compress(unpacked)
        self._rows[part] = self._rows.get(part, 0) + rows
        told = _Section(part, rows, len(unpacked), len(content), _checksum(part, rows, len(unpacked), content))
        return msgspec.json.encode(told) + b"\n" + content


def _checksum(part: str, rows: int, unpacked: int, content: bytes) -> str:
    """Of the content and of what the line before it says."""
    return hashlib.sha256(f"{part} {rows} {unpacked}\n".encode() + content).hexdigest()


# -- reading ---------------------------------------------------------------------------------------------------------


def is_history(start: bytes) -> bool:
    """Whether a file that begins so is one of these, of whatever version."""
    return start.startswith(HISTORY_MAGIC)


def read(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """(part, its rows) of each section, the head first, all checked; HistoryFileError.

    The end has been read and everything was there only when this is over.
    """
    _check_version(file.readline(MOST_HEADER_BYTES))
    counted: dict[str, int] = {}
    last, total = HEAD, 0
    while True:
        section, content = _read_section(file, last)
        if section.part != HEAD and not counted:
            raise HistoryFileError(section.part, "stands where the head should")
        if _ORDER[section.part] < _ORDER[last]:
            raise HistoryFileError(section.part, f"stands behind {last}")
        last = section.part
        total += section.unpacked
        if total > MOST_UNPACKED_BYTES:
            raise HistoryFileError(last, f"the file unpacks to more than {MOST_UNPACKED_BYTES:,} bytes")
        decoded = _decoded(section, content)
        if section.part == END:
            if decoded != counted:
                missing = next((name for name in (*counted, *decoded) if decoded.get(name) != counted.get(name)), END)
                raise HistoryFileError(missing, "rows are missing or doubled")
            if file.read(1):
                raise HistoryFileError(END, "something stands behind it")
            return
        counted[last] = counted.get(last, 0) + section.rows
        if section.part == HEAD:
            if counted[HEAD] > 1:
                raise HistoryFileError(HEAD, "stands there twice")
            yield HEAD, decoded
        else:
            part_named(section.part).check(decoded)
            yield section.part, decoded


def _check_version(line: bytes) -> None:
    words = line.split()
    if len(words) != 2 or words[0] != HISTORY_MAGIC or not words[1].isdigit():
        raise HistoryFileError("head line", "is none of a history")
    if int(words[1]) != VERSION:
        raise HistoryFileError(
            "head line", f"this is version {int(words[1])} of the format, and version {VERSION} can be read here"
        )


def _read_section(file: BinaryIO, last: str) -> tuple[_Section, bytes]:
    line = file.readline(MOST_HEADER_BYTES)
    if not line:
        raise HistoryFileError(last, "the file ends after it, too early")
    try:
        section = _SECTION.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise HistoryFileError(last, "what stands behind it is no section") from None
    if section.part not in _ORDER:
        raise HistoryFileError(last, f"the section behind it is of an unknown part, {section.part[:40]!r}")
    if min(section.rows, section.size) < 0 or not 0 < section.unpacked <= MOST_SECTION_BYTES:
        raise HistoryFileError(section.part, "a section of it has an impossible size")
    content = file.read(section.size) if section.size <= MOST_SECTION_BYTES else b""
    if len(content) < section.size:
        raise HistoryFileError(section.part, "the file ends within it")
    if _checksum(section.part, section.rows, section.unpacked, content) != section.sha256:
        raise HistoryFileError(section.part, "its checksum is another: it has been changed or damaged")
    return section, content


def _decoded(section: _Section, content: bytes) -> Any:
    try:
        params = zstandard.get_frame_parameters(content)
        if params.content_size != section.unpacked:
            raise HistoryFileError(section.part, "unpacks to another size than it says")
        unpacked = zstandard.ZstdDecompressor().decompress(content, max_output_size=section.unpacked)
        decoded = _CONTENTS.get(section.part, _ROWS).decode(unpacked)
    except (zstandard.ZstdError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HistoryFileError(section.part, f"cannot be read: {error}") from None
    if isinstance(decoded, list) and len(decoded) != section.rows:
        raise HistoryFileError(section.part, "has another number of rows than it says")
    return decoded


def json_text(value: Any) -> str | None:
    """What a column of JSON has in a file."""
    return None if value is None else orjson.dumps(value).decode()
