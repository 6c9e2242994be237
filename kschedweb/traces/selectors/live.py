"""Live views: ranges of both logs as events, missed frames, and the snapshot a browser starts from."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast

import orjson
from django.db.models import QuerySet

from kschedweb import views
from kschedweb.cluster import clock, events
from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.cluster.adapters import milliseconds
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.common import bulk
from kschedweb.common.errors import ClusterGoneError, GoneError
from kschedweb.common.reading import one_state
from kschedweb.live.feed import ENTRIES_PER_FRAME, RESUME_ENTRIES, LogRange
from kschedweb.traces.choices import LogKind
from kschedweb.traces.models import Attempt, EngineStep, QueueState, full_payload
from kschedweb.traces.selectors.history import note_with_name, preemptor_keys, with_names
from kschedweb.traces.selectors.throughput import throughput
from kschedweb.views import Cursor
from scheduler_core.api.times import moment_of

SNAPSHOT_EVENTS = 200
SNAPSHOT_ATTEMPTS = 200
SNAPSHOT_THROUGHPUT = timedelta(minutes=5)

_ATTEMPT_FIELDS = tuple(views.AttemptView.__struct_fields__)
_QUEUE_FIELDS = tuple(views.QueueView.__struct_fields__)
_EVENT_FIELDS = tuple(views.EventView.__struct_fields__)
# Columns an entry that repeats an attempt takes from that attempt.
_REPEATED_FIELDS = ("seq", "node_name", "message", "evaluated", "feasible")


class LogEntry(NamedTuple):
    """An entry of the engine log, as frames need it: a model would cost more than all that is done with it."""

    seq: int
    rv: int
    step: int
    kind: str
    pod_uid: str
    pod_key: str
    payload: Any
    at: datetime


class Place(Protocol):
    """Where a pod is in the queue or the cache: a QueueState, or what is to become one."""

    pod_uid: str
    pod_key: str
    queue: str
    event: str
    since: Any
    attempts: int
    backoff_until: Any
    plugins: list[str]
    node_name: str


def head(cluster_id: int) -> Cursor | None:
    """The end of both logs; None when there is no such cluster."""
    row = Cluster.objects.filter(pk=cluster_id).values_list("rv", "seq").first()
    return Cursor(*row) if row is not None else None


def log_range(cluster_id: int, after: Cursor, limit: int) -> LogRange:
    """The next entries past `after`, at most `limit` of each log, in an order in which they can be applied.

    Where entries were deleted the range ends at `after`.
    """
    end = head(cluster_id)
    if end is None:
        return LogRange(after, (), 0)
    # Both ends are committed, so every entry up to them is visible; later entries belong to the next range.
    to = Cursor(max(after.rv, min(end.rv, after.rv + limit)), max(after.seq, min(end.seq, after.seq + limit)))
    found = _events_between(cluster_id, after, to)
    return LogRange(after if found is None else to, found or (), clock.now_of(cluster_id) // 1000)


def _events_between(cluster_id: int, after: Cursor, to: Cursor) -> list[views.LiveEvent] | None:
    """What both logs hold in (after, to], in an order in which it can be applied; None where entries were deleted."""
    changes = cluster_selectors.change_rows(cluster_id, after.rv, to.rv)
    entries = _entries(cluster_id, after.seq, to.seq)
    if len(changes) < to.rv - after.rv or len(entries) < to.seq - after.seq:
        return None
    found: list[views.LiveEvent] = []
    place = 0
    repeated = _repeated_attempts(cluster_id, entries)
    notes = (entry.payload.get("note", "") for entry in entries if entry.kind == LogKind.EVENT)
    names = preemptor_keys(cluster_id, notes)
    for entry in entries:
        # The engine had seen these changes when it wrote the entry.
        while place < len(changes) and changes[place].rv <= entry.rv:
            _append(found, cluster_selectors.change_event(changes[place]))
            place += 1
        _append(found, log_event(entry, repeated, names))
    for change in changes[place:]:
        _append(found, cluster_selectors.change_event(change))
    return found


def _entries(cluster_id: int, after: int, up_to: int) -> list[LogEntry]:
    """The entries of the engine log in (after, up_to], in order."""
    rows = bulk.read_rows(
        "SELECT seq, rv, step, kind, pod_uid, pod_key, payload::text, at FROM traces_enginelog"
        " WHERE cluster_id = %s AND seq > %s AND seq <= %s ORDER BY seq",
        [cluster_id, after, up_to],
    )
    return [LogEntry(*(*row[:6], orjson.loads(row[6]), row[7])) for row in rows]


def log_event(
    entry: LogEntry,
    repeated: Mapping[int, Mapping[str, Any]] = MappingProxyType({}),
    preemptors: Mapping[str, str] = MappingProxyType({}),
) -> views.EngineLogEvent | None:
    """The live event of an entry of the engine log; None where the attempt it repeats was deleted.

    `repeated`: columns of repeated attempts, by seq. `preemptors`: keys of preemptors, by uid.
    """
    payload = full_payload(entry)
    kind = entry.kind
    if kind == LogKind.QUEUE:
        view = views.QueueView(**{key: payload[key] for key in _QUEUE_FIELDS if key in payload})
        return views.QueueMove(seq=entry.seq, move=view)
    if kind == LogKind.CACHE:
        return views.CacheMoved(
            seq=entry.seq,
            uid=payload["uid"],
            key=payload["key"],
            node=payload["node"],
            kind=payload["kind"],
            at_ms=payload["at_ms"],
            attempts=payload.get("attempts", 0),
        )
    if kind == LogKind.ATTEMPT:
        # A repeat is stored with the attempt it repeats.
        seq = payload.get("repeats", entry.seq)
        if _is_bare_repeat(entry):
            if seq not in repeated:
                return None
            payload |= repeated[seq]
        values = {key: payload[key] for key in _ATTEMPT_FIELDS if key in payload}
        return views.AttemptMade(seq=entry.seq, attempt=views.AttemptView(**values | {"seq": seq}))
    if kind == LogKind.EVENT:
        if "counts" in payload:
            counts = [views.EventCount(seq=seq, count=count) for seq, count in payload["counts"]]
            return views.EventsCounted(seq=entry.seq, counts=counts, at_ms=payload["at_ms"])
        values = {key: payload[key] for key in _EVENT_FIELDS if key in payload}
        values |= {"seq": entry.seq, "note": note_with_name(values["note"], preemptors)}
        return views.EventNoted(seq=entry.seq, event=views.EventView(**values))
    queued = payload.get("queued")
    return views.StepDone(
        seq=entry.seq,
        step=entry.step,
        cycles=payload["cycles"],
        kind=payload["kind"],
        at_ms=milliseconds(entry.at),
        results=payload.get("results", {}),
        queued=None if queued is None else views.QueueSizes(**queued),
    )


def _repeated_attempts(cluster_id: int, entries: Iterable[LogEntry]) -> dict[int, dict[str, Any]]:
    """Columns of the attempts that these entries repeat, by seq."""
    wanted = {entry.payload["repeats"] for entry in entries if _is_bare_repeat(entry)}
    if not wanted:
        return {}
    rows = Attempt.objects.filter(cluster_id=cluster_id, seq__in=wanted).values(*_REPEATED_FIELDS)
    return {row.pop("seq"): row | {"node": row.pop("node_name")} for row in rows}


def _is_bare_repeat(entry: LogEntry) -> bool:
    return entry.kind == LogKind.ATTEMPT and "repeats" in entry.payload and "evaluated" not in entry.payload


def frames_after(cluster_id: int, after: Cursor) -> Iterator[views.Frame]:
    """The frames after a cursor; GoneError when they are too many or already deleted."""
    end = head(cluster_id)
    if end is None:
        raise ClusterGoneError(cluster_id)
    if not end.covers(after) or end.entries_since(after) > RESUME_ENTRIES:
        raise GoneError("the cursor is too far from the end of the logs: fetch the snapshot", cursor=[end.rv, end.seq])
    while after.rv < end.rv or after.seq < end.seq:
        found = log_range(cluster_id, after, ENTRIES_PER_FRAME)
        if found.to == after:
            raise GoneError(
                "what follows the cursor has been cleared away: fetch the snapshot", cursor=[end.rv, end.seq]
            )
        yield views.Frame(from_=after, to=found.to, at=found.at_ms, events=found.events)
        after = found.to


def frames_by_step(cluster_id: int, after: Cursor, steps: int) -> Iterator[views.Frame]:
    """The next frames after a cursor, one for each step of the engine, at its time, then one to the end of the logs.

    Of so many steps at most, and of fewer where they have many entries. GoneError for what has been cleared away, or
    has not come yet.
    """
    end = head(cluster_id)
    if end is None:
        raise ClusterGoneError(cluster_id)
    if not end.covers(after):
        raise GoneError("the cursor is beyond the end of the logs", cursor=[end.rv, end.seq])
    ends = _step_ends(cluster_id, after, end, steps)
    if not ends:
        return
    events = _events_between(cluster_id, after, ends[-1][0])
    if events is None:
        raise GoneError("what follows the cursor has been cleared away", cursor=[end.rv, end.seq])
    rvs, seqs = [to.rv for to, _ in ends], [to.seq for to, _ in ends]
    parts: list[list[views.LiveEvent]] = [[] for _ in ends]
    for event in events:
        rv = getattr(event, "rv", None)
        place = bisect_left(seqs, event.seq) if rv is None else bisect_left(rvs, rv)  # type: ignore[union-attr]
        parts[place].append(event)
    for (to, at_ms), part in zip(ends, parts, strict=True):
        yield views.Frame(from_=after, to=to, at=at_ms, events=part)
        after = to


def _step_ends(cluster_id: int, after: Cursor, end: Cursor, most: int) -> list[tuple[Cursor, int]]:
    """Where both logs stood after each of the next steps, and its time in ms; behind the last one, where they end."""
    rows = EngineStep.objects.filter(cluster_id=cluster_id, seq_to__gt=after.seq, seq_to__lte=end.seq)
    columns = rows.order_by("seq_to", "run", "step").values_list("log_to", "seq_to", "now_us")
    found: list[tuple[Cursor, int]] = []
    last = after
    for log_to, seq_to, now_us in columns[:most]:
        last = Cursor(max(last.rv, log_to), seq_to)
        found.append((last, now_us // 1000))
        if last.entries_since(after) > RESUME_ENTRIES:
            return found
    if len(found) < most and last != end:
        # Changes that no step has taken yet; of a long import no more at a time than of a step.
        rest = Cursor(min(end.rv, last.rv + RESUME_ENTRIES), end.seq)
        found.append((rest, clock.now_of(cluster_id) // 1000))
    return found


def snapshot(cluster_id: int) -> views.Snapshot:
    """The whole cluster as of one cursor."""
    now = moment_of(clock.now_of(cluster_id))
    with one_state():
        cluster = cluster_selectors.cluster_get(cluster_id)
        pods, left_out = cluster_selectors.pod_views(cluster_id, now)
        return views.Snapshot(
            cursor=Cursor(cluster.rv, cluster.seq),
            cluster=cluster_selectors.cluster_view(cluster),
            nodes=cluster_selectors.node_views(cluster_id),
            pods=pods,
            queue=[queue_view(row) for row in QueueState.objects.filter(cluster_id=cluster_id).order_by("pod_uid")],
            events=_event_views(cluster_id, SNAPSHOT_EVENTS),
            attempts=_attempt_views(cluster_id, SNAPSHOT_ATTEMPTS),
            throughput=throughput(cluster_id, since=now - SNAPSHOT_THROUGHPUT, until=now, seconds=1),
            pods_left_out=left_out,
        )


def _event_views(cluster_id: int, limit: int) -> list[views.EventView]:
    return with_names(cluster_id, events.newest(cluster_id, limit))


def queue_view(row: Place) -> views.QueueView:
    """Where the scheduler keeps a pod."""
    return views.QueueView(
        uid=row.pod_uid,
        key=row.pod_key,
        queue=cast(views.QueueName, str(row.queue)),
        event=row.event,
        since_ms=milliseconds(row.since),
        attempts=row.attempts,
        backoff_until_ms=milliseconds(row.backoff_until) if row.backoff_until else None,
        plugins=row.plugins,
        node=row.node_name,
    )


def pod_queue(cluster_id: int, pod: Pod) -> views.QueueView | None:
    """Where the scheduler keeps the pod; None when it does not."""
    row = QueueState.objects.filter(cluster_id=cluster_id, pod_uid=pod.uid).first()
    return queue_view(row) if row is not None else None


def _attempt_views(cluster_id: int, limit: int) -> list[views.AttemptView]:
    """The newest attempts, oldest first."""
    return [attempt_in_line(row) for row in reversed(newest_attempts(cluster_id)[:limit])]


def newest_attempts(cluster_id: int) -> QuerySet[Attempt]:
    """All attempts, the newest first, without what is long."""
    rows = Attempt.objects.defer("matrix", "digest", "rejections", "amounts", "best", "durations")
    return rows.filter(cluster_id=cluster_id).order_by("-seq")


def attempt_in_line(row: Attempt) -> views.AttemptView:
    """An attempt in one line."""
    return views.AttemptView(
        seq=row.seq,
        uid=row.pod_uid,
        key=f"{row.namespace}/{row.name}",
        attempt=row.last_attempt,
        result=row.result,
        node=row.node_name,
        message=row.message,
        evaluated=row.evaluated,
        feasible=row.feasible,
        duration_us=row.duration_us if row.last_duration_us is None else row.last_duration_us,
        at_ms=milliseconds(row.last_seen_at),
    )


def _append(found: list[views.LiveEvent], event: views.LiveEvent | None) -> None:
    if event is not None:
        found.append(event)
