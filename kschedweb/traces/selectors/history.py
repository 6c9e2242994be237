"""The engine's log of one pod or of all, in order, and events."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from django.db.models import QuerySet

from kschedweb.cluster import events as cluster_events
from kschedweb.cluster.adapters import milliseconds
from kschedweb.cluster.models import Event, Pod
from kschedweb.traces.choices import LogKind, Queue
from kschedweb.traces.models import Attempt, EngineLog
from kschedweb.views import EventView, HistoryEntry

# Its note names the pod that took the place by uid, as upstream's does; people know pods by name.
PREEMPTED = re.compile(r"^Preempted by pod (\S+) on node ")
MOVES = (LogKind.QUEUE, LogKind.CACHE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events; what is empty or None does not matter."""

    namespace: str = ""
    name: str = ""
    kind: str = ""
    reason: str = ""
    type: str = ""
    since: datetime | None = None
    until: datetime | None = None


def moves(cluster_id: int, *, since: datetime | None = None, until: datetime | None = None) -> QuerySet[EngineLog]:
    """Moves between queues and in the cache, of all pods, in no order."""
    found = EngineLog.objects.filter(cluster_id=cluster_id, kind__in=MOVES)
    if since is not None:
        found = found.filter(at__gte=since)
    return found.filter(at__lt=until) if until is not None else found


def pod_uid(cluster_id: int, namespace: str, name: str) -> str | None:
    """The uid of the pod that has this name, or of the last one that was tried under it."""
    uid = Pod.objects.filter(cluster_id=cluster_id, namespace=namespace, name=name).values_list("uid", flat=True)
    tried = Attempt.objects.filter(cluster_id=cluster_id, namespace=namespace, name=name).order_by("-seq")
    return uid.first() or tried.values_list("pod_uid", flat=True).first()


def pod_log(cluster_id: int, uid: str, limit: int, until: int | None = None) -> list[HistoryEntry]:
    """The newest entries of the engine's log about a pod, oldest first; `until`: none after that position."""
    found = EngineLog.objects.filter(cluster_id=cluster_id, pod_uid=uid).order_by("-seq")
    rows = list((found if until is None else found.filter(seq__lte=until))[:limit])
    rows.reverse()
    return history_entries(rows)


def history_entries(rows: list[EngineLog]) -> list[HistoryEntry]:
    """Convert entries of one cluster's engine log to entries of a pod's history."""
    repeated = {row.payload["repeats"] for row in rows if row.kind == LogKind.ATTEMPT and "repeats" in row.payload}
    stored: dict[int, tuple[str, str, str]] = {}
    if repeated:
        found = Attempt.objects.filter(cluster_id=rows[0].cluster_id, seq__in=sorted(repeated))
        columns = found.values_list("seq", "result", "node_name", "message")
        stored = {seq: (result, node, message) for seq, result, node, message in columns}
    notes = [row.payload.get("note", "") for row in rows if row.kind == LogKind.EVENT]
    names = preemptor_keys(rows[0].cluster_id, notes) if notes else {}
    early = taken_early(rows)
    return [_history_entry(row, stored, names, early) for row in rows]


def taken_early(rows: Iterable[EngineLog]) -> set[int]:
    """The seqs of attempts at pods that were in backoff until later: no pod was ready, so the next of these was taken.

    Being taken is no move in the log: the last one before such an attempt is the one to backoff.
    """
    ends: dict[str, int] = {}  # of backoff in ms, by uid of the pods that are in it
    found = set()
    for row in rows:
        if row.kind == LogKind.QUEUE:
            ends.pop(row.pod_uid, None)
            if row.payload["queue"] == Queue.BACKOFF:
                ends[row.pod_uid] = row.payload["backoff_until_ms"]
        elif row.kind == LogKind.ATTEMPT and milliseconds(row.at) < ends.pop(row.pod_uid, 0):
            found.add(row.seq)
    return found


def preemptor_keys(cluster_id: int, notes: Iterable[str]) -> dict[str, str]:
    """namespace/name, by uid, of the pods that took the places these notes tell of."""
    uids = {match[1] for note in notes if (match := PREEMPTED.match(note))}
    return pod_keys(cluster_id, uids) if uids else {}


