"""What the engine asks for and leaves behind, as rows.

Effects become tuples in column order, ready to be copied. Nothing here touches the database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

import msgspec

from kschedweb.scheduling.comparisons import comparison_row, split_key
from kschedweb.scheduling.exchanges import exchange_payload
from kschedweb.scheduling.remembered import LastAttempt, Remembered
from kschedweb.traces.choices import StepKind
from kschedweb.traces.models import BestNodesField
from scheduler_core.api.times import moment_of
from scheduler_core.model.amounts import packed
from scheduler_core.model.effects import (
    Attempt,
    CacheMove,
    Effects,
    EventRecord,
    QueueMove,
)
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

    made: list[tuple[Attempt, tuple[int, ...], bytes]] = field(default_factory=list)  # with its place and its digest
    repeats: list[tuple[int, datetime, dict[str, Any]]] = field(
        default_factory=list
    )  # (seq of what is stored, at, told)
    counted: list[tuple[int, int]] = field(default_factory=list)  # (seq of the stored event, seen how often)
    node_orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    log: list[tuple[Any, ...]] = field(default_factory=list)
    queue: dict[str, QueueRow] = field(default_factory=dict)
    events: list[tuple[Any, ...]] = field(default_factory=list)
    comparisons: list[tuple[Any, ...]] = field(default_factory=list)
    results: dict[str, int] = field(default_factory=dict)  # attempts by how they ended, repeats among them
    queued: Mapping[str, int] | None = None  # sizes of the sub-queues after the step; None: as before, no attempt
    seq_to: int = 0
    digest: bytes = b""

    def attempts(self) -> list[tuple[Any, ...]]:
        """Rows of attempts with their matrices: much work, which nothing else of the step waits for."""
        return [attempt_row(*made) for made in self.made]


# A pod that is assumed, or waits for Permit, is shown beside the sub-queues until it is bound.
CACHE_QUEUES = {"assumed": "assumed", "waiting": "waiting"}


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
    remembered: Remembered,
    tried: Mapping[str, int] = MappingProxyType({}),
    queued: Mapping[str, int] | None = None,
) -> StepRows:
    """The rows of a step whose log positions begin after `seq`, in the order of `effects.log`; digests chain.

    `remembered` is read and brought up to date; `tried`: how often pods, by uid, were tried before a rebuild;
    `queued`: the sizes of the sub-queues after the step, where it changed them.
    """
    rows = StepRows(seq_to=seq, queued=queued, results=dict(Counter(one.result for one in effects.attempts)))
    writer = _LogWriter(rows, rv, step, now, moment_of(now), remembered, dict(tried), (rv, config_version, run, step))
    for entry in effects.log:
        if isinstance(entry, Attempt):
            writer.attempt(entry)
        elif isinstance(entry, EventRecord):
            writer.event(entry)
        else:
            writer.move(entry)
    rows.comparisons = [comparison_row(each, writer.attempt_seqs) for each in effects.comparisons]
    if rows.counted:
        rows.counted = list(dict(rows.counted).items())
        writer.entry("event", "", "", {"counts": rows.counted})
    cycles = len(writer.digests)
    if cycles or effects.exchanges or queued is not None or kind != StepKind.APPLY:
        told: dict[str, Any] = {"step": step, "cycles": cycles, "kind": str(kind)}
        if rows.results:
            told["results"] = rows.results
        if queued is not None:
            told["queued"] = queued
        if effects.exchanges:
            told["extenders"] = [exchange_payload(uid, exchange) for uid, exchange in effects.exchanges]
        writer.entry("step", "", "", told)
    rows.digest = digest.step_digest(previous_digest, writer.digests)
    return rows


@dataclass(slots=True)
class _LogWriter:
    """Numbers what happened in a step, as it comes, and keeps what each entry means for other tables.

    `tried`: by uid, the number of the pod's last attempt so far. `place_of`: what the rows of a step's attempts share.
    """

    rows: StepRows
    rv: int
    step: int
    now: int
    at: datetime
    remembered: Remembered
    tried: dict[str, int]
    place_of: tuple[int, ...]
    digests: list[tuple[int, bytes]] = field(default_factory=list)
    attempt_seqs: dict[tuple[str, int], int] = field(default_factory=dict)  # by pod uid and number

    def entry(self, kind: str, uid: str, key: str, payload: dict[str, Any]) -> int:
        """Append to the log; the position."""
        rows = self.rows
        rows.seq_to += 1
        rows.log.append((rows.seq_to, self.rv, self.step, kind, uid, key, payload, self.at))
        return rows.seq_to

    def attempt(self, attempt: Attempt) -> None:
        """One that repeats the pod's last is counted on that one's row, any other gets a row of its own."""
        rows, remembered, uid, key = self.rows, self.remembered, attempt.pod_uid, attempt.pod_key
        place, attempt_digest = len(self.digests), attempt.digest or digest.attempt_digest(attempt)
        self.digests.append((attempt.attempt, attempt_digest))
        self.tried[uid] = attempt.attempt
        # What extenders answered is no part of the digest, and a replay needs every answer.
        stored = None if attempt.exchanges else remembered.attempt_repeated(uid, attempt_digest, attempt.started_at)
        if stored is not None:
            self.attempt_seqs[uid, attempt.attempt] = stored
            self.entry("attempt", uid, key, repeat_payload(attempt) | {"place": place, "repeats": stored})
            rows.repeats.append((stored, moment_of(attempt.started_at), _last_repeat(attempt)))
            return
        position = self.entry("attempt", uid, key, attempt_payload(attempt) | {"place": place})
        self.attempt_seqs[uid, attempt.attempt] = position
        if attempt.result == "scheduled":
            remembered.attempts.pop(uid, None)
        else:
            remembered.attempts[uid] = LastAttempt(attempt_digest, position, attempt.started_at)
        rows.made.append((attempt, (position, *self.place_of, place), attempt_digest))
        if attempt.node_order is not None:
            rows.node_orders[attempt.node_order.digest] = attempt.node_order.names

    def move(self, move: QueueMove | CacheMove) -> None:
        """Of a pod's moves the last one says where it stands after the step."""
        uid, tried = move.pod_uid, self.tried.get(move.pod_uid, 0)
        if isinstance(move, QueueMove):
            position = self.entry("queue", uid, move.pod_key, queue_payload(move, self.now))
            if not move.to:
                self.remembered.attempts.pop(uid, None)
        else:
            position = self.entry("cache", uid, move.pod_key, cache_payload(move, self.now, tried))
        self.rows.queue[uid] = queue_row(move, self.rows.queue.get(uid), position, tried)

    def event(self, record: EventRecord) -> None:
        """A new event gets an entry; of one seen before only the count goes up, told at the end of the step."""
        key = (record.regarding_uid, record.type, record.reason, record.action, record.reporter)
        warns = record.type == "Warning"
        series = self.remembered.event_counted(key, record.at) if warns else None
        if series is not None:
            self.rows.counted.append((series.seq, series.count))
            return
        position = self.entry("event", record.regarding_uid, record.regarding_key, event_payload(record, self.now))
        self.rows.events.append(_event_row(record, position))
        if warns:
            self.remembered.event_stored(key, position, record.at)


