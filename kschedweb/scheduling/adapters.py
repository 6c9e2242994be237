"""What the engine asks for and leaves behind, as rows.

Effects become tuples in column order, ready to be copied. Nothing here touches the database.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kschedweb.cluster.follow import moment_of
from kschedweb.cluster.services import ObjectPatch
from kschedweb.traces.choices import StepKind
from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.model.effects import Attempt, CacheMove, Effects, EventRecord, ExtenderExchange, QueueMove
from scheduler_core.trace import codec, digest, summary


@dataclass(slots=True)
class QueueRow:
    """Where a pod is in the queue or the cache now; an empty queue means it left both."""

    pod_uid: str
    pod_key: str
    queue: str = ""
    node_name: str = ""
    event: str = ""
    since: datetime | None = None
    attempts: int = 0
    backoff_until: datetime | None = None
    plugins: list[str] = field(default_factory=list)
    seq: int = 0


@dataclass(slots=True)
class StepRows:
    """Everything one step leaves behind, as rows. `seq_to` is the last position of the engine log."""

    attempts: list[tuple[Any, ...]] = field(default_factory=list)
    repeats: list[tuple[int, datetime]] = field(default_factory=list)  # (seq of the stored attempt, seen again at)
    node_orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    log: list[tuple[Any, ...]] = field(default_factory=list)
    queue: dict[str, QueueRow] = field(default_factory=dict)
    events: list[tuple[Any, ...]] = field(default_factory=list)
    seq_to: int = 0
    digest: bytes = b""


# A pod that is assumed, or waits for Permit, is shown beside the sub-queues until it is bound.
_CACHE_QUEUES = {"assumed": "assumed", "waiting": "waiting"}


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """What was stored of a pod's last attempt: the same decision made again is counted, not stored again."""

    digest: bytes
    seq: int


def step_rows(
    effects: Effects,
    *,
    kind: str,
    seq: int,
    run: int,
    step: int,
    rv: int,
    config_version: int,
    previous_digest: bytes,
    now: int,
    last_attempts: dict[str, LastAttempt],
) -> StepRows:
    """The rows of a step whose log positions begin after `seq`; digests chain on the step before.

    `last_attempts` (by pod uid) is read and brought up to date.
    """
    rows = StepRows(seq_to=seq)
    digests: list[tuple[int, bytes]] = []
    at = moment_of(now)

    def entry(kind: str, uid: str, key: str, payload: dict[str, Any]) -> int:
        rows.seq_to += 1
        rows.log.append((rows.seq_to, rv, step, kind, uid, key, payload, at))
        return rows.seq_to

    for place, attempt in enumerate(effects.attempts):
        attempt_digest = digest.attempt_digest(attempt)
        digests.append((attempt.attempt, attempt_digest))
        view = attempt_view(attempt)
        last = last_attempts.get(attempt.pod_uid)
        # What extenders answered is no part of the digest, and a replay needs every answer.
        if last is not None and last.digest == attempt_digest and not attempt.exchanges:
            # Where the walk began is no part of the digest: a repeat may have another.
            again = {"place": place, "repeats": last.seq, "start": attempt.start_index, "end": attempt.end_index}
            entry("attempt", attempt.pod_uid, attempt.pod_key, view | again)
            rows.repeats.append((last.seq, moment_of(attempt.started_at)))
            continue
        position = entry("attempt", attempt.pod_uid, attempt.pod_key, view | {"place": place})
        last_attempts[attempt.pod_uid] = LastAttempt(attempt_digest, position)
        place_of = (position, rv, config_version, run, step, place)
        rows.attempts.append(_attempt_row(attempt, place_of, attempt_digest))
        if attempt.node_order is not None:
            rows.node_orders[attempt.node_order.digest] = attempt.node_order.names
    for move in effects.moves:
        payload = queue_payload(move) if isinstance(move, QueueMove) else cache_payload(move)
        kind = "queue" if isinstance(move, QueueMove) else "cache"
        position = entry(kind, move.pod_uid, move.pod_key, payload)
        rows.queue[move.pod_uid] = _queue_row(move, rows.queue.get(move.pod_uid), position)
    for record in effects.events:
        position = entry("event", record.regarding_uid, record.regarding_key, event_payload(record))
        rows.events.append(_event_row(record, position))
    if effects.attempts or effects.exchanges or kind != StepKind.APPLY:
        told: dict[str, Any] = {"step": step, "cycles": len(effects.attempts), "kind": str(kind)}
        if effects.exchanges:
            told["extenders"] = [_exchange_payload(uid, exchange) for uid, exchange in effects.exchanges]
        entry("step", "", "", told)
    rows.digest = digest.step_digest(previous_digest, digests)
    return rows


