"""What the tables of the scheduler said at a position of the engine log: made of the log, and of rows that stayed.

Attempts and events of which retention has left nothing are not among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import msgspec
import orjson
from django.db.models import QuerySet

from kschedweb import views
from kschedweb.cluster import events as cluster_events
from kschedweb.cluster import selectors
from kschedweb.cluster.adapters import milliseconds
from kschedweb.cluster.changes import unpack
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.follow import BINDING_VERDICT
from kschedweb.cluster.models import Change, Cluster, Event
from kschedweb.common import bulk
from kschedweb.scheduling.adapters import CACHE_QUEUES, QueueRow, queue_row
from kschedweb.traces.choices import LogKind
from kschedweb.traces.models import Attempt, EngineLog, EngineStep, QueueState, full_payload
from kschedweb.traces.selectors import live, throughput
from kschedweb.traces.selectors.history import MOVES
from scheduler_core import typed
from scheduler_core.api.times import microseconds
from scheduler_core.model.effects import CacheMove, QueueMove
from scheduler_core.scheduler.engine import Engine

MOST_MOVES = 30  # of a pod, that say where it stood: more without one between queues are not made
_SECOND = timedelta(seconds=1)
_LOG, _STEPS = EngineLog._meta.db_table, EngineStep._meta.db_table


def settings_at(cluster: Cluster, rv: int) -> views.Cluster:
    """The cluster's settings. Those of now where none is known to have changed since; else the nearest that is kept."""
    told = Change.objects.filter(cluster_id=cluster.pk, uid=str(cluster.pk), operation=Operation.SETTING)
    texts = told.values_list("object", flat=True)
    last = texts.filter(rv__lte=rv).order_by("-rv").first() or texts.filter(rv__gt=rv).order_by("rv").first()
    return selectors.cluster_view(cluster) if last is None else typed.convert(unpack(last), views.Cluster)


def queues_at(cluster_id: int, engine: Engine, run: int, seq: int) -> list[QueueState | QueueRow]:
    """Where the engine keeps pods, by uid: rows that stay as they were, and for others the log's last moves."""
    queue, cache = engine.queue, engine.cache
    waiting = [*queue.active.heap, *queue.backoff.ordinary, *queue.backoff.errors, *queue.unschedulable]
    kept = {info.uid for info in waiting} | {pod.uid for pod in engine.waiting_pods}
    kept |= {cache.pod_states[key].pod.uid for key in cache.assumed_pods} | set(engine.restored_bindings)
    rows = QueueState.objects.filter(cluster_id=cluster_id, seq__lte=seq)
    found: dict[str, QueueState | QueueRow] = {row.pod_uid: row for row in rows}
    began = EngineStep.objects.filter(cluster_id=cluster_id, run=run, step=1).values_list("seq_from", flat=True)
    for uid, entries in _moves(cluster_id, kept - found.keys(), began.first() or 0, seq, MOVES).items():
        if (row := _last_row(entries)) is not None:
            found[uid] = row
    # What retention has cut away the engine itself knows, but for what moved the pod.
    places = (
        (queue.active.heap, "active"),
        (queue.backoff.ordinary, "backoff"),
        (queue.backoff.errors, "errorBackoff"),
        (queue.unschedulable, "unschedulable"),
    )
    for infos, name in places:
        for info in infos:
            to = "gated" if name == "unschedulable" and info.gated else name
            if info.uid not in found:
                blamed = tuple(sorted(info.blamed_plugins))
                move = QueueMove(
                    info.key, info.uid, to, "", info.timestamp, info.attempts, info.backoff_expiration, blamed
                )
                found[info.uid] = queue_row(move, None, 0, 0)
    return [found[uid] for uid in sorted(found)]


def cache_moves_at(cluster_id: int, uids: Iterable[str], seq: int) -> dict[str, list[tuple[int, CacheMove]]]:
    """The last moves in the cache of each pod until then, with their positions, in order; of the log that is left."""
    found = _moves(cluster_id, uids, 0, seq, (LogKind.CACHE,))
    return {uid: [(entry.seq, cache_move(entry)) for entry in entries] for uid, entries in found.items()}


def attempts_before(cluster_id: int, seqs: Mapping[str, int]) -> dict[str, tuple[int, int, str]]:
    """(position, number, node) of the last attempt at each pod, by uid, that was stored until a position of its own."""
    rows = bulk.read_rows(
        "SELECT wanted.uid, made.* FROM unnest(%b::text[], %b::bigint[]) AS wanted (uid, seq) CROSS JOIN LATERAL ("
        f" SELECT seq, attempt, node_name FROM {Attempt._meta.db_table} WHERE cluster_id = %s"
        " AND pod_uid = wanted.uid AND seq <= wanted.seq ORDER BY seq DESC LIMIT 1) AS made",
        [list(seqs), list(seqs.values()), cluster_id],
    )
    return {uid: (seq, number, node) for uid, seq, number, node in rows}


