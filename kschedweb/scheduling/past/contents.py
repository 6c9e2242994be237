"""What has to hold between the parts of a file, whoever takes them: positions without gaps, a beginning and an end."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import msgspec
import orjson
import zstandard

from kschedweb import views
from kschedweb.cluster.adapters import CONFIDENTIAL_KINDS
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.past import files
from kschedweb.scheduling.past.files import Head, HistoryFileError, Part
from kschedweb.scheduling.past.objects import Objects, unpacked
from scheduler_core import typed

MOST = 7_258_118_400_000_000  # of a position, and the last time that there is, in microseconds: 2200-01-01


@dataclass(slots=True)
class Contents:
    """Follows a file section by section. `objects` are those it begins with, once they have come."""

    head: Head
    objects: Objects
    settings: views.Cluster = field(init=False)
    _rv: int = field(init=False)
    _seq: int = field(init=False)
    _step: tuple[int, int] = field(init=False)
    _versions: set[int] = field(default_factory=set)
    _has_start: bool = False

    def __post_init__(self) -> None:
        head, start, end = self.head, self.head.start, self.head.end
        places = (*msgspec.structs.astuple(start), *msgspec.structs.astuple(end))
        if not all(0 <= number <= MOST for number in (*places, head.step_rv, head.step_seq, head.epoch)):
            raise HistoryFileError(files.HEAD, "a position is out of range")
        if start.rv > end.rv or start.seq > end.seq or (start.run, start.step) > (end.run, end.step):
            raise HistoryFileError(files.HEAD, "it ends before it begins")
        if not start.rv <= head.objects_rv <= end.rv:
            raise HistoryFileError(files.HEAD, "the objects it begins with are of another time")
        try:
            self.settings = typed.convert(head.settings, views.Cluster)
        except msgspec.ValidationError as error:
            raise HistoryFileError(files.HEAD, f"the settings of the cluster cannot be read: {error}") from None
        self._rv, self._seq, self._step = start.rv, start.seq, (start.run, start.step)
        self._has_start = not start.run

    def check(self, part: Part, rows: list[list[Any]]) -> None:
        """HistoryFileError for rows that do not follow those before."""
        if part is files.CHECKPOINTS:
            _check_packed(part, "engine", rows)
            self._begin(rows)
        elif not self._has_start:
            raise HistoryFileError(files.CHECKPOINTS.name, "that of the beginning is missing")
        elif part is files.CONFIGURATIONS:
            self._versions |= {row[part.place("version")] for row in rows}
        elif part is files.CHANGES:
            self._rv = _dense(part, "rv", rows, self._rv)
        elif part is files.LOG:
            self._seq = _dense(part, "seq", rows, self._seq)
        elif part in (files.BINDINGS, files.EVICTIONS):
            status = part.place("status")
            if any(row[status] == WorkStatus.PENDING for row in rows):
                raise HistoryFileError(part.name, "something is still to be done")
        elif part is files.DRAWS:
            _check_packed(part, "draws", rows)
        elif part is files.STEPS:
            _check_packed(part, "began_from", rows)
            run, step = part.place("run"), part.place("step")
            for row in rows:
                if (row[run], row[step]) <= self._step:
                    raise HistoryFileError(part.name, f"step {row[run]}.{row[step]} does not follow the one before it")
                self._step = row[run], row[step]

    def finish(self) -> None:
        """HistoryFileError where something is missing at the end."""
        end = self.head.end
        if not self._has_start:
            raise HistoryFileError(files.CHECKPOINTS.name, "that of the beginning is missing")
        for part, reached, wanted in (
            (files.CHANGES, self._rv, end.rv),
            (files.LOG, self._seq, end.seq),
            (files.STEPS, self._step, (end.run, end.step)),
        ):
            if reached != wanted:
                raise HistoryFileError(part.name, f"ends at {reached}, expected {wanted}")
        if self.settings.config_version not in self._versions:
            raise HistoryFileError(files.CONFIGURATIONS.name, "the one in force is missing")

    def _begin(self, rows: list[list[Any]]) -> None:
        """The first checkpoint is that of the beginning, unless the beginning is that of all."""
        if self._has_start or not rows:
            return
        part, start = files.CHECKPOINTS, self.head.start
        names = ("run", "step", "rv", "seq", "objects_rv")
        wanted = [start.run, start.step, start.rv, start.seq, self.head.objects_rv]
        if [rows[0][part.place(name)] for name in names] != wanted:
            raise HistoryFileError(part.name, "the first one is not that of the beginning")
        packed = io.BytesIO(rows[0][part.place("objects_packed")])
        try:
            text = zstandard.ZstdDecompressor().stream_reader(packed).read(files.MOST_CHECKPOINT_BYTES)
            self.objects = unpacked(self.objects.cluster_id, self.head.objects_rv, text)
        except (zstandard.ZstdError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HistoryFileError(part.name, f"its objects cannot be read: {error}") from None
        if any(kind in CONFIDENTIAL_KINDS for kind, _, _ in self.objects.texts):
            raise HistoryFileError(part.name, "it has confidential objects")
        self._has_start = True


def _check_packed(part: Part, name: str, rows: list[list[Any]]) -> None:
    """What is unpacked when it is needed says how large it gets, and that is not too much."""
    for row in rows:
        packed = row[part.place(name)]
        try:
            size = zstandard.get_frame_parameters(packed).content_size if packed else 0
        except zstandard.ZstdError as error:
            raise HistoryFileError(part.name, f"{name} cannot be read: {error}") from None
        if size > files.MOST_CHECKPOINT_BYTES:
            raise HistoryFileError(part.name, f"{name} unpacks to too much, or to nobody knows how much")


def blot(row: list[Any]) -> None:
    """Leave of the change of a confidential object only that there was one: its place in the log is needed."""
    for name in ("namespace", "name", "uid", "actor"):
        row[files.CHANGES.place(name)] = ""
    nobody = {"apiVersion": "v1", "kind": row[files.CHANGES.place("kind")], "metadata": {"name": "", "uid": ""}}
    row[files.CHANGES.place("object")] = orjson.dumps(nobody)


def _dense(part: Part, key: str, rows: list[list[Any]], last: int) -> int:
    """The position of the last row, where none is missing."""
    place = part.place(key)
    for row in rows:
        last += 1
        if row[place] != last:
            raise HistoryFileError(part.name, f"entry {last} is missing")
    return last
