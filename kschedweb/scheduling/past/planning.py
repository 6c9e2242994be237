"""What the file of a span of history is to hold: where it begins and ends, and the rows that only its end knows.

It begins with a checkpoint, or where history does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import yaml
from django.db import transaction
from django.db.models import Q, Sum

from kschedweb.cluster import clock, follow
from kschedweb.cluster.models import Cluster
from kschedweb.common import bulk
from kschedweb.common.errors import InvalidError
from kschedweb.scheduling.past import files, journal, moments, rows, stores, walking
from kschedweb.scheduling.past.errors import HistoryCutError, NotReplayableError
from kschedweb.scheduling.past.files import Head, Part
from kschedweb.scheduling.past.moments import Position
from kschedweb.traces.choices import LogKind
from kschedweb.traces.models import Attempt, Checkpoint, EngineLog, EngineStep
from scheduler_core.api.times import microseconds

_SECRET_FIELDS = ("keyData", "certData")  # of an extender, in a configuration; the file of a key is only named
NOTHING = Position(0, 0)
_LOG = EngineLog._meta.db_table


@dataclass(frozen=True, slots=True)
class Plan:
    """What a file is to hold, found in one moment of the database; rows of `fixed` parts are at hand already."""

    cluster: Cluster
    head: Head
    start_at: datetime | None
    checkpoints: Sequence[int]  # ids
    attempts: Sequence[int]  # positions of those before the start that are spoken of after it
    fixed: Mapping[str, list[list[Any]]]


def planned(*, cluster_id: int, first: Position | None = None, last: Position | None = None) -> Plan:
    """What the file of a span is to hold; all history there is unless it is given.

    ClusterGoneError; HistoryCutError, FutureError, NotReplayableError as of a moment; InvalidError for a span that ends
    before it begins.
    """
    if first is not None and last is not None and (first.rv > last.rv or first.seq > last.seq):
        raise InvalidError("to: the span ends before it begins", fields={"to": ["before from"]})
    with transaction.atomic():
        follow.read_only_moment()
        cluster = journal.ends(cluster_id)
        if cluster.is_mirror:
            raise NotReplayableError(walking.OF_A_MIRROR)
        begins = journal.begins(cluster_id)
        is_now = last is None
        last = last or Position(cluster.rv, cluster.seq)
        if first is not None:
            moments.step_at(cluster, first)  # it is refused where it cannot be had
        target = moments.step_at(cluster, last)
        start, checkpoint = _start(cluster_id, Position(*begins), last if first is None else first, first is not None)
        end_step = _step(cluster_id, target) if target is not None else None
        end = _end(cluster, last, end_step, checkpoint)
        queue = _stored_queue(cluster_id) if is_now or last == Position(cluster.rv, cluster.seq) else None
        settings = rows.settings_at(cluster, end.rv)
        steps = EngineStep.objects.filter(_within(start, end), cluster_id=cluster_id)
        versions = {settings.config_version, *steps.values_list("config_version", flat=True).distinct()}
        version = checkpoint.config_version if checkpoint is not None else settings.config_version
        if end_step is not None:
            version = end_step.config_version
        if checkpoint is not None:
            versions.add(checkpoint.config_version)
        head = Head(
            made_at_us=clock.wall_us(),
            cluster=cluster.name,
            seed=cluster.seed,
            start=start,
            end=end,
            objects_rv=0 if checkpoint is None else checkpoint.objects_rv,
            step_rv=end_step.rv if end_step is not None else start.rv,
            step_seq=end_step.seq_at_rv if end_step is not None else start.seq,
            digest=bytes(end_step.digest if end_step is not None else checkpoint.digest if checkpoint else b""),
            epoch=0 if end_step is None else end_step.epoch,
            config_version=version,
            settings=msgspec.to_builtins(settings),
            cycles=steps.aggregate(cycles=Sum("cycles"))["cycles"] or 0,
        )
        checkpoints = [] if checkpoint is None else [checkpoint.pk]
        checkpoints += _beginnings_unknown(cluster_id, start, end, checkpoint)
    if queue is None:
        queue = _queue_at(cluster_id, Position(end.rv, end.seq))
    uids = [row[files.QUEUE.place("pod_uid")] for row in queue]
    earlier = _spoken_of(cluster_id, (start.seq, end.seq), uids)
    versions |= set(
        Attempt.objects.filter(cluster_id=cluster_id, seq__in=earlier).values_list("config_version", flat=True)
    )
    fixed = {
        "configurations": _configurations(cluster_id, versions),
        "clock": _clock(cluster_id, end),
        "queue": queue,
    }
    return Plan(cluster, head, None if checkpoint is None else checkpoint.at, checkpoints, earlier, fixed)


def _start(cluster_id: int, begins: Position, first: Position, is_given: bool) -> tuple[files.Place, Checkpoint | None]:
    """The checkpoint the file begins with, None for the beginning of all.

    Without a wish history begins as early as it can.
    """
    rows_ = Checkpoint.objects.filter(cluster_id=cluster_id, seq__gte=begins.seq, rv__gte=0)
    if is_given:
        near = rows_.filter(seq__lte=first.seq, objects_rv__lte=first.rv).exclude(engine=b"")
        found = near.order_by("-seq", "-run", "-step").defer("engine", "objects_packed").first()
        if found is not None and found.objects_rv >= begins.rv:
            return _place_of_checkpoint(found), found
    if begins == NOTHING:
        return files.Place(0, 0, 0, 0, 0), None
    oldest = rows_.filter(objects_rv=begins.rv, seq=begins.seq).order_by("run", "step")
    found = oldest.defer("engine", "objects_packed").first()
    if found is None:
        raise HistoryCutError(begins.rv, begins.seq)
    return _place_of_checkpoint(found), found


def _place_of_checkpoint(row: Checkpoint) -> files.Place:
    return files.Place(row.rv, row.seq, row.run, row.step, microseconds(row.at))


def _step(cluster_id: int, place: stores.Place) -> EngineStep | None:
    return EngineStep.objects.filter(cluster_id=cluster_id, run=place[0], step=place[1]).first()


def _end(cluster: Cluster, last: Position, step: EngineStep | None, checkpoint: Checkpoint | None) -> files.Place:
    """The end of the last step by then, and the last change that the step after it had not made itself."""
    if step is None:
        run, number, seq, at = (
            (0, 0, 0, 0)
            if checkpoint is None
            else (checkpoint.run, checkpoint.step, checkpoint.seq, microseconds(checkpoint.at))
        )
    else:
        run, number, seq, at = step.run, step.step, step.seq_to, step.now_us
    following = (
        EngineStep.objects.filter(Q(run__gt=run) | Q(run=run, step__gt=number), cluster_id=cluster.pk)
        .order_by("run", "step")
        .values_list("rv", "log_to")
        .first()
    )
    rv = last.rv if following is None else min(last.rv, following[0] or following[1])
    changed = bulk.read_rows(
        "SELECT at FROM cluster_change WHERE cluster_id = %s AND rv <= %s ORDER BY rv DESC LIMIT 1", [cluster.pk, rv]
    )
    return files.Place(rv, seq, run, number, max(at, microseconds(changed[0][0]) if changed else 0))


def _within(start: files.Place, end: files.Place) -> Q:
    """Steps after the start, up to the end."""
    return (Q(run__gt=start.run) | Q(run=start.run, step__gt=start.step)) & (
        Q(run__lt=end.run) | Q(run=end.run, step__lte=end.step)
    )


def _beginnings_unknown(
    cluster_id: int, start: files.Place, end: files.Place, checkpoint: Checkpoint | None
) -> list[int]:
    """Of each run that cannot be made from its first step the first checkpoint: the only way into it."""
    unknown = (
        EngineStep.objects.filter(_within(start, end), cluster_id=cluster_id, step=1, began_from=None)
        .exclude(run=1, seq_from=0)
        .values_list("run", flat=True)
    )
    found = (
        Checkpoint.objects.filter(_within(start, end), cluster_id=cluster_id, run__in=list(unknown))
        .exclude(engine=b"")
        .order_by("run", "step")
        .values_list("run", "pk")
    )
    first: dict[int, int] = {}
    for run, pk in found:
        first.setdefault(run, pk)
    return [pk for pk in first.values() if checkpoint is None or pk != checkpoint.pk]


def _spoken_of(cluster_id: int, span: tuple[int, int], uids: Sequence[str]) -> list[int]:
    """Attempts of before the span that were repeated in it, and the last ones of pods that wait at its end."""
    if span[0] == 0:
        return []
    found = bulk.read_rows(
        f"SELECT DISTINCT (payload->>'repeats')::bigint FROM {_LOG} WHERE cluster_id = %s AND seq > %s AND seq <= %s"
        " AND kind = %s AND (payload->>'repeats')::bigint <= %s"
        " UNION SELECT max(seq) FROM traces_attempt WHERE cluster_id = %s AND pod_uid = ANY (%b::text[]) AND seq <= %s"
        " GROUP BY pod_uid",
        [cluster_id, *span, LogKind.ATTEMPT.value, span[0], cluster_id, list(uids), span[0]],
    )
    return sorted(seq for (seq,) in found)


def read(part: Part, where: str, values: Sequence[Any], order: str, limit: int | None = None) -> list[list[Any]]:
    """Rows of a part as a file has them."""
    found = bulk.read_rows(
        f"SELECT {part.selected()} FROM {part.table} WHERE {where} ORDER BY {order} LIMIT %s::bigint", [*values, limit]
    )
    return list(map(list, found))


def _configurations(cluster_id: int, versions: set[int]) -> list[list[Any]]:
    text = files.CONFIGURATIONS.place("text")
    found = read(
        files.CONFIGURATIONS,
        "cluster_id = %s AND version = ANY (%b::bigint[])",
        [cluster_id, sorted(versions)],
        "version",
    )
    for row in found:
        row[text] = _without_keys(row[text])
    return found


def _without_keys(text: str) -> str:
    """A configuration without the private keys of extenders: nobody is called when steps are made again."""
    if not any(name in text for name in _SECRET_FIELDS):
        return text
    document = yaml.safe_load(text)
    for extender in document.get("extenders") or ():
        for name in _SECRET_FIELDS:
            (extender.get("tlsConfig") or {}).pop(name, None)
    return yaml.safe_dump(document, sort_keys=False)


def _clock(cluster_id: int, end: files.Place) -> list[list[Any]]:
    return read(files.CLOCK, "cluster_id = %s AND at_us <= %s", [cluster_id, end.at_us], "at_us")


def _stored_queue(cluster_id: int) -> list[list[Any]]:
    return read(files.QUEUE, "cluster_id = %s", [cluster_id], "id")


def _queue_at(cluster_id: int, position: Position) -> list[list[Any]]:
    """Where pods stood at an earlier position: the engine is made again."""
    with moments.moment(cluster_id=cluster_id, position=position) as found:
        if found.scheduler is None:
            return []
        stood = rows.queues_at(cluster_id, found.scheduler.engine, found.run, found.seq)
        return [[getattr(each, name) for name in files.QUEUE.names] for each in stood]
