"""Who leads a cluster: taking, renewing and giving up its lease, and the fence that makes it binding.

A lease's age is measured from when this process saw the record change, on its own monotonic clock; the
record's times are the database's and for people. Taking over raises the epoch in the fence and inherits what the old
leader decided and nobody carried out, in one transaction. Writers still holding the old fence have a moment to commit;
then their database sessions are ended, so that a takeover depends on no other process.
Source: kubernetes v1.34.1, client-go/tools/leaderelection (leaderelection.go, resourcelock/leaselock.go).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.db import DatabaseError, OperationalError, connection, transaction
from django.utils import timezone

from kschedweb.cluster import gone
from kschedweb.cluster.models import Cluster, Event, Node, Pod
from kschedweb.common import bulk
from kschedweb.common.connections import prepared
from kschedweb.scheduling.beats import BEATING, HEARD, LAST
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, Eviction

LEASE_KIND, LEASE_NAMESPACE, LEASE_NAME = "Lease", "kube-system", "kube-scheduler"
# The server ends a transaction that is silent for so long between two statements. It does not within a COPY, nor
# between statements that are sent together.
IDLE_IN_TRANSACTION_MS = 2000
# The share of its time that a takeover leaves to writers under the old epoch before it ends their sessions.
PATIENCE = 0.5
# So long may a COPY, or statements sent together, take under the fence before the sweep takes its writer for frozen.
COPY_SECONDS = 60.0
# Whoever holds the fence of a cluster holds this advisory lock as well: so `pg_locks` tells which sessions these are.
LOCK_CLASS = 0x6B736C66
_WRITERS = (
    "SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted"
    " AND a.datname = current_database() AND l.database = a.datid AND l.classid = %s AND l.objsubid = 2"
    " AND l.pid <> pg_backend_pid()"
)
_SEEN = "l.holder, l.version, l.duration_seconds, CASE WHEN l.beats THEN b.at END"
_LEASES = f"SELECT l.cluster_id, {_SEEN} FROM leases l {HEARD}"
_LEASES_OF_ALL = (
    f"SELECT c.id, {_SEEN} FROM {Cluster._meta.db_table} c LEFT JOIN leases l ON l.cluster_id = c.id {HEARD}"
    " WHERE NOT c.is_record ORDER BY c.id"
)
_BEAT = f"""
WITH {BEATING}
SELECT l.cluster_id, l.holder, l.version, l.duration_seconds, l.beats FROM leases l, ended
 WHERE l.holder = %(holder)s::text
"""
_SILENT = (
    f"{_WRITERS} AND a.state = 'active' AND a.wait_event = 'ClientRead'"
    " AND a.query_start < clock_timestamp() - %s * interval '1 second'"
)

log = structlog.get_logger(__name__)


class FencedOutError(Exception):
    """Another worker has taken the cluster over; nothing of this transaction may be written."""


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A lease as read: `version` tells whether it was written since, `beat` whether its holder has renewed it.

    `beat` is None where nothing is heard of the holder: it renews by writing, or its session has ended.
    """

    cluster_id: int
    holder: str
    version: int
    duration_seconds: float
    beat: int | None = None


def leases_list() -> list[LeaseView]:
    """Return the leases of all clusters; creates the row of a cluster that never had a leader.

    Not of one that is being deleted: its row is locked.
    """
    found = prepared(_LEASES_OF_ALL)
    if any(holder is None for _, holder, *_ in found):
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO leases (cluster_id, holder, duration_seconds, transitions, version, beats)"
                f" SELECT c.id, '', 15, 0, 0, false FROM {Cluster._meta.db_table} c"
                " WHERE NOT c.is_record AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.cluster_id = c.id)"
                " FOR KEY SHARE OF c SKIP LOCKED ON CONFLICT DO NOTHING"
            )
        found = prepared(_LEASES_OF_ALL)
    return [LeaseView(*row) for row in found if row[1] is not None]


def lease_get(*, cluster_id: int) -> LeaseView | None:
    """The lease of one cluster, None when it has no row yet."""
    found = prepared(f"{_LEASES} WHERE l.cluster_id = %s::bigint", [cluster_id])
    return LeaseView(*found[0]) if found else None


def leases_renew(*, views: Sequence[LeaseView], duration_seconds: float) -> dict[int, LeaseView]:
    """The renewed leases by cluster; those somebody wrote meanwhile, or is writing now, are not among them.

    Writes nothing where the record says that its holder is heard of (`beats`): then the session's beat renews it.
    """
    if not views:
        return {}
    holders = sorted({view.holder for view in views})
    stored = {view.cluster_id: (view, beats) for holder in holders for view, beats in _beat(holder)}
    found = {}
    for view in views:
        now, beats = stored.get(view.cluster_id, (None, False))
        if beats and now is not None and (now.version, now.duration_seconds) == (view.version, duration_seconds):
            found[view.cluster_id] = now
    return found | _renewals_write([view for view in views if view.cluster_id not in found], duration_seconds)


