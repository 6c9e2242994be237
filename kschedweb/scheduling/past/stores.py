"""Where recorded history is read from: the tables of the service, or a file that was opened without one.

What is made of it (`journal`, `objects`, `moments`, `walking`, `replaying`) asks `of` for the store of a cluster. Ids
of clusters in the tables are positive; a file gets one below zero when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from itertools import count
from typing import Any, Protocol

from django.db import transaction
from django.db.models import Q, Sum

from kschedweb.cluster import clock, follow, selectors
from kschedweb.cluster.models import Change, Cluster, SchedulerConfigVersion
from kschedweb.common import bulk
from kschedweb.scheduling.past import files, rows
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, EngineStep, NodeOrder
from scheduler_core.api.times import microseconds
from scheduler_core.model import changes as core
from scheduler_core.model.effects import CacheMove

Place = tuple[int, int]  # (run, step): all steps of a cluster are in the order of these


class Store(Protocol):
    """The history of one cluster. Positions are (rv, seq) of both logs."""

    def reading(self) -> AbstractContextManager[None]:
        """All that is read within is of one moment."""

    def cluster(self) -> Cluster:
        """The cluster's row, which says where both logs end; ClusterGoneError."""

    def now(self) -> int:
        """The time of the cluster's clock."""

    def begins(self) -> tuple[int, int]:
        """The earliest moment that can be had: the first one, or that of the oldest checkpoint."""

    # Steps

    def step(self, place: Place) -> EngineStep | None: ...

    def steps_after(self, after: Place, until: Place | None, most: int) -> Sequence[EngineStep]:
        """The next steps, in order."""

    def first_step(self, until: Place, *, after: int | None = None) -> EngineStep | None:
        """The newest first step of a run up to there of which is kept what its engine was made of.

        With `after` the oldest, of runs after that one.
        """

    def last_step(self, rv: int, seq: int) -> Place | None:
        """The last step that had ended at a position."""

    def steps_around(self, at: datetime) -> tuple[tuple[int, int] | None, int | None]:
        """(log_to, seq_to) of the last step by a time, and what the one after it had seen of the change log."""

    def cycles_between(self, after: Place, until: Place) -> int:
        """Cycles of the steps after one place, up to another."""

    # Checkpoints

    def checkpoint_before(self, until: Place) -> Checkpoint | None:
        """The newest one with an engine, without its objects."""

    def checkpoint_after(self, after: Place) -> Checkpoint | None:
        """The oldest one with an engine, without its objects."""

    def last_checkpoint(self, rv: int, seq: int) -> Place | None:
        """Of the newest one at a position, whatever is in it."""

    def checkpoint_at(self, place: Place) -> tuple[int, datetime, int]:
        """Where the engine log stood at the one that was written after a step, when that was, and the version of the
        configuration.
        """

    def checkpoint_by(self, at: datetime) -> tuple[int, int] | None:
        """Where the newest one by a time stands: (rv of its objects, seq)."""

    def has_checkpoint_beyond(self, seq: int, run: int) -> bool:
        """Whether there is one with an engine after a position of the engine log, up to a run."""

    def objects_before(self, rv: int) -> tuple[int, bytes] | None:
        """The objects of the nearest one: (rv, packed)."""

    # The logs

    def changes(self, rv: int, until: int) -> Sequence[core.Change]:
        """Those after `rv`, up to `until`; LogClearedError, ClusterGoneError."""

    def objects_changed(self, rv: int, until: int) -> Sequence[tuple[str, str, str, str, int, bytes]]:
        """(kind, namespace, name, operation, rv, object as it is stored) of the same, verdicts and settings too."""

    def changed_by(self, rv: int, until: int, at: datetime) -> int | None:
        """The last change after `rv`, up to `until`, that was made by a time."""

    def changed_at(self, rv: int) -> datetime | None:
        """When the last change up to there was made."""

    def changed_first(self) -> datetime | None:
        """When the first change of all that are there was made."""

    def entries(self, seq: int, until: int) -> Sequence[tuple[Any, ...]]:
        """(seq, rv, step, kind, pod_uid, pod_key, at, payload as text) of the engine log after `seq`, up to `until`."""

    def cache_moves(self, uids: Collection[str], seq: int) -> Mapping[str, list[tuple[int, CacheMove]]]:
        """The last moves of pods in the scheduler's cache up to there, with their positions, in order."""

    # What they refer to

    def attempts_before(self, seqs: Mapping[str, int]) -> Mapping[str, tuple[int, int, str]]:
        """(position, number, node) of the last attempt at each pod, by uid, up to a position of its own."""

    def attempts(self, seqs: Collection[int], columns: Sequence[str]) -> Sequence[tuple[Any, ...]]:
        """These columns of attempts' rows, JSON as text."""

    def attempt(self, seq: int) -> Attempt | None: ...

    def node_names(self, order: str) -> bytes | None:
        """Names of nodes by the digest of their order, packed."""

    def configuration(self, version: int) -> tuple[str, bool] | None:
        """Text of a configuration, and whether it can be replayed."""


