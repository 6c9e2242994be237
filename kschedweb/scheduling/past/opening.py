"""A history from a file becomes that of a cluster of its own, in which nothing happens any more.

All is one transaction: of a file that is refused nothing is stored. The cluster must have been made for it: whatever an
engine has logged meanwhile of an empty cluster gives way.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import orjson
from django.db import DataError, IntegrityError, transaction

from kschedweb import views
from kschedweb.cluster import adapters, state
from kschedweb.cluster.adapters import CONFIDENTIAL_KINDS
from kschedweb.cluster.changes import Written
from kschedweb.cluster.choices import ClockMode, LifecycleMode, Operation, Pace
from kschedweb.cluster.intake.files import Upload
from kschedweb.cluster.models import ApiObject, Change, ClockReading, Cluster, Event, Node, Pod, SchedulerConfigVersion
from kschedweb.cluster.services import HistoryTaken
from kschedweb.cluster.state import Draft
from kschedweb.common import bulk, packing
from kschedweb.common.errors import ClusterGoneError, ConflictError
from kschedweb.scheduling import leases
from kschedweb.scheduling.models import Binding, EngineState, Eviction, HistoryProof, Lease
from kschedweb.scheduling.past import files
from kschedweb.scheduling.past.contents import Contents, blot
from kschedweb.scheduling.past.files import Head, HistoryFileError, Part
from kschedweb.scheduling.past.objects import Objects
from kschedweb.traces.models import (
    Attempt,
    Checkpoint,
    Comparison,
    EngineLog,
    EngineStep,
    NodeOrder,
    QueueState,
    ThroughputCount,
)
from scheduler_core.api.times import moment_of

# What an empty cluster may have: its settings in the log, and the steps of an engine that has seen nothing else.
_GIVES_WAY = (
    *(Change, ClockReading, SchedulerConfigVersion, EngineStep, EngineLog, Checkpoint, NodeOrder, QueueState),
    *(ThroughputCount, Event, HistoryProof, EngineState),
)
_HAS_LIVED = (Node, Pod, ApiObject, Attempt, Comparison, Binding, Eviction)
DRAFTS_AT_ONCE = 1_000


@dataclass(slots=True)
class Opened:
    """What a file brought: its head, how many rows of each part, how many objects of each kind there are at the end."""

    head: Head
    rows: Counter[str] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)


def history_open(*, cluster_id: int, file: BinaryIO) -> Opened:
    """Give the cluster the history of the file, within the caller's transaction.

    HistoryFileError; ConflictError when the cluster has a history already, ClusterGoneError.
    """
    with transaction.atomic():
        name = _make_way(cluster_id)
        sections = files.read(file)
        _, head = next(sections)
        opened = Opened(head)
        taker = _Taker(cluster_id, name, opened, Contents(head, Objects(cluster_id)), Objects(cluster_id))
        for part, rows in sections:
            taker.take(files.part_named(part), rows)
        taker.finish()
    return opened


def _make_way(cluster_id: int) -> str:
    """Lock out the scheduler for good, and drop what it has logged of an empty cluster; the cluster's name."""
    Lease.objects.filter(cluster_id=cluster_id).delete()
    leases.fence_raise(cluster_id=cluster_id, holder="")
    cluster = Cluster.objects.select_for_update().filter(pk=cluster_id).first()
    if cluster is None:
        raise ClusterGoneError(cluster_id)
    lived = next((model for model in _HAS_LIVED if model._base_manager.filter(cluster_id=cluster_id).exists()), None)
    if lived is not None or cluster.is_mirror or cluster.is_record:
        raise ConflictError(
            f"a history needs a new cluster: {cluster.name} has one of its own already", cluster=cluster_id
        )
    for model in _GIVES_WAY:
        model._base_manager.filter(cluster_id=cluster_id).delete()
    return cluster.name