def leases_still(*, views: Sequence[LeaseView]) -> None:
    """Let these be renewed by no beat any more, though their holder beats for others; harmless when repeated."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE leases SET beats = false WHERE beats AND (cluster_id, holder) IN"
            " (SELECT * FROM unnest(%s::bigint[], %s::text[]))",
            [[view.cluster_id for view in views], [view.holder for view in views]],
        )


def _beat(holder: str) -> list[tuple[LeaseView, bool]]:
    """Beat, and return what the holder has as it is stored, with whether it is renewed by that."""
    return [(LeaseView(*row[:4]), row[4]) for row in prepared(_BEAT, {"holder": holder})]


def _renewals_write(views: Sequence[LeaseView], duration_seconds: float) -> dict[int, LeaseView]:
    """One statement, which waits for nobody: a takeover of one cluster, or its deletion, keeps none of the others."""
    if not views:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE leases SET duration_seconds = %s, renewed_at = clock_timestamp(), version = leases.version + 1,"
            " beats = true"
            " FROM (SELECT row.cluster_id FROM leases AS row JOIN unnest(%s::bigint[], %s::bigint[], %s::text[])"
            " AS known (cluster_id, version, holder) USING (cluster_id, version, holder) FOR UPDATE OF row SKIP LOCKED)"
            " AS mine WHERE leases.cluster_id = mine.cluster_id"
            " RETURNING leases.cluster_id, leases.holder, leases.version, leases.duration_seconds",
            [
                duration_seconds,
                [view.cluster_id for view in views],
                [view.version for view in views],
                [view.holder for view in views],
            ],
        )
        return {row[0]: LeaseView(*row) for row in cursor.fetchall()}


def lease_acquire(
    *, view: LeaseView, holder: str, duration_seconds: float, lock_seconds: float = 5.0, now: datetime | None = None
) -> tuple[LeaseView, int] | None:
    """Take a free or expired lease: the lease and the new epoch; None when somebody was faster.

    The caller has watched the lease long enough. Writers under the old epoch may commit for a part of `lock_seconds`,
    then their sessions are ended; when they hold the fence even so, the try has failed (OperationalError). Winning back
    one's own record is no transition. What the former leader decided and nobody carried out is inherited.
    """
    is_other = view.holder != holder
    with transaction.atomic():
        _never_silent()
        _lock_timeout(lock_seconds)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE leases SET holder = %s, duration_seconds = %s, version = version + 1, beats = false,"
                " renewed_at = now.at, transitions = transitions + %s,"
                " acquired_at = CASE WHEN %s THEN now.at ELSE acquired_at END"
                " FROM (SELECT coalesce(%s, clock_timestamp()) AS at) AS now WHERE cluster_id = %s AND version = %s"
                f" AND (NOT beats OR holder = %s OR coalesce({LAST}, %s) = %s)",
                [
                    *(holder, duration_seconds, int(is_other), is_other, now, view.cluster_id, view.version, holder),
                    *[-1 if view.beat is None else view.beat] * 2,
                ],
            )
            if cursor.rowcount == 0:
                return None
        epoch = fence_raise(cluster_id=view.cluster_id, holder=holder, lock_seconds=lock_seconds)
        if is_other:
            _event_create(view.cluster_id, f"{holder} became leader")
    return LeaseView(view.cluster_id, holder, view.version + 1, duration_seconds), epoch


def lease_release(*, view: LeaseView) -> bool:
    """Give the lease up so that a standby may take it at once; False when it is somebody else's by now."""
    with transaction.atomic(), connection.cursor() as cursor:
        _never_silent()
        cursor.execute(
            "UPDATE leases SET holder = '', duration_seconds = 1, acquired_at = now.at, renewed_at = now.at,"
            " version = version + 1, beats = false FROM (SELECT clock_timestamp() AS at) AS now"
            " WHERE cluster_id = %s AND holder = %s",
            [view.cluster_id, view.holder],
        )
        if cursor.rowcount == 0:
            return False
        _event_create(view.cluster_id, f"{view.holder} stopped leading")
        return True


def fence_raise(*, cluster_id: int, holder: str, lock_seconds: float = 5.0) -> int:
    """The new epoch, when no writer under the old one is left; it inherits what they left pending.

    Bindings of pods or nodes that are gone, and of pods that are bound or being deleted, are void.
    """
    _fence_clear(cluster_id, lock_seconds)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO lease_fences (cluster_id, epoch, holder) VALUES (%s, 1, %s)"
            " ON CONFLICT (cluster_id) DO UPDATE SET epoch = lease_fences.epoch + 1, holder = EXCLUDED.holder"
            " RETURNING epoch",
            [cluster_id, holder],
        )
        epoch = int(cursor.fetchone()[0])
        cursor.execute(
            f"UPDATE {Binding._meta.db_table} b SET epoch = %s WHERE cluster_id = %s AND status = 'pending'"
            f" AND EXISTS (SELECT 1 FROM {Pod._meta.db_table} p WHERE p.cluster_id = b.cluster_id"
            " AND p.uid = b.pod_uid AND p.node_name = '' AND p.deletion_timestamp IS NULL)"
            f" AND EXISTS (SELECT 1 FROM {Node._meta.db_table} n WHERE n.cluster_id = b.cluster_id"
            " AND n.name = b.node_name)",
            [epoch, cluster_id],
        )
    void = Binding.objects.filter(cluster_id=cluster_id, status=WorkStatus.PENDING).exclude(epoch=epoch)
    void.update(status=WorkStatus.SUPERSEDED)
    Eviction.objects.filter(cluster_id=cluster_id, status=WorkStatus.PENDING).update(epoch=epoch)
    return epoch


