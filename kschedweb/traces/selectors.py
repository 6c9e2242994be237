"""Reads of the traces: the live feed's source, the snapshot, attempts, and what a cluster's pods wait for."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import orjson
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.cluster.choices import TERMINAL_PHASES
from kschedweb.cluster.models import Cluster, Pod
from kschedweb.cluster.selectors import milliseconds
from kschedweb.common.errors import GoneError, NotFoundError
from kschedweb.common.reading import one_state
from kschedweb.live import events
from kschedweb.live.events import Cursor
from kschedweb.live.feed import ENTRIES_PER_FRAME, RESUME_ENTRIES, LogRange
from kschedweb.traces import adapters
from kschedweb.traces.choices import LogKind
from kschedweb.traces.models import Attempt, EngineLog, NodeOrder, QueueState

SNAPSHOT_EVENTS = 200
SNAPSHOT_ATTEMPTS = 200

_ATTEMPT_FIELDS = frozenset(events.AttemptView.__dataclass_fields__)
_QUEUE_FIELDS = frozenset(events.QueueView.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class PendingReason:
    """How many unassigned pods were last refused by this plugin for this reason."""

    plugin: str
    reason: str
    pods: int


@dataclass(frozen=True, slots=True)
class PendingSummary:
    """The pods without a node: how many, where they stand, what refused them."""

    pods: int
    queues: dict[str, int]
    reasons: list[PendingReason]


@dataclass(frozen=True, slots=True)
class FirstAttempts:
    """A digest over the first attempt of each pod, and how many pods had one."""

    digest: str
    attempts: int
    scheduled: int


def head(cluster_id: int) -> Cursor | None:
    """Where both logs end; None when there is no such cluster."""
    row = Cluster.objects.filter(pk=cluster_id).values_list("rv", "seq").first()
    return Cursor(*row) if row is not None else None


def log_range(cluster_id: int, after: Cursor, limit: int) -> LogRange:
    """The next entries past `after`, at most `limit` of each log, in an order in which they can be applied.

    Where entries have been cleared away the range ends at `after`.
    """
    end = head(cluster_id)
    if end is None:
        return LogRange(after, ())
    # Both ends are committed, so every entry up to them is visible; what comes meanwhile is for the next range.
    to = Cursor(max(after.rv, min(end.rv, after.rv + limit)), max(after.seq, min(end.seq, after.seq + limit)))
    changes = cluster_selectors.change_rows(cluster_id, after.rv, to.rv)
    entries = list(EngineLog.objects.filter(cluster_id=cluster_id, seq__gt=after.seq, seq__lte=to.seq).order_by("seq"))
    if len(changes) < to.rv - after.rv or len(entries) < to.seq - after.seq:
        return LogRange(after, ())
    found: list[events.LiveEvent] = []
    place = 0
    for entry in entries:
        # The engine had seen these changes when it wrote the entry.
        while place < len(changes) and changes[place].rv <= entry.rv:
            _append(found, cluster_selectors.change_event(changes[place]))
            place += 1
        _append(found, log_event(entry))
    for change in changes[place:]:
        _append(found, cluster_selectors.change_event(change))
    return LogRange(to, found)


def log_event(entry: EngineLog) -> events.EngineLogEvent | None:
    """What browsers are told of an entry of the engine log."""
    payload: dict[str, Any] = entry.payload
    if entry.kind == LogKind.QUEUE:
        view = events.QueueView(**{key: value for key, value in payload.items() if key in _QUEUE_FIELDS})
        return events.QueueMove(seq=entry.seq, move=view)
    if entry.kind == LogKind.CACHE:
        return events.CacheMoved(
            seq=entry.seq,
            uid=payload["uid"],
            key=payload["key"],
            node=payload["node"],
            kind=payload["kind"],
            at_ms=payload["at_ms"],
        )
    if entry.kind == LogKind.ATTEMPT:
        values = {key: value for key, value in payload.items() if key in _ATTEMPT_FIELDS}
        # A repeat is stored with the attempt it repeats.
        values["seq"] = payload.get("repeats", entry.seq)
        return events.AttemptMade(seq=entry.seq, attempt=events.AttemptView(**values))
    if entry.kind == LogKind.EVENT:
        return events.EventNoted(seq=entry.seq, event=events.EventView(seq=entry.seq, **payload))
    return events.StepDone(seq=entry.seq, step=entry.step, cycles=payload["cycles"], kind=payload["kind"])


def frames_after(cluster_id: int, after: Cursor) -> Iterator[events.Frame]:
    """What a browser at `after` has missed; GoneError when that is too much to catch up with."""
    end = head(cluster_id)
    if end is None:
        raise NotFoundError("the cluster does not exist", cluster=cluster_id)
    ahead = after.rv > end.rv or after.seq > end.seq
    if ahead or sum(end) - sum(after) > RESUME_ENTRIES:
        raise GoneError("the cursor is too far from the end of the logs: fetch the snapshot", cursor=list(end))
    while after.rv < end.rv or after.seq < end.seq:
        found = log_range(cluster_id, after, ENTRIES_PER_FRAME)
        if found.to == after:
            raise GoneError("what follows the cursor has been cleared away: fetch the snapshot", cursor=list(end))
        at = milliseconds(timezone.now())
        yield events.Frame(from_=after, to=found.to, at=at, events=found.events)
        after = found.to


def snapshot(cluster_id: int) -> events.Snapshot:
    """The whole cluster as of one cursor."""
    now = timezone.now()
    with one_state():
        cluster = cluster_selectors.cluster_get(cluster_id)
        pods, left_out = cluster_selectors.pod_views(cluster_id, now)
        return events.Snapshot(
            cursor=Cursor(cluster.rv, cluster.seq),
            cluster=cluster_selectors.cluster_view(cluster),
            nodes=cluster_selectors.node_views(cluster_id),
            pods=pods,
            queue=[queue_view(row) for row in QueueState.objects.filter(cluster_id=cluster_id).order_by("pod_uid")],
            events=cluster_selectors.event_views(cluster_id, SNAPSHOT_EVENTS),
            attempts=_attempt_views(cluster_id, SNAPSHOT_ATTEMPTS),
            pods_left_out=left_out,
        )


def queue_view(row: QueueState) -> events.QueueView:
    return events.QueueView(
        uid=row.pod_uid,
        key=row.pod_key,
        queue=cast(events.QueueName, str(row.queue)),
        event=row.event,
        since_ms=milliseconds(row.since),
        attempts=row.attempts,
        backoff_until_ms=milliseconds(row.backoff_until) if row.backoff_until else None,
        plugins=row.plugins,
        node=row.node_name,
    )


def pod_queue(cluster_id: int, pod: Pod) -> events.QueueView | None:
    """Where the scheduler keeps the pod; None when it does not."""
    row = QueueState.objects.filter(cluster_id=cluster_id, pod_uid=pod.uid).first()
    return queue_view(row) if row is not None else None


def pod_attempts(cluster_id: int, namespace: str, name: str) -> QuerySet[Attempt]:
    """The attempts of the pod that has this name now, or of all that had it; without matrices."""
    pod = Pod.objects.filter(cluster_id=cluster_id, namespace=namespace, name=name).values_list("uid", flat=True)
    attempts = Attempt.objects.defer("matrix", "digest").filter(cluster_id=cluster_id)
    uid = pod.first()
    return attempts.filter(pod_uid=uid) if uid is not None else attempts.filter(namespace=namespace, name=name)


def attempt_get(cluster_id: int, seq: int) -> Attempt:
    attempt = Attempt.objects.filter(cluster_id=cluster_id, seq=seq).first()
    if attempt is None:
        raise NotFoundError("the attempt does not exist", seq=seq)
    return attempt


def attempt_matrix(attempt: Attempt) -> dict[str, Any] | None:
    """The attempt's matrix, node by node; None when none was kept."""
    if attempt.matrix is None:
        return None
    order = NodeOrder.objects.filter(cluster_id=attempt.cluster_id, digest=attempt.node_order).first()
    names = adapters.node_names(bytes(order.names)) if order is not None else ()
    try:
        return adapters.matrix_view(bytes(attempt.matrix), names)
    except adapters.TraceError as error:
        raise NotFoundError(f"the matrix of this attempt cannot be read: {error}", seq=attempt.seq) from error