# What VolumeBinding writes of its kinds; of others, written by custom plugins, everything but their identity.
_WRITTEN = {
    PersistentVolume.kind: (("metadata", "annotations"), ("spec", "claimRef")),
    PersistentVolumeClaim.kind: (("metadata", "annotations"),),
}
_LABELS_AND_ANNOTATIONS = ("labels", "annotations")


def object_patch(obj: KubeObject) -> ObjectPatch:
    """An object to be written, as a patch on the version it was made from: what the core does not know stays."""
    manifest = manifests.encode(obj)
    written = _WRITTEN.get(obj.kind)
    if written is None:
        patch = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind", "metadata")}
        written = tuple(("metadata", name) for name in _LABELS_AND_ANNOTATIONS)
    else:
        patch = {}
    for section, field_name in written:
        if field_name in manifest.get(section, {}):
            patch.setdefault(section, {})[field_name] = manifest[section][field_name]
    return ObjectPatch(obj.kind, obj.namespace, obj.name, obj.uid, patch, obj.metadata.resource_version)


def attempt_view(attempt: Attempt) -> dict[str, Any]:
    """An attempt in one line, as the browser's lists show it."""
    return {
        "uid": attempt.pod_uid,
        "key": attempt.pod_key,
        "attempt": attempt.attempt,
        "result": attempt.result,
        "node": attempt.node_name,
        "message": attempt.message[:300],
        "evaluated": attempt.evaluated_nodes,
        "feasible": 0 if attempt.feasible is None else len(attempt.feasible),
        "duration_us": sum(attempt.durations_ns.values()) // 1000,
        "at_ms": attempt.started_at // 1000,
    }


def queue_payload(move: QueueMove) -> dict[str, Any]:
    """A move into or out of a sub-queue."""
    return {
        "uid": move.pod_uid,
        "key": move.pod_key,
        "queue": move.to,
        "event": move.event,
        "since_ms": move.at // 1000,
        "attempts": move.attempts,
        "backoff_until_ms": None if move.backoff_expiration is None else move.backoff_expiration // 1000,
        "plugins": list(move.plugins),
        "hint": move.hint_plugin,
    }


def cache_payload(move: CacheMove) -> dict[str, Any]:
    """A pod assumed, confirmed, forgotten (with the reason) or waiting (for whom, and until when)."""
    payload: dict[str, Any] = {
        "uid": move.pod_uid,
        "key": move.pod_key,
        "node": move.node_name,
        "kind": move.kind,
        "at_ms": move.at // 1000,
    }
    if move.message:
        payload["message"] = move.message[:300]
    if move.plugins:
        payload["plugins"] = list(move.plugins)
    if move.until is not None:
        payload["until_ms"] = move.until // 1000
    return payload


def _exchange_payload(pod_uid: str, exchange: ExtenderExchange) -> dict[str, Any]:
    """What an extender said to a binding that came later than its attempt."""
    return {
        "uid": pod_uid,
        "extender": exchange.extender,
        "point": exchange.point,
        "request": exchange.request_digest.hex(),
        "answer": None if exchange.answer is None else b64encode(exchange.answer).decode(),
        "error": exchange.error,
    }