def attempt_payload(attempt: Attempt) -> dict[str, Any]:
    """An attempt in one line, as the browser's lists show it. Of this and all payloads: see EngineLog.full_payload."""
    payload = repeat_payload(attempt) | {
        "evaluated": attempt.evaluated_nodes,
        "feasible": 0 if attempt.feasible is None else len(attempt.feasible),
    }
    if attempt.node_name:
        payload["node"] = attempt.node_name
    if attempt.message:
        payload["message"] = attempt.message[:300]
    return payload


def repeat_payload(attempt: Attempt) -> dict[str, Any]:
    """What an attempt has of its own when it repeats another.

    Where the walk began is no part of the digest: a repeat may have begun elsewhere.
    """
    return {
        "attempt": attempt.attempt,
        "result": attempt.result,
        "duration_us": _duration_us(attempt),
        "start": attempt.start_index,
        "end": attempt.end_index,
    }


def queue_payload(move: QueueMove, now: int) -> dict[str, Any]:
    """A move into or out of a sub-queue."""
    payload: dict[str, Any] = {"queue": move.to, "event": move.event}
    if move.attempts:
        payload["attempts"] = move.attempts
    if move.at != now:
        payload["since_ms"] = move.at // 1000
    if move.backoff_expiration is not None:
        payload["backoff_until_ms"] = move.backoff_expiration // 1000
    if move.plugins:
        payload["plugins"] = list(move.plugins)
    if move.hint_plugin:
        payload["hint"] = move.hint_plugin
    return payload