def first_attempts(cluster_id: int) -> FirstAttempts:
    """The digest over node and reasons of every pod's first attempt, by the pods' names: equal for equal decisions."""
    rows = (
        Attempt.objects.filter(cluster_id=cluster_id)
        .order_by("namespace", "name", "pod_uid", "seq")
        .distinct("namespace", "name", "pod_uid")
        .values_list("namespace", "name", "result", "node_name", "message", "rejections")
    )
    summed = hashlib.sha256()
    count = scheduled = 0
    for namespace, name, result, node_name, message, rejections in rows.iterator(chunk_size=2000):
        reasons = sorted((one["plugin"], one["reason"], one["count"]) for one in rejections)
        summed.update(orjson.dumps([namespace, name, result, node_name, message, reasons]) + b"\n")
        count += 1
        scheduled += bool(node_name)
    return FirstAttempts(digest=summed.hexdigest(), attempts=count, scheduled=scheduled)


def pending_summary(cluster_id: int) -> PendingSummary:
    """What the unassigned pods wait for, the most frequent reason first."""
    queues: dict[str, int] = {}
    for queue in QueueState.objects.filter(cluster_id=cluster_id).values_list("queue", flat=True):
        queues[queue] = queues.get(queue, 0) + 1
    pending = Pod.objects.filter(cluster_id=cluster_id, node_name="").exclude(phase__in=TERMINAL_PHASES)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT told.plugin, told.reason, count(DISTINCT pod.uid)
            FROM cluster_pod AS pod
            CROSS JOIN LATERAL (
                SELECT rejections FROM traces_attempt AS attempt
                WHERE attempt.cluster_id = pod.cluster_id AND attempt.pod_uid = pod.uid
                ORDER BY attempt.seq DESC LIMIT 1
            ) AS last
            CROSS JOIN LATERAL jsonb_to_recordset(last.rejections) AS told (plugin text, reason text)
            WHERE pod.cluster_id = %s AND pod.node_name = '' AND NOT pod.phase = ANY (%s)
            GROUP BY told.plugin, told.reason ORDER BY 3 DESC, told.plugin, told.reason LIMIT 50
            """,
            [cluster_id, [str(phase) for phase in TERMINAL_PHASES]],
        )
        reasons = [PendingReason(*row) for row in cursor.fetchall()]
    return PendingSummary(pods=pending.count(), queues=dict(sorted(queues.items())), reasons=reasons)


def _attempt_views(cluster_id: int, limit: int) -> list[events.AttemptView]:
    """The newest attempts, oldest first."""
    rows = Attempt.objects.defer("matrix", "digest", "rejections", "best", "durations").filter(cluster_id=cluster_id)
    return [
        events.AttemptView(
            seq=row.seq,
            uid=row.pod_uid,
            key=f"{row.namespace}/{row.name}",
            attempt=row.attempt,
            result=row.result,
            node=row.node_name,
            message=row.message,
            evaluated=row.evaluated,
            feasible=row.feasible,
            duration_us=row.duration_us,
            at_ms=milliseconds(row.started_at),
        )
        for row in reversed(rows.order_by("-seq")[:limit])
    ]


def _append(found: list[events.LiveEvent], event: events.LiveEvent | None) -> None:
    if event is not None:
        found.append(event)