_files: dict[int, Store] = {}
_numbers = count(-1, -1)  # none comes twice: what is remembered of one file is none of another's


def of(cluster_id: int) -> Store:
    """The store of a cluster of the service, or of a file that is open."""
    return _files[cluster_id] if cluster_id < 0 else Tables(cluster_id)


@contextmanager
def opened(make: Callable[[int], Store]) -> Iterator[int]:
    """The id under which the store that is made for it is asked within the block."""
    key = next(_numbers)
    _files[key] = make(key)
    try:
        yield key
    finally:
        del _files[key]


class Tables:
    """PostgreSQL."""

    def __init__(self, cluster_id: int) -> None:
        self._id = cluster_id

    @contextmanager
    def reading(self) -> Iterator[None]:
        with transaction.atomic():
            follow.read_only_moment()
            yield

    def cluster(self) -> Cluster:
        return selectors.cluster_get(self._id)

    def now(self) -> int:
        return clock.now_of(self._id)

    def begins(self) -> tuple[int, int]:
        """Nothing may be missing after it; while retention clears away, first steps and then the logs, older
        checkpoints are still there, and one of before the cut may be written.
        """
        cluster = self.cluster()
        first = bulk.read_rows("SELECT rv FROM cluster_change WHERE cluster_id = %s ORDER BY rv LIMIT 1", [self._id])
        step = self._steps().order_by("run", "step").values_list("run", "step", "seq_from").first()
        began = 0 if cluster.seq == 0 else cluster.seq if step is None else step[2]
        if cluster.rv == 0 or (first and first[0][0] == 1 and began == 0):
            return 0, 0
        oldest = Checkpoint.objects.filter(
            cluster_id=self._id, rv__gte=first[0][0] - 1 if first else cluster.rv, seq__gte=began
        )
        if step is not None and step[1] > 1:
            oldest = oldest.filter(Q(run__gt=step[0]) | Q(run=step[0], step__gte=step[1] - 1))
        found = oldest.order_by("seq", "run", "step").values_list("objects_rv", "seq").first()
        return (cluster.rv, cluster.seq) if found is None else found

    def _steps(self) -> Any:
        return EngineStep.objects.filter(cluster_id=self._id)

    def step(self, place: Place) -> EngineStep | None:
        found: EngineStep | None = self._steps().filter(run=place[0], step=place[1]).first()
        return found

    def steps_after(self, after: Place, until: Place | None, most: int) -> Sequence[EngineStep]:
        return list(
            EngineStep.objects.raw(
                f"SELECT * FROM {EngineStep._meta.db_table} WHERE cluster_id = %s AND (run, step) > (%s, %s)"
                " AND (%s::bigint IS NULL OR (run, step) <= (%s, %s)) ORDER BY run, step LIMIT %s",
                [self._id, *after, *((None, None, None) if until is None else (until[0], *until)), most],
            )
        )

    def first_step(self, until: Place, *, after: int | None = None) -> EngineStep | None:
        rows = self._steps().filter(run__lte=until[0], step=1).exclude(kind=StepKind.APPLY)
        known = rows.filter(Q(began_from__isnull=False) | Q(run=1, seq_from=0))
        found: EngineStep | None = (
            known.order_by("-run").first() if after is None else known.filter(run__gt=after).order_by("run").first()
        )
        return found

    def last_step(self, rv: int, seq: int) -> Place | None:
        steps = self._steps().filter(seq_to__lte=seq, log_to__lte=rv).order_by("-seq_to", "-run", "-step")
        found: Place | None = steps.values_list("run", "step").first()
        return found

    def steps_around(self, at: datetime) -> tuple[tuple[int, int] | None, int | None]:
        before = self._steps().filter(now_us__lte=microseconds(at)).order_by("-now_us", "-run", "-step")
        following = self._steps().filter(now_us__gt=microseconds(at)).order_by("now_us", "run", "step")
        return before.values_list("log_to", "seq_to").first(), following.values_list("log_to", flat=True).first()

    def cycles_between(self, after: Place, until: Place) -> int:
        between = self._steps().filter(_after(after), _until(until))
        return between.aggregate(cycles=Sum("cycles"))["cycles"] or 0

    def _with_engine(self) -> Any:
        return Checkpoint.objects.filter(cluster_id=self._id).exclude(engine=b"").defer("objects_packed")

    def checkpoint_before(self, until: Place) -> Checkpoint | None:
        found: Checkpoint | None = self._with_engine().filter(_until(until)).order_by("-run", "-step").first()
        return found

    def checkpoint_after(self, after: Place) -> Checkpoint | None:
        found: Checkpoint | None = self._with_engine().filter(_after(after)).order_by("run", "step").first()
        return found

    def last_checkpoint(self, rv: int, seq: int) -> Place | None:
        rows = Checkpoint.objects.filter(cluster_id=self._id, seq__lte=seq, rv__lte=rv)
        return rows.order_by("-run", "-step").values_list("run", "step").first()

    def checkpoints_between(self, seq: int, until: int) -> list[tuple[Place, int]]:
        """Where those with an engine between two positions of the engine log were written: (place, seq), in order."""
        found = self._with_engine().filter(seq__gt=seq, seq__lt=until).order_by("run", "step")
        return [((run, step), at) for run, step, at in found.values_list("run", "step", "seq")]

    def checkpoint_at(self, place: Place) -> tuple[int, datetime, int]:
        rows = Checkpoint.objects.filter(cluster_id=self._id, run=place[0], step=place[1])
        found: tuple[int, datetime, int] = rows.values_list("seq", "at", "config_version").get()
        return found

    def checkpoint_by(self, at: datetime) -> tuple[int, int] | None:
        rows = Checkpoint.objects.filter(cluster_id=self._id, at__lte=at).order_by("-seq", "-id")
        return rows.values_list("objects_rv", "seq").first()

    def has_checkpoint_beyond(self, seq: int, run: int) -> bool:
        found: bool = self._with_engine().filter(seq__gt=seq, run__lte=run).exists()
        return found

    def objects_before(self, rv: int) -> tuple[int, bytes] | None:
        rows = Checkpoint.objects.filter(cluster_id=self._id, objects_rv__lte=rv).order_by("-objects_rv", "-seq")
        found = rows.values_list("objects_rv", "objects_packed").first()
        return None if found is None else (found[0], bytes(found[1]))

    def changes(self, rv: int, until: int) -> Sequence[core.Change]:
        return follow.changes_after(cluster_id=self._id, rv=rv, least=until, until=until)[0]

    def objects_changed(self, rv: int, until: int) -> Sequence[tuple[str, str, str, str, int, bytes]]:
        found: list[tuple[str, str, str, str, int, bytes]] = bulk.read_rows(
            "SELECT kind, namespace, name, operation, rv, object FROM cluster_change"
            " WHERE cluster_id = %s AND rv > %s AND rv <= %s ORDER BY rv",
            [self._id, rv, until],
        )
        return found

    def changed_by(self, rv: int, until: int, at: datetime) -> int | None:
        rows = Change.objects.filter(cluster_id=self._id, rv__gt=rv, rv__lte=until, at__lte=at)
        return rows.order_by("-rv").values_list("rv", flat=True).first()

    def changed_at(self, rv: int) -> datetime | None:
        rows = Change.objects.filter(cluster_id=self._id, rv__lte=rv).order_by("-rv")
        return rows.values_list("at", flat=True).first()

    def changed_first(self) -> datetime | None:
        return Change.objects.filter(cluster_id=self._id).order_by("rv").values_list("at", flat=True).first()

    def entries(self, seq: int, until: int) -> Sequence[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = bulk.read_rows(
            f"SELECT seq, rv, step, kind, pod_uid, pod_key, at, payload::text FROM {EngineLog._meta.db_table}"
            " WHERE cluster_id = %s AND seq > %s AND seq <= %s ORDER BY seq",
            [self._id, seq, until],
        )
        return found

    def attempts(self, seqs: Collection[int], columns: Sequence[str]) -> Sequence[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = bulk.read_rows(
            f"SELECT {files.ATTEMPTS.selected(columns)} FROM {files.ATTEMPTS.table}"
            " WHERE cluster_id = %s AND seq = ANY(%b::bigint[])",
            [self._id, sorted(seqs)],
        )
        return found

    def attempt(self, seq: int) -> Attempt | None:
        return Attempt.objects.filter(cluster_id=self._id, seq=seq).only("run", "step", "place", "node_order").first()

    def node_names(self, order: str) -> bytes | None:
        rows = NodeOrder.objects.filter(cluster_id=self._id, digest=order)
        found = rows.values_list("names", flat=True).first()
        return None if found is None else bytes(found)

    def cache_moves(self, uids: Collection[str], seq: int) -> Mapping[str, list[tuple[int, CacheMove]]]:
        return rows.cache_moves_at(self._id, uids, seq)

    def attempts_before(self, seqs: Mapping[str, int]) -> Mapping[str, tuple[int, int, str]]:
        return rows.attempts_before(self._id, seqs)

    def configuration(self, version: int) -> tuple[str, bool] | None:
        rows = SchedulerConfigVersion.objects.filter(cluster_id=self._id, version=version)
        return rows.values_list("text", "replayable").first()


def _after(place: Place) -> Q:
    return Q(run__gt=place[0]) | Q(run=place[0], step__gt=place[1])


def _until(place: Place) -> Q:
    return Q(run__lt=place[0]) | Q(run=place[0], step__lte=place[1])
