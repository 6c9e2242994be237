"""A history from a file, held in memory: what `stores.Store` asks for, without a database."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from operator import itemgetter
from typing import Any, BinaryIO

import orjson
from django.db import models

from kschedweb.cluster import follow
from kschedweb.cluster.models import Cluster
from kschedweb.common import packing
from kschedweb.scheduling.past import files
from kschedweb.scheduling.past.contents import Contents
from kschedweb.scheduling.past.files import Head, Part
from kschedweb.scheduling.past.objects import Objects
from kschedweb.scheduling.past.rows import cache_move
from kschedweb.scheduling.past.stores import Place
from kschedweb.traces.choices import LogKind, StepKind
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, EngineStep
from scheduler_core.api.times import microseconds
from scheduler_core.model import changes as core
from scheduler_core.model.effects import CacheMove

_BEST = Attempt._meta.get_field("best")
_CHANGE = ("kind", "namespace", "name", "operation", "rv", "object")
_TO_CORE = ("rv", "kind", "namespace", "name", "uid", "operation", "object")
_ENTRY = ("seq", "rv", "step", "kind", "pod_uid", "pod_key", "at", "payload")


class Held:
    """All of a file. HistoryFileError when it is not sound."""

    def __init__(self, number: int, file: BinaryIO) -> None:
        self._number = number
        sections = files.read(file)
        _, head = next(sections)
        self.head: Head = head
        contents = Contents(self.head, Objects(number))
        self._rows: dict[str, list[list[Any]]] = {part.name: [] for part in files.PARTS}
        for name, rows in sections:
            part = files.part_named(name)
            contents.check(part, rows)
            if part is files.CHANGES:
                _pack(part, "object", rows)
            self._rows[name] += rows
        contents.finish()
        self._settings = contents.settings
        draws = {(row["run"], row["step"]): row["draws"] for row in self._named(files.DRAWS)}
        self._steps = [
            EngineStep(cluster_id=number, draws=draws.get((row["run"], row["step"])), **row)
            for row in self._named(files.STEPS)
        ]
        self._places = [(step.run, step.step) for step in self._steps]
        self._checkpoints = [Checkpoint(cluster_id=number, **row) for row in self._named(files.CHECKPOINTS)]
        self._attempts = {
            row[files.ATTEMPTS.place("seq")]: place for place, row in enumerate(self._rows[files.ATTEMPTS.name])
        }
        self._orders = {row["digest"]: row["names"] for row in self._named(files.ORDERS)}
        self._configurations = {
            row["version"]: (row["text"], row["replayable"]) for row in self._named(files.CONFIGURATIONS)
        }

    def _named(self, part: Part) -> Iterator[dict[str, Any]]:
        return (_read(part, row) for row in self._rows[part.name])

    @contextmanager
    def reading(self) -> Iterator[None]:
        yield

    def cluster(self) -> Cluster:
        head = self.head
        return Cluster(
            pk=self._number,
            name=head.cluster,
            seed=head.seed,
            rv=head.end.rv,
            seq=head.end.seq,
            is_record=True,
            config_version=self._settings.config_version,
        )

    def now(self) -> int:
        return self.head.end.at_us

    def begins(self) -> tuple[int, int]:
        return (self.head.objects_rv, self.head.start.seq) if self.head.start.run else (0, 0)

    # -- steps -------------------------------------------------------------------------------------------------------

    def step(self, place: Place) -> EngineStep | None:
        at = bisect_right(self._places, place) - 1
        return self._steps[at] if at >= 0 and self._places[at] == place else None

    def steps_after(self, after: Place, until: Place | None, most: int) -> Sequence[EngineStep]:
        first = bisect_right(self._places, after)
        last = len(self._places) if until is None else bisect_right(self._places, until)
        return self._steps[first : min(last, first + most)]

    def first_step(self, until: Place, *, after: int | None = None) -> EngineStep | None:
        known = [
            step
            for step in self._steps
            if step.step == 1
            and step.kind != StepKind.APPLY
            and step.run <= until[0]
            and (step.began_from is not None or (step.run == 1 and step.seq_from == 0))
        ]
        if after is None:
            return known[-1] if known else None
        return next((step for step in known if step.run > after), None)

    def last_step(self, rv: int, seq: int) -> Place | None:
        ended = [step for step in self._steps if step.seq_to <= seq and step.log_to <= rv]
        last = max(ended, key=lambda step: (step.seq_to, step.run, step.step), default=None)
        return None if last is None else (last.run, last.step)

    def steps_around(self, at: datetime) -> tuple[tuple[int, int] | None, int | None]:
        time = microseconds(at)
        before = max(
            (step for step in self._steps if step.now_us <= time),
            key=lambda step: (step.now_us, step.run, step.step),
            default=None,
        )
        following = min(
            (step for step in self._steps if step.now_us > time),
            key=lambda step: (step.now_us, step.run, step.step),
            default=None,
        )
        return (
            None if before is None else (before.log_to, before.seq_to),
            None if following is None else following.log_to,
        )

    def cycles_between(self, after: Place, until: Place) -> int:
        first, last = bisect_right(self._places, after), bisect_right(self._places, until)
        return sum(step.cycles for step in self._steps[first:last])

    # -- checkpoints -------------------------------------------------------------------------------------------------

    def _with_engine(self) -> list[Checkpoint]:
        return [row for row in self._checkpoints if row.engine]

    def checkpoint_before(self, until: Place) -> Checkpoint | None:
        rows = [row for row in self._with_engine() if (row.run, row.step) <= until]
        return max(rows, key=_place, default=None)

    def checkpoint_after(self, after: Place) -> Checkpoint | None:
        rows = [row for row in self._with_engine() if (row.run, row.step) > after]
        return min(rows, key=_place, default=None)

    def last_checkpoint(self, rv: int, seq: int) -> Place | None:
        return max((_place(row) for row in self._checkpoints if row.seq <= seq and row.rv <= rv), default=None)

    def checkpoint_at(self, place: Place) -> tuple[int, datetime, int]:
        return next((row.seq, row.at, row.config_version) for row in self._checkpoints if _place(row) == place)

    def checkpoint_by(self, at: datetime) -> tuple[int, int] | None:
        row = max((row for row in self._checkpoints if row.at <= at), key=lambda row: row.seq, default=None)
        return None if row is None else (row.objects_rv, row.seq)

    def has_checkpoint_beyond(self, seq: int, run: int) -> bool:
        return any(row.seq > seq and row.run <= run for row in self._with_engine())

    def objects_before(self, rv: int) -> tuple[int, bytes] | None:
        rows = [row for row in self._checkpoints if row.objects_rv <= rv]
        row = max(rows, key=lambda row: (row.objects_rv, row.seq), default=None)
        return None if row is None else (row.objects_rv, bytes(row.objects_packed))

    # -- the logs ----------------------------------------------------------------------------------------------------

    def _changed(self, rv: int, until: int) -> list[list[Any]]:
        """Entries are numbered without gaps."""
        first = self.head.start.rv
        return self._rows[files.CHANGES.name][max(0, rv - first) : max(0, until - first)]

    def changes(self, rv: int, until: int) -> Sequence[core.Change]:
        if rv < self.head.start.rv or until > self.head.end.rv:
            raise follow.LogClearedError(f"the file has the changes from {self.head.start.rv} to {self.head.end.rv}")
        places = [files.CHANGES.place(name) for name in _TO_CORE]
        found = (follow.change_of(*(row[place] for place in places)) for row in self._changed(rv, until))
        return [change for change in found if change is not None]

    def objects_changed(self, rv: int, until: int) -> Sequence[tuple[str, str, str, str, int, bytes]]:
        if rv < self.head.start.rv:
            return []
        places = [files.CHANGES.place(name) for name in _CHANGE]
        return [tuple(row[place] for place in places) for row in self._changed(rv, until)]

    def changed_by(self, rv: int, until: int, at: datetime) -> int | None:
        number, made = files.CHANGES.place("rv"), files.CHANGES.place("at")
        return max((row[number] for row in self._changed(rv, until) if row[made] <= at), default=None)

    def changed_at(self, rv: int) -> datetime | None:
        rows = self._changed(rv - 1, rv)
        return rows[-1][files.CHANGES.place("at")] if rows else None

    def changed_first(self) -> datetime | None:
        rows = self._rows[files.CHANGES.name]
        return rows[0][files.CHANGES.place("at")] if rows else None

    def entries(self, seq: int, until: int) -> Sequence[tuple[Any, ...]]:
        first = self.head.start.seq
        places = [files.LOG.place(name) for name in _ENTRY]
        rows = self._rows[files.LOG.name][max(0, seq - first) : max(0, until - first)]
        return [tuple(row[place] for place in places) for row in rows]

    def cache_moves(self, uids: Collection[str], seq: int) -> Mapping[str, list[tuple[int, CacheMove]]]:
        wanted = frozenset(uids)
        number, kind, uid = (files.LOG.place(name) for name in ("seq", "kind", "pod_uid"))
        found: dict[str, list[tuple[int, CacheMove]]] = {}
        for row in self._rows[files.LOG.name]:
            if row[number] <= seq and row[kind] == LogKind.CACHE and row[uid] in wanted:
                entry = EngineLog(**_read(files.LOG, row))
                found.setdefault(row[uid], []).append((row[number], cache_move(entry)))
        return found

    # -- what they refer to ------------------------------------------------------------------------------------------

    def attempts(self, seqs: Collection[int], columns: Sequence[str]) -> Sequence[tuple[Any, ...]]:
        rows = self._rows[files.ATTEMPTS.name]
        places = [files.ATTEMPTS.place(name) for name in columns]
        found = (self._attempts.get(seq) for seq in sorted(seqs))
        return [tuple(rows[at][place] for place in places) for at in found if at is not None]

    def attempts_before(self, seqs: Mapping[str, int]) -> Mapping[str, tuple[int, int, str]]:
        names = ("pod_uid", "seq", "attempt", "node_name")
        uid, *told = (files.ATTEMPTS.place(name) for name in names)
        made = sorted(
            ((row[told[0]], row) for row in self._rows[files.ATTEMPTS.name] if row[uid] in seqs), key=itemgetter(0)
        )
        return {row[uid]: tuple(row[place] for place in told) for seq, row in made if seq <= seqs[row[uid]]}

    def attempt(self, seq: int) -> Attempt | None:
        place = self._attempts.get(seq)
        if place is None:
            return None
        return Attempt(cluster_id=self._number, **_read(files.ATTEMPTS, self._rows[files.ATTEMPTS.name][place]))

    def last_attempt(self, namespace: str, name: str) -> Attempt | None:
        """The last one at a pod of that name, with the one that nominated it (`traces.selectors.attempts`)."""
        of, named, number = (files.ATTEMPTS.place(each) for each in ("namespace", "name", "seq"))
        rows = self._rows[files.ATTEMPTS.name]
        seqs = sorted(row[number] for row in rows if (row[of], row[named]) == (namespace, name))
        found = [row for row in map(self.attempt, seqs) if row is not None]
        if not found:
            return None
        last = found[-1]
        before = [row for row in found[:-1] if row.pod_uid == last.pod_uid and row.nominated_node_name is not None]
        vars(last)["nominated_by"] = None
        if before and last.tried_first and last.node_name == before[-1].nominated_node_name:
            vars(last)["nominated_by"] = {
                "seq": before[-1].seq,
                "attempt": before[-1].last_attempt,
                "num_victims": (before[-1].preemption or {}).get("num_victims", 0),
            }
        return last

    def node_names(self, order: str) -> bytes | None:
        return self._orders.get(order)

    def configuration(self, version: int) -> tuple[str, bool] | None:
        return self._configurations.get(version)


def _read(part: Part, row: Sequence[Any]) -> dict[str, Any]:
    """A row as its model has it."""
    found: dict[str, Any] = {}
    for column, value in zip(part.columns, row, strict=True):
        found[column.name] = orjson.loads(value) if column.is_json and value is not None else value
    if part is files.ATTEMPTS:
        found["best"] = _from_db(_BEST, found["best"])
    return found


def _from_db(field: Any, value: Any) -> Any:
    return field.from_db_value(value, None, None)


def _pack(part: Part, name: str, rows: list[list[Any]]) -> None:
    place = part.place(name)
    for row in rows:
        row[place] = packing.compressed_object(row[place])


def _place(row: models.Model) -> Place:
    assert isinstance(row, Checkpoint)
    return row.run, row.step