def _moves(cluster_id: int, uids: Iterable[str], after: int, seq: int, kinds: Iterable[str]) -> dict[str, list[Any]]:
    """The last moves of each pod in (after, seq], in order."""
    rows = bulk.read_rows(
        "SELECT wanted.uid, moved.* FROM unnest(%b::text[]) AS wanted (uid) CROSS JOIN LATERAL ("
        f" SELECT seq, step, kind, pod_uid, pod_key, at, payload::text FROM {_LOG} WHERE cluster_id = %s"
        " AND pod_uid = wanted.uid AND pod_uid <> '' AND seq > %s AND seq <= %s AND kind = ANY (%b::text[])"
        " ORDER BY seq DESC LIMIT %s) AS moved ORDER BY moved.seq",
        [list(uids), cluster_id, after, seq, [str(kind) for kind in kinds], MOST_MOVES],
    )
    found: dict[str, list[Any]] = {}
    for uid, position, step, kind, pod_uid, pod_key, at, payload in rows:
        entry = EngineLog(
            seq=position, step=step, kind=kind, pod_uid=pod_uid, pod_key=pod_key, at=at, payload=orjson.loads(payload)
        )
        found.setdefault(uid, []).append(entry)
    return found


def _last_row(entries: Iterable[EngineLog]) -> QueueRow | None:
    """As the steps stored it (services.steps): moves of the cache do not know how often the pod was tried."""
    stored: QueueRow | None = None
    for _, moves in groupby(entries, key=lambda entry: entry.step):
        row: QueueRow | None = None
        for entry in moves:
            row = queue_row(_move_of(entry), row, entry.seq, entry.payload.get("attempts", 0))
        assert row is not None
        if stored is not None and row.queue in CACHE_QUEUES.values():
            row.attempts = max(row.attempts, stored.attempts)
        stored = row if row.queue else None
    return stored


def _move_of(entry: EngineLog) -> QueueMove | CacheMove:
    told = full_payload(entry)
    key, uid, at = entry.pod_key, entry.pod_uid, microseconds(entry.at)
    if entry.kind == LogKind.CACHE:
        return cache_move(entry)
    since = entry.payload["since_ms"] * 1000 if "since_ms" in entry.payload else at
    until = told["backoff_until_ms"]
    return QueueMove(
        key,
        uid,
        told["queue"],
        told["event"],
        since,
        told["attempts"],
        None if until is None else until * 1000,
        tuple(told["plugins"]),
    )


def cache_move(entry: EngineLog) -> CacheMove:
    told = full_payload(entry)
    at = entry.payload["at_ms"] * 1000 if "at_ms" in entry.payload else microseconds(entry.at)
    return CacheMove(told["kind"], entry.pod_key, entry.pod_uid, told["node"], at)


def attempts_at(cluster_id: int, seq: int) -> QuerySet[Attempt]:
    """The attempts that were stored by then, the newest first, without what is long; repeats are not taken back."""
    return live.newest_attempts(cluster_id).filter(seq__lte=seq)


def repeats_at(cluster_id: int, attempts: Mapping[int, str], seq: int) -> dict[int, tuple[int, int, datetime]]:
    """(number, microseconds it took, when) of the last repeat until then, of attempts given with their pods."""
    rows = bulk.read_rows(
        "SELECT wanted.seq, told.payload::text, told.at FROM unnest(%b::bigint[], %b::text[]) AS wanted (seq, uid)"
        f" CROSS JOIN LATERAL (SELECT payload, at FROM {_LOG} WHERE cluster_id = %s AND pod_uid = wanted.uid"
        " AND pod_uid <> '' AND seq > wanted.seq AND seq <= %s AND kind = %s"
        " AND (payload->>'repeats')::bigint = wanted.seq ORDER BY seq DESC LIMIT 1) AS told",
        [list(attempts), list(attempts.values()), cluster_id, seq, LogKind.ATTEMPT.value],
    )
    told = [(stored, orjson.loads(payload), at) for stored, payload, at in rows]
    return {stored: (payload["attempt"], payload["duration_us"], at) for stored, payload, at in told}


def repeats_counted(cluster_id: int, attempts: Mapping[int, str], seq: int) -> dict[int, int]:
    """How often attempts, given with their pods, had been repeated until then."""
    rows = bulk.read_rows(
        "SELECT wanted.seq, count(*) FROM unnest(%b::bigint[], %b::text[]) AS wanted (seq, uid)"
        f" JOIN {_LOG} AS told ON told.cluster_id = %s AND told.pod_uid = wanted.uid AND told.pod_uid <> ''"
        " AND told.seq > wanted.seq AND told.seq <= %s AND told.kind = %s"
        " AND (told.payload->>'repeats')::bigint = wanted.seq GROUP BY 1",
        [list(attempts), list(attempts.values()), cluster_id, seq, LogKind.ATTEMPT.value],
    )
    return dict(rows)


