"""Writes of the scheduler: a step's transaction.

It holds the fence first and takes the cluster's counter last (the store's `commit`); right before that it
counts what it did (`throughput_add`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

import orjson
import zstandard
from django.db import connection, models, transaction
from django.utils import timezone

from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.changes import ChangeEntry
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.follow import PRE_BIND_VERDICT
from kschedweb.cluster.models import Event
from kschedweb.common import bulk, wake
from kschedweb.scheduling import leases
from kschedweb.scheduling.adapters import QueueRow, StepRows
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, Eviction
from kschedweb.traces import services as trace_services
from kschedweb.traces.models import Attempt, Comparison, EngineLog, NodeOrder, QueueState
from scheduler_core.apiserver.effects import claim_requests, claim_verdicts, status_request, write_requests
from scheduler_core.apiserver.requests import Request
from scheduler_core.apiserver.server import changes_of
from scheduler_core.model.changes import PreBindVerdict
from scheduler_core.model.effects import BindingRequest, Effects, EvictionRequest

SCHEDULER_ACTOR = "scheduler"

# Of an attempt's row what was found and decided, but for the matrix and the digest.
DECIDED_COLUMNS = (
    *("seq", "rv", "config_version", "run", "step", "place"),
    *("pod_uid", "namespace", "name", "attempt", "profile", "result", "node_name"),
    *("nominated_node_name", "message", "started_at", "evaluated", "feasible", "unschedulable_plugins"),
    *("rejections", "amounts", "refused", "best", "preemption", "tied", "tried_first", "node_order", "devices"),
)
ATTEMPT_COLUMNS = [
    *DECIDED_COLUMNS,
    *("matrix", "digest", "duration_us", "durations", "repeat_count", "last_seen_at"),
]
LOG_COLUMNS = ["seq", "rv", "step", "kind", "pod_uid", "pod_key", "payload", "at"]
EVENT_COLUMNS = [
    *("seq", "namespace", "name", "type", "reason", "action", "note", "regarding_kind", "regarding_namespace"),
    *("regarding_name", "regarding_uid", "reporter", "count", "first_at", "last_at"),
]

COMPARISON_COLUMNS = [
    *("seq", "pod_uid", "namespace", "name", "profile", "outcome", "node_name", "own_node_name", "plugin", "reason"),
    *("own_score", "score", "own_total", "total", "cause", "behind", "tries", "at"),
]


@dataclass(frozen=True, slots=True)
class StepPosition:
    """Where a step stands: `log_from` < rv <= `log_to` is what it took from the change log."""

    cluster_id: int
    epoch: int
    run: int
    step: int
    kind: str
    log_from: int
    log_to: int
    seq_from: int
    now_us: int
    now: datetime
    cycles: int
    config_version: int
    next_due_at: datetime | None
    pace_steps_done: int
    began_from: bytes | None = None  # of the first step of a run


_POSITION = tuple(StepPosition.__dataclass_fields__)
# The row of the cluster is locked from here on: the step has the end of the change log that its own changes follow.
_STEP = """
WITH moved AS (
    UPDATE cluster_cluster SET seq = %(seq_to)s, pace_steps_done = pace_steps_done + %(pace_steps_done)s,
        step_seq = CASE WHEN step_rv = rv THEN step_seq ELSE seq END, step_rv = rv
    WHERE id = %(cluster_id)s RETURNING rv, step_seq
)
INSERT INTO traces_enginestep (cluster_id, run, epoch, step, kind, log_from, log_to, seq_from, seq_to, now, now_us,
    cycles, config_version, digest, rv, seq_at_rv, began_from)
SELECT %(cluster_id)s, %(run)s, %(epoch)s, %(step)s, %(kind)s, %(log_from)s, %(log_to)s, %(seq_from)s, %(seq_to)s,
    %(now)s, %(now_us)s, %(cycles)s, %(config_version)s, %(digest)s, moved.rv, moved.step_seq,
    %(began_from)s::bytea FROM moved
"""
_ENGINE = """
INSERT INTO engine_states AS row (cluster_id, epoch, run, step, rv_seen, digest, config_version, checkpoint_wanted,
    next_due_at, updated_at)
VALUES (%(cluster_id)s, %(epoch)s, %(run)s, %(step)s, %(log_to)s, %(digest)s, %(config_version)s, false,
    %(next_due_at)s, %(updated_at)s)
ON CONFLICT (cluster_id) DO UPDATE SET epoch = EXCLUDED.epoch, run = EXCLUDED.run, step = EXCLUDED.step,
    rv_seen = EXCLUDED.rv_seen, digest = EXCLUDED.digest, config_version = EXCLUDED.config_version,
    next_due_at = EXCLUDED.next_due_at, updated_at = EXCLUDED.updated_at