def note_with_name(note: str, names: Mapping[str, str]) -> str:
    """The note with the preemptor's name for its uid, where that is known."""
    match = PREEMPTED.match(note)
    return note.replace(match[1], names.get(match[1], match[1]), 1) if match else note


def with_names(cluster_id: int, events: Sequence[EventView]) -> list[EventView]:
    """The events, with preemptors' names for their uids."""
    names = preemptor_keys(cluster_id, (event.note for event in events))
    return [msgspec.structs.replace(event, note=note_with_name(event.note, names)) for event in events]


def events_about(cluster_id: int, kind: str, namespace: str, name: str, limit: int) -> list[EventView]:
    """The newest events about an object, newest first; of a pod that is gone, those about the last of its name."""
    uid = (pod_uid(cluster_id, namespace, name) or "") if kind == "Pod" else ""
    return with_names(cluster_id, cluster_events.about(cluster_id, kind, namespace, name, uid, limit))


def pod_keys(cluster_id: int, uids: Iterable[str]) -> dict[str, str]:
    """namespace/name of pods by uid: of those that are there, and of others that were tried."""
    wanted = {"cluster_id": cluster_id}
    tried = Attempt.objects.filter(**wanted, pod_uid__in=uids).values_list("pod_uid", "namespace", "name").distinct()
    present = Pod.objects.filter(**wanted, uid__in=uids).values_list("uid", "namespace", "name")
    return {uid: f"{namespace}/{name}" for found in (tried, present) for uid, namespace, name in found}


def _history_entry(
    row: EngineLog, stored: dict[int, tuple[str, str, str]], names: dict[str, str], early: set[int]
) -> HistoryEntry:
    """`stored`: result, node and message of the attempts that others repeat, by seq. `names`: of preemptors, by uid.
    `early`: as of `taken_early`."""
    payload, at = row.full_payload, row.at
    match row.kind:
        case LogKind.QUEUE:
            return HistoryEntry(
                kind="queue",
                what=payload["queue"],
                at=at,
                seq=row.seq,
                rv=row.rv,
                event=payload["event"],
                hint=payload["hint"],
                plugins=tuple(payload["plugins"]),
                attempts=payload["attempts"],
                until=_moment(payload["backoff_until_ms"]),
            )
        case LogKind.CACHE:
            return HistoryEntry(
                kind="cache",
                what=payload["kind"],
                at=at,
                seq=row.seq,
                rv=row.rv,
                plugins=tuple(payload.get("plugins", ())),
                until=_moment(payload.get("until_ms")),
                node=payload["node"],
                message=payload.get("message", ""),
            )
        case LogKind.ATTEMPT:
            seq = payload.get("repeats", row.seq)
            itself = (payload.get("result", ""), payload["node"], payload["message"])
            result, node, message = stored.get(seq, itself)
            return HistoryEntry(
                kind="attempt",
                what=result,
                at=at,
                seq=row.seq,
                rv=row.rv,
                attempts=payload["attempt"],
                node=node,
                message=message,
                attempt_seq=seq,
                early=row.seq in early,
            )
        case _:
            return HistoryEntry(
                kind="event",
                what=payload.get("reason", row.kind),
                at=at,
                seq=row.seq,
                rv=row.rv,
                message=note_with_name(payload.get("note", ""), names),
            )


def events(cluster_id: int, wanted: EventFilter | None = None) -> QuerySet[Event]:
    """The events asked for, in no order."""
    wanted = wanted or EventFilter()
    found = Event.objects.filter(cluster_id=cluster_id)
    columns = {"namespace": "regarding_namespace", "name": "regarding_name", "kind": "regarding_kind"}
    for name in ("namespace", "name", "kind", "reason", "type"):
        if value := getattr(wanted, name):
            found = found.filter(**{columns.get(name, name): value})
    if wanted.since is not None:
        found = found.filter(last_at__gte=wanted.since)
    return found.filter(first_at__lt=wanted.until) if wanted.until is not None else found


def _moment(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