def attempt_taken_back(row: Attempt, last: tuple[int, int, datetime] | None) -> Attempt:
    """The row as it was with that as its last repeat, or without any."""
    if last is None:
        row.repeat_count, row.last_repeat, row.last_seen_at = 0, None, row.started_at
    else:
        number, took, row.last_seen_at = last
        row.last_repeat = {"attempt": number, "duration_us": took, "durations": {}}
    return row


def events_at(cluster_id: int, seq: int, limit: int) -> list[views.EventView]:
    """The newest events that the scheduler had told of, as often as they were seen by then."""
    rows = list(Event.objects.filter(cluster_id=cluster_id, seq__gt=0, seq__lte=seq).order_by("-seq")[:limit])
    last = event_counts_at(cluster_id, [row.seq for row in rows if row.count > 1], seq)
    for row in rows:
        row.count, row.last_at = last.get(row.seq, (1, row.first_at))
    return [cluster_events.row_view(row) for row in rows]


def event_counts_at(cluster_id: int, events: Collection[int], seq: int) -> dict[int, tuple[int, datetime]]:
    """(count, when last) as of then of those events, named by their positions, that had been repeated by then."""
    if not events:
        return {}
    counted = frozenset(events)
    found: dict[int, tuple[int, datetime]] = {}
    told = bulk.read_rows(
        f"SELECT payload::text, at FROM {_LOG} WHERE cluster_id = %s AND seq > %s AND seq <= %s AND kind = %s"
        " AND pod_uid = '' ORDER BY seq",
        [cluster_id, min(counted), seq, LogKind.EVENT.value],
    )
    for payload, at in told:
        found |= {event: (count, at) for event, count in orjson.loads(payload).get("counts", ()) if event in counted}
    return found


def throughput_at(cluster_id: int, position: tuple[int, int], since: datetime, until: datetime) -> views.Throughput:
    """What was counted by seconds until a position (rv, seq): of the log, as the last second had not ended.

    Sums of seconds are kept for a day only.
    """
    rv, seq = position
    since = since.replace(microsecond=0)
    earlier = throughput(cluster_id, since=since, until=since, seconds=1)
    before = EngineStep.objects.filter(cluster_id=cluster_id, now_us__lt=microseconds(since), seq_to__lte=seq)
    last = before.order_by("-now_us", "-run", "-step")
    log_to, seq_to = last.values_list("log_to", "seq_to").first() or (0, 0)
    points: dict[datetime, _Point] = {}
    rows = bulk.read_rows(
        f"SELECT step.now, step.run, log.payload::text FROM {_STEPS} AS step JOIN {_LOG} AS log"
        " ON log.cluster_id = step.cluster_id AND log.seq = step.seq_to WHERE step.cluster_id = %s"
        " AND step.seq_to > %s AND step.seq_to <= %s AND step.seq_to > step.seq_from AND log.kind = %s"
        " ORDER BY step.run, step.step",
        [cluster_id, seq_to, seq, LogKind.STEP.value],
    )
    for now, run, payload in rows:
        told = orjson.loads(payload)
        if "queued" in told and now >= since:
            points.setdefault(now.replace(microsecond=0), _Point()).step(run, told)
    bound = Change.objects.filter(
        cluster_id=cluster_id, rv__gt=log_to, rv__lte=rv, kind=BINDING_VERDICT, operation=Operation.VERDICT
    )
    for content, at in bound.values_list("object", "at"):
        if unpack(content)["bound"] and at >= since:
            points.setdefault(at.replace(microsecond=0), _Point()).bound += 1
    return msgspec.structs.replace(
        earlier, until_ms=milliseconds(until), points=[points[at].view(at) for at in sorted(points)]
    )


class _Point:
    """What a second is made of."""

    def __init__(self) -> None:
        self.run: int | None = None
        self.results: Counter[str] = Counter()
        self.bound = 0
        self.queued: views.QueueSizes | None = None

    def step(self, run: int, told: Mapping[str, Any]) -> None:
        self.run, self.queued = run, views.QueueSizes(**told["queued"])
        self.results.update(told.get("results", {}))

    def view(self, at: datetime) -> views.ThroughputPoint:
        return views.ThroughputPoint(
            at_ms=milliseconds(at), run=self.run, results=dict(self.results), bound=self.bound, queued=self.queued
        )


def attempt_rows(cluster_id: int, seq: int, limit: int) -> Sequence[Attempt]:
    """The newest attempts as they were, oldest first."""
    rows = list(attempts_at(cluster_id, seq)[:limit])
    last = repeats_at(cluster_id, {row.seq: row.pod_uid for row in rows if row.repeat_count}, seq)
    return [attempt_taken_back(row, last.get(row.seq)) for row in reversed(rows)]