@dataclass(slots=True)
class _Taker:
    """Writes sections as they come; `objects` are those of the end, once all changes have come."""

    cluster_id: int
    name: str
    opened: Opened
    contents: Contents
    objects: Objects
    configurations: dict[int, str] = field(default_factory=dict)

    def take(self, part: Part, rows: list[list[Any]]) -> None:
        """HistoryFileError for rows that do not follow those before, or that the tables refuse."""
        self.contents.check(part, rows)
        self.opened.rows[part.name] += len(rows)
        prepare = {
            files.CHECKPOINTS: self._checkpoints,
            files.CONFIGURATIONS: self._configurations,
            files.CHANGES: self._changes,
        }
        if part in prepare:
            prepare[part](part, rows)
        with _named(part.name):
            if part is files.DRAWS:
                self._draws(rows)
            else:
                bulk.copy_rows(part.table, ("cluster_id", *part.names), ([self.cluster_id, *row] for row in rows))

    def _draws(self, rows: list[list[Any]]) -> None:
        """Columns of steps that are there already."""
        runs, steps, draws = zip(*rows, strict=True) if rows else ((), (), ())
        bulk.execute(
            f"UPDATE {files.DRAWS.table} AS row SET draws = given.draws"
            " FROM unnest(%b::bigint[], %b::bigint[], %b::bytea[]) AS given (run, step, draws)"
            " WHERE row.cluster_id = %s AND row.run = given.run AND row.step = given.step",
            [list(runs), list(steps), list(draws), self.cluster_id],
        )

    def _checkpoints(self, part: Part, rows: list[list[Any]]) -> None:
        if self.opened.head.start.run:
            self.objects = self.contents.objects

    def _configurations(self, part: Part, rows: list[list[Any]]) -> None:
        version, text = part.place("version"), part.place("text")
        self.configurations |= {row[version]: row[text] for row in rows}

    def _changes(self, part: Part, rows: list[list[Any]]) -> None:
        names = ("rv", "kind", "namespace", "name", "uid", "operation", "object")
        rv, kind, namespace, name, uid, operation, content = map(part.place, names)
        for row in rows:
            try:
                found = orjson.loads(row[content])
                if row[kind] in CONFIDENTIAL_KINDS:
                    blot(row)
                elif row[operation] == Operation.SETTING and row[kind] == "Cluster":
                    row[uid], row[content] = str(self.cluster_id), self._own(found)
            except (orjson.JSONDecodeError, TypeError):
                raise HistoryFileError(part.name, f"entry {row[rv]} cannot be read") from None
            row[content] = packing.compressed_object(row[content])
            if row[rv] > self.objects.rv:
                self.objects.take(row[kind], row[namespace], row[name], row[operation], row[rv], row[content])
                self.objects.rv = row[rv]

    def _own(self, settings: dict[str, Any]) -> bytes:
        """Settings that were the original's, as those of this cluster."""
        return orjson.dumps(settings | {"id": self.cluster_id, "name": self.name, "is_record": True})

    # -- the cluster as it stands at the end -------------------------------------------------------------------------

    def finish(self) -> None:
        self.contents.finish()
        head, end = self.opened.head, self.opened.head.end
        self._write_objects()
        with _named(files.HEAD):
            self._write_cluster(self.contents.settings)
            EngineState.objects.create(
                cluster_id=self.cluster_id,
                epoch=head.epoch,
                run=end.run,
                step=end.step,
                rv_seen=end.rv,
                digest=head.digest,
                config_version=head.config_version,
            )

    def _write_objects(self) -> None:
        drafts: list[tuple[Draft, Written]] = []
        for (kind, _, _), (rv, text) in self.objects.ordered():
            try:
                manifest = orjson.loads(text)
                draft = state.draft(kind, manifest, adapters.decode(manifest))
            except (*adapters.REFUSALS, orjson.JSONDecodeError, KeyError, TypeError) as error:
                raise HistoryFileError(files.CHANGES.name, f"a {kind} cannot be read: {error}") from None
            drafts.append((draft, Written(rv, draft.text, packing.compressed_object(draft.text))))
            self.opened.objects[kind] += 1
        with _named(files.CHANGES.name):
            for first in range(0, len(drafts), DRAFTS_AT_ONCE):
                Draft.write(self.cluster_id, drafts[first : first + DRAFTS_AT_ONCE])

    def _write_cluster(self, settings: views.Cluster) -> None:
        """Frozen, with a clock that stands where the history ends."""
        head, end = self.opened.head, self.opened.head.end
        version = settings.config_version
        Cluster.objects.filter(pk=self.cluster_id).update(
            is_record=True,
            rv=end.rv,
            seq=end.seq,
            step_rv=head.step_rv,
            step_seq=head.step_seq,
            seed=head.seed,
            description=f"history of {head.cluster}"[:500],
            lifecycle_mode=LifecycleMode.FROZEN,
            pace=Pace.PAUSE,
            pace_rate=None,
            clock_mode=ClockMode.FAST,
            clock_rate=None,
            clock_offset_us=0,
            clock_at_us=end.at_us,
            clock_wall_us=head.made_at_us,
            clock_until_us=None,
            controllers_rv=end.rv,
            controllers_due_us=None,
            scheduler_config=self.configurations[version],
            config_version=version,
            scheduler_problem=settings.scheduler_problem,
            profiles=list(settings.profiles),
        )


def take(cluster_id: int, upload: Upload) -> HistoryTaken:
    """Open a history that was uploaded (`settings.HISTORY_TAKER`)."""
    opened = history_open(cluster_id=cluster_id, file=io.BytesIO(upload.content))
    return HistoryTaken(opened.objects, list(notes(opened)), opened.head.end.rv)


@contextmanager
def _named(part: str) -> Iterator[None]:
    """What the tables refuse is wrong in the file."""
    try:
        yield
    except (DataError, IntegrityError) as error:
        raise HistoryFileError(part, str(error).strip().partition("\n")[0]) from None


def notes(opened: Opened) -> Iterable[str]:
    """What was opened, in sentences."""
    head = opened.head
    yield (
        f"The history of {head.cluster} from {head.start.rv}.{head.start.seq} to {head.end.rv}.{head.end.seq}"
        f" ({moment_of(head.end.at_us).isoformat(timespec='seconds')}): {head.cycles:,} cycles."
    )
    yield "Nothing happens in this cluster any more: replay it, look at its past, or copy it to go on from its end."