def fence_hold(*, cluster_id: int, epoch: int) -> None:
    """Begin a scheduler's transaction: FencedOutError unless the epoch holds, ClusterGoneError."""
    if fence_share(cluster_id=cluster_id, epoch=epoch) is None:
        gone.check(cluster_id)
        raise FencedOutError(f"cluster {cluster_id}: epoch {epoch} is over")


def fence_share(*, cluster_id: int, epoch: int | None = None) -> int | None:
    """The epoch in force (None when it is not the one given), held until this transaction ends.

    A transaction that falls silent is ended by the server, by whoever takes over, or by `silent_writers_end`.
    """
    return _fence_hold(cluster_id, epoch, "SHARE")


def fence_close(*, cluster_id: int) -> None:
    """Take the fence until this transaction ends, so that no transaction of a scheduler commits meanwhile."""
    _fence_hold(cluster_id, None, "UPDATE")


def _fence_hold(cluster_id: int, epoch: int | None, strength: str) -> int | None:
    rows = bulk.read_rows(
        "SELECT epoch, set_config('idle_in_transaction_session_timeout', %s, true),"
        " pg_advisory_xact_lock_shared(%s::int, %s::int) FROM lease_fences"
        f" WHERE cluster_id = %s AND epoch = coalesce(%s::bigint, epoch) FOR {strength}",
        [f"{IDLE_IN_TRANSACTION_MS}ms", LOCK_CLASS, _lock_key(cluster_id), cluster_id, epoch],
    )
    return int(rows[0][0]) if rows else None


def silent_writers_end() -> int:
    """End the sessions, of any cluster, that hold a fence and wait for the rest of what is written; how many.

    The server takes them for active: rows of a COPY do not come, or more of the statements that are sent together.

    For a frozen worker that leads nothing: no takeover ends its transaction, and others wait for what it has locked.
    """
    silent = [LOCK_CLASS, COPY_SECONDS]
    return _writers_end(_SILENT, silent) if prepared(_SILENT, silent) else 0


def _fence_clear(cluster_id: int, lock_seconds: float) -> None:
    """Lock the fence for the rest of the transaction; OperationalError when its holders do not let go in time."""
    with connection.cursor() as cursor:
        try:
            with transaction.atomic():  # a savepoint: the transaction goes on after the lock's timeout
                _lock_timeout(lock_seconds * PATIENCE)
                cursor.execute("SELECT 1 FROM lease_fences WHERE cluster_id = %s FOR UPDATE", [cluster_id])
                return
        except OperationalError:
            ended = _writers_end(f"{_WRITERS} AND l.objid = %s", [LOCK_CLASS, _lock_key(cluster_id)])
            log.warning("sessions under the old epoch were ended", cluster=cluster_id, sessions=ended)
        _lock_timeout(lock_seconds * (1 - PATIENCE))
        cursor.execute("SELECT 1 FROM lease_fences WHERE cluster_id = %s FOR UPDATE", [cluster_id])


def _writers_end(writers: str, values: Sequence[int | float]) -> int:
    """End the sessions a query names; how many. Those of another role are left alone where that is not allowed."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT count(pg_terminate_backend(pid)) FROM ({writers}) AS writer", values)
            return int(cursor.fetchone()[0])
    except DatabaseError as error:
        log.error("sessions that hold a fence could not be ended", err=str(error).strip())
        return 0


def _lock_key(cluster_id: int) -> int:
    return cluster_id & 0x7FFFFFFF


def _lock_timeout(seconds: float) -> None:
    """Until the transaction or the savepoint ends, wait for a lock only so long."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{max(1, int(seconds * 1000))}ms"])


def _never_silent() -> None:
    """Let the server end this transaction when it falls silent: others wait for what it locks."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [f"{IDLE_IN_TRANSACTION_MS}ms"]
        )


def _event_create(cluster_id: int, note: str) -> None:
    """An event on the lease, as the lock records it."""
    at = timezone.now()
    Event.objects.create(
        cluster_id=cluster_id,
        seq=0,
        namespace=LEASE_NAMESPACE,
        name=f"{LEASE_NAME}.{time.time_ns():x}",
        type="Normal",
        reason="LeaderElection",
        action="",
        note=note,
        regarding_kind=LEASE_KIND,
        regarding_namespace=LEASE_NAMESPACE,
        regarding_name=LEASE_NAME,
        regarding_uid="",
        reporter=LEASE_NAME,
        count=1,
        first_at=at,
        last_at=at,
    )