"""


def step_commit(*, position: StepPosition, rows: StepRows, effects: Effects, rebuilt: bool) -> None:
    """Make a step's decisions visible with all their records, or raise: FencedOutError when the epoch is over.

    A `rebuilt` engine tells anew where every pod stands; what the one before said is dropped.
    """
    cluster_id = position.cluster_id
    with transaction.atomic(), bulk.together(len(rows.log)):
        leases.fence_hold(cluster_id=cluster_id, epoch=position.epoch)
        attempts: list[tuple[Any, ...]] = []
        # Matrices are packed while PostgreSQL is busy with the log.
        _copy(EngineLog, LOG_COLUMNS, cluster_id, rows.log, meanwhile=lambda: attempts.extend(rows.attempts()))
        _node_orders_insert(cluster_id, rows.node_orders)
        _copy(Attempt, ATTEMPT_COLUMNS, cluster_id, attempts)
        _repeats_count(cluster_id, rows.repeats)
        _copy(Event, EVENT_COLUMNS, cluster_id, rows.events)
        _events_count(cluster_id, rows.counted, position.now)
        _copy(Comparison, COMPARISON_COLUMNS, cluster_id, _with_attempts(cluster_id, rows.comparisons))
        _work_insert(Binding, position, effects.bindings)
        _work_insert(Eviction, position, effects.evictions)
        server = cluster_services.server_of(cluster_id, SCHEDULER_ACTOR)
        requests: list[Request] = [status_request(patch) for patch in effects.status_patches]
        requests += chain.from_iterable(map(write_requests, effects.writes))
        own = len(requests)
        requests += claim_requests(effects.claim_writes)
        decided = server.decide(requests, position.now_us)
        # A claim is written in the transaction that decided it, so that it is neither lost nor written twice.
        verdicts = claim_verdicts(effects.claim_writes, decided[own:])
        if rebuilt:
            QueueState.objects.filter(cluster_id=cluster_id).delete()
        _queue_states_put(cluster_id, rows.queue.values())
        if rows.queued is not None:
            trace_services.throughput_add(
                cluster_id=cluster_id, at=position.now, run=position.run, results=rows.results, queued=rows.queued
            )
        _step_insert(position, rows)
        work = ((wake.BINDINGS_CHANNEL, effects.bindings), (wake.EVICTIONS_CHANNEL, effects.evictions))
        server.store.commit(
            changes_of(decided),
            position.now_us,
            list(_verdict_entries(effects, verdicts)),
            tell=[channel for channel, ordered in work if ordered],
        )
        if effects.writes or effects.claim_writes:
            wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
            wake.after_commit("lifecycle.tick", cluster_id=cluster_id)
        if effects.bindings:
            wake.once_after_commit("scheduling.bindings_run", cluster_id=cluster_id)
        if effects.evictions:
            wake.once_after_commit("scheduling.bindings_evict", cluster_id=cluster_id)


def _verdict_entries(effects: Effects, verdicts: Sequence[PreBindVerdict]) -> Iterator[ChangeEntry]:
    """What pods that wait for their claims are told, for the log."""
    pods = {write.pod_uid: (write.namespace, write.pod_name) for write in effects.claim_writes}
    for verdict in verdicts:
        namespace, name = pods[verdict.pod_uid]
        yield ChangeEntry(
            kind=PRE_BIND_VERDICT,
            namespace=namespace,
            name=name,
            uid=verdict.pod_uid,
            operation=Operation.VERDICT,
            payload={
                "pod_uid": verdict.pod_uid,
                "plugin": verdict.plugin,
                "done": verdict.done,
                "message": verdict.message,
            },
            actor=SCHEDULER_ACTOR,
        )


def _work_insert(
    model: type[Binding] | type[Eviction], position: StepPosition, requests: Sequence[BindingRequest | EvictionRequest]
) -> None:
    own = "attempt" if model is Binding else "preemptor_uid"
    columns = ["epoch", "pod_uid", "namespace", "name", "node_name", "status", "message", "created_at", own]
    rows = [
        (
            position.epoch,
            request.pod_uid,
            request.namespace,
            request.name,
            request.node_name,
            WorkStatus.PENDING.value,
            getattr(request, "message", ""),
            position.now,
            getattr(request, own),
        )
        for request in requests
    ]
    _copy(model, columns, position.cluster_id, rows)


def _with_attempts(cluster_id: int, comparisons: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """The rows with the positions of their attempts: that of a decision which stayed open is of a step before."""
    uids = [uid for seq, uid, *_ in comparisons if seq is None]
    if not uids:
        return comparisons
    found = bulk.read_rows(
        f"SELECT pod_uid, max(seq) FROM {Attempt._meta.db_table}"
        " WHERE cluster_id = %s AND pod_uid = ANY (%b::text[]) GROUP BY pod_uid",
        [cluster_id, uids],
    )
    seqs = dict(found)
    return [(seqs.get(uid, 0) if seq is None else seq, uid, *more) for seq, uid, *more in comparisons]


def _node_orders_insert(cluster_id: int, orders: dict[str, tuple[str, ...]]) -> None:
    """Keep the orders no attempt has referred to so far; most steps bring none."""
    if not orders:
        return
    known = bulk.read_rows(
        f"SELECT digest FROM {NodeOrder._meta.db_table} WHERE cluster_id = %s AND digest = ANY (%b::text[])",
        [cluster_id, list(orders)],
    )
    new = [digest for digest in orders if (digest,) not in known]
    if new:
        NodeOrder.objects.bulk_create(
            [
                NodeOrder(cluster_id=cluster_id, digest=digest, names=zstandard.compress(orjson.dumps(orders[digest])))
                for digest in new
            ],
            ignore_conflicts=True,
        )


def _repeats_count(cluster_id: int, repeats: Sequence[tuple[int, datetime, dict[str, Any]]]) -> None:
    """Count attempts made again; several repeats of one in a step are several entries, of which the last is kept."""
    if not repeats:
        return
    counted = Counter(seq for seq, _, _ in repeats)
    seen = {seq: seen_at for seq, seen_at, _ in repeats}
    last = {seq: orjson.dumps(told).decode() for seq, _, told in repeats}
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {Attempt._meta.db_table} AS row"
            " SET repeat_count = row.repeat_count + n, last_seen_at = seen_at, last_repeat = told::json"
            " FROM unnest(%s::bigint[], %s::int[], %s::timestamptz[], %s::text[]) AS given (seq, n, seen_at, told)"
            " WHERE row.cluster_id = %s AND row.seq = given.seq",
            [list(counted), *(list(each.values()) for each in (counted, seen, last)), cluster_id],
        )


def _events_count(cluster_id: int, counted: Sequence[tuple[int, int]], now: datetime) -> None:
    """How often these events were seen so far."""
    if not counted:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {Event._meta.db_table} AS row SET count = n, last_at = %s"
            " FROM unnest(%s::bigint[], %s::int[]) AS given (seq, n)"
            " WHERE row.cluster_id = %s AND row.seq = given.seq AND row.seq > 0",
            [now, [seq for seq, _ in counted], [count for _, count in counted], cluster_id],
        )


def _step_insert(position: StepPosition, rows: StepRows) -> None:
    """How far the engine has come, then the end of the engine log in the cluster's row, and the step itself."""
    values = {field: getattr(position, field) for field in _POSITION} | {
        "seq_to": rows.seq_to, "digest": rows.digest, "updated_at": timezone.now(),
    }  # fmt: skip
    bulk.execute(_ENGINE, values)
    bulk.execute(_STEP, values)