def event_payload(record: EventRecord) -> dict[str, Any]:
    """An event, as the ticker shows it."""
    return {
        "type": record.type,
        "reason": record.reason,
        "note": record.note,
        "key": record.regarding_key,
        "at_ms": record.at // 1000,
    }


def split_key(key: str) -> tuple[str, str]:
    """`namespace/name` -> (namespace, name); a cluster-scoped name has no namespace."""
    namespace, slash, name = key.partition("/")
    return (namespace, name) if slash else ("", namespace)


def _attempt_row(attempt: Attempt, place_of: tuple[int, ...], attempt_digest: bytes) -> tuple[Any, ...]:
    """In the order of `services.ATTEMPT_COLUMNS`."""
    namespace, name = split_key(attempt.pod_key)
    told = summary.summarize(attempt)
    return (
        *place_of,
        attempt.pod_uid,
        namespace,
        name,
        attempt.attempt,
        attempt.profile,
        attempt.result,
        attempt.node_name,
        attempt.nominated_node_name,
        attempt.message,
        moment_of(attempt.started_at),
        sum(attempt.durations_ns.values()) // 1000,
        {phase: nanoseconds // 1000 for phase, nanoseconds in attempt.durations_ns.items()},
        attempt.evaluated_nodes,
        0 if attempt.feasible is None else len(attempt.feasible),
        list(attempt.unschedulable_plugins),
        [
            {"plugin": reason.plugin, "reason": reason.reason, "code": reason.code, "count": reason.count}
            for reason in told.rejections
        ],
        sorted({word for reason in told.rejections for word in (reason.plugin, reason.reason) if word}),
        [{"node": best.node_name, "total": best.total, "scores": best.scores} for best in told.best],
        _preemption_view(told.preemption),
        attempt.node_order.digest if attempt.node_order else "",
        codec.encode(attempt),
        attempt_digest,
        0,
        moment_of(attempt.started_at),
    )


def _preemption_view(told: summary.PreemptionSummary | None) -> dict[str, Any] | None:
    if told is None:
        return None
    return {
        "tried": told.tried,
        "candidates": told.candidates,
        "tied": told.tied,
        "node": told.node_name,
        "victims": list(told.victims),
        "num_victims": told.num_victims,
        "num_pdb_violations": told.num_pdb_violations,
        "cleared": list(told.cleared_nominations),
    }


def _queue_row(move: QueueMove | CacheMove, before: QueueRow | None, seq: int) -> QueueRow:
    if isinstance(move, QueueMove):
        return QueueRow(
            pod_uid=move.pod_uid,
            pod_key=move.pod_key,
            queue=move.to,
            event=move.event,
            since=moment_of(move.at),
            attempts=move.attempts,
            backoff_until=None if move.backoff_expiration is None else moment_of(move.backoff_expiration),
            plugins=list(move.plugins),
            seq=seq,
        )
    queue = _CACHE_QUEUES.get(move.kind, "")
    if not queue and before is not None and before.queue not in _CACHE_QUEUES.values():
        return before  # forgotten after it was put back: the queue's word stands
    return QueueRow(
        pod_uid=move.pod_uid,
        pod_key=move.pod_key,
        queue=queue,
        node_name=move.node_name,
        event=move.kind,
        since=moment_of(move.at),
        attempts=before.attempts if before else 0,
        seq=seq,
    )


def _event_row(record: EventRecord, seq: int) -> tuple[Any, ...]:
    """In the order of `services.EVENT_COLUMNS`."""
    namespace, name = split_key(record.regarding_key)
    at = moment_of(record.at)
    # The pod's name and the position make a name no other event has.
    return (
        seq,
        namespace or "default",
        f"{name}.{seq:x}",
        record.type,
        record.reason,
        record.action,
        record.note,
        record.regarding_kind,
        namespace,
        name,
        record.regarding_uid,
        record.reporter,
        1,
        at,
        at,
    )