def cache_payload(move: CacheMove, now: int, tried: int) -> dict[str, Any]:
    """A pod assumed, confirmed, forgotten (with the reason) or waiting (for whom, and until when)."""
    payload: dict[str, Any] = {"node": move.node_name, "kind": move.kind}
    if tried and move.kind in CACHE_QUEUES:
        payload["attempts"] = tried
    if move.at != now:
        payload["at_ms"] = move.at // 1000
    if move.message:
        payload["message"] = move.message[:300]
    if move.plugins:
        payload["plugins"] = list(move.plugins)
    if move.until is not None:
        payload["until_ms"] = move.until // 1000
    return payload


def event_payload(record: EventRecord, now: int) -> dict[str, Any]:
    """An event, as the ticker shows it."""
    payload: dict[str, Any] = {"type": record.type, "reason": record.reason, "note": record.note}
    if record.at != now:
        payload["at_ms"] = record.at // 1000
    return payload


def _last_repeat(attempt: Attempt) -> dict[str, Any]:
    """What the row of the attempt it repeats keeps of it, see traces.models.Attempt."""
    return {"attempt": attempt.attempt, "duration_us": _duration_us(attempt), "durations": _durations_us(attempt)}


def _duration_us(attempt: Attempt) -> int:
    return sum(attempt.durations_ns.values()) // 1000


def _durations_us(attempt: Attempt) -> dict[str, int]:
    """By phase."""
    return {phase: nanoseconds // 1000 for phase, nanoseconds in attempt.durations_ns.items()}


def attempt_row(attempt: Attempt, place_of: tuple[int, ...], attempt_digest: bytes) -> tuple[Any, ...]:
    """In the order of `services.ATTEMPT_COLUMNS`."""
    return (
        *attempt_decided(attempt, place_of),
        codec.encode(attempt),
        attempt_digest,
        _duration_us(attempt),
        _durations_us(attempt),
        0,
        moment_of(attempt.started_at),
    )


def attempt_decided(attempt: Attempt, place_of: tuple[int, ...]) -> tuple[Any, ...]:
    """In the order of `services.DECIDED_COLUMNS`."""
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
        attempt.evaluated_nodes,
        told.feasible,
        list(attempt.unschedulable_plugins),
        [
            {"plugin": reason.plugin, "reason": reason.reason, "code": reason.code, "count": reason.count}
            for reason in told.rejections
        ],
        [packed(reason.amounts) for reason in told.rejections] if attempt.amounts else None,
        sorted({word for reason in told.rejections for word in (reason.plugin, reason.reason) if word}),
        BestNodesField.pack([(best.node_name, best.total, best.scores) for best in told.best]),
        _preemption_view(told.preemption),
        told.tied,
        attempt.nominated is not None and attempt.nominated.fits,
        attempt.node_order.digest if attempt.node_order else "",
        None if attempt.devices is None else msgspec.to_builtins(attempt.devices),
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
        "decided_by": told.decided_by,
    }


def queue_row(move: QueueMove | CacheMove, before: QueueRow | None, seq: int, tried: int) -> QueueRow:
    """Where the pod stands after one of its moves in a step; `before`: after the one before in the same step."""
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
    queue = CACHE_QUEUES.get(move.kind, "")
    if not queue and before is not None and before.queue not in CACHE_QUEUES.values():
        return before  # forgotten after it was put back: the queue's word stands
    return QueueRow(
        pod_uid=move.pod_uid,
        pod_key=move.pod_key,
        queue=queue,
        node_name=move.node_name,
        event=move.kind,
        since=moment_of(move.at),
        attempts=max(before.attempts if before else 0, tried),
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