def _queue_states_put(cluster_id: int, rows: Iterable[QueueRow]) -> None:
    rows = list(rows)
    gone = [row.pod_uid for row in rows if not row.queue]
    if gone:
        bulk.execute(
            f"DELETE FROM {QueueState._meta.db_table} WHERE cluster_id = %s AND pod_uid = ANY (%b::text[])",
            [cluster_id, gone],
        )
    stay = [row for row in rows if row.queue]
    if not stay:
        return
    columns = "pod_uid, pod_key, queue, node_name, event, since, attempts, backoff_until, plugins, seq"
    bulk.execute(
        f"INSERT INTO {QueueState._meta.db_table} (cluster_id, {columns}) SELECT %s, {columns}"
        " FROM jsonb_to_recordset(%s::jsonb) AS given (pod_uid text, pod_key text, queue text, node_name text,"
        " event text, since timestamptz, attempts int, backoff_until timestamptz, plugins text[], seq bigint)"
        " ON CONFLICT (cluster_id, pod_uid) DO UPDATE SET pod_key = EXCLUDED.pod_key, queue = EXCLUDED.queue,"
        " node_name = EXCLUDED.node_name, event = EXCLUDED.event, since = EXCLUDED.since,"
        # Moves of the cache do not know how often the pod was tried.
        " attempts = CASE WHEN EXCLUDED.queue IN ('assumed', 'waiting') THEN greatest(traces_queuestate.attempts,"
        " EXCLUDED.attempts) ELSE EXCLUDED.attempts END,"
        " backoff_until = EXCLUDED.backoff_until, plugins = EXCLUDED.plugins, seq = EXCLUDED.seq",
        [cluster_id, bulk.json_text(stay)],
    )


def _copy(
    model: type[models.Model],
    columns: Sequence[str],
    cluster_id: int,
    rows: Sequence[tuple[Any, ...]],
    *,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Append rows of one cluster to the model's table; jsonb columns take what JSON can say.

    An attempt has an entry in the log: where there is none, nothing is to be done `meanwhile` either.
    """
    if not rows:
        return
    jsonb = [
        index for index, column in enumerate(columns) if isinstance(model._meta.get_field(column), models.JSONField)
    ]

    def values(row: tuple[Any, ...]) -> list[Any]:
        written = [cluster_id, *row]
        for index in jsonb:
            if row[index] is not None:  # NULL, not JSON's null
                written[index + 1] = bulk.json_text(row[index])
        return written

    made = map(values, rows)  # one by one: an engine that is made of a large cluster writes very many
    bulk.copy_rows(
        model._meta.db_table,
        ["cluster_id", *columns],
        list(made) if len(rows) <= bulk.FEW else made,
        meanwhile=meanwhile,
    )
