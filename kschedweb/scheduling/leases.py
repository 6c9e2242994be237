"""Who leads a cluster: taking, renewing and giving up its lease, and the fence that makes it binding.

A lease's age is measured from when this process saw the record change, on its own monotonic clock; the
record's times are for people. Taking over raises the epoch in the fence and supersedes the work of the
old one, in one transaction which waits for every writer still holding the old fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction

from kschedweb.cluster.models import Cluster
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, Eviction, Lease, LeaseFence


class FencedOutError(Exception):
    """Another worker has taken the cluster over; nothing of this transaction may be written."""


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A lease as read: `version` tells whether it changed since."""

    cluster_id: int
    holder: str
    version: int
    duration_seconds: float


def leases_list() -> list[LeaseView]:
    """The leases of all clusters; a cluster nobody led yet gets its row here."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leases (cluster_id, holder, duration_seconds, transitions, version)"
            f" SELECT c.id, '', 15, 0, 0 FROM {Cluster._meta.db_table} c"
            " WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.cluster_id = c.id) ON CONFLICT DO NOTHING"
        )
    return [
        LeaseView(*row)
        for row in Lease.objects.order_by("cluster_id").values_list(
            "cluster_id", "holder", "version", "duration_seconds"
        )
    ]


def lease_get(*, cluster_id: int) -> LeaseView | None:
    """The lease of one cluster, None when it has no row yet."""
    row = (
        Lease.objects.filter(cluster_id=cluster_id)
        .values_list("cluster_id", "holder", "version", "duration_seconds")
        .first()
    )
    return LeaseView(*row) if row else None


def lease_renew(*, view: LeaseView, duration_seconds: float, now: datetime) -> LeaseView | None:
    """The renewed lease, None when somebody wrote it meanwhile."""
    return _write(view, view.holder, duration_seconds, renewed_at=now)


def lease_acquire(
    *, view: LeaseView, holder: str, duration_seconds: float, now: datetime
) -> tuple[LeaseView, int] | None:
    """Take a free or expired lease: the lease and the new epoch; None when somebody was faster.

    The caller has watched the lease long enough. Everything the former leader asked for and nobody began
    is superseded: the new engine decides again from what is in the tables.
    """
    with transaction.atomic():
        taken = _write(view, holder, duration_seconds, acquired_at=now, renewed_at=now, transition=True)
        if taken is None:
            return None
        epoch = fence_raise(cluster_id=view.cluster_id, holder=holder)
    return taken, epoch


def lease_release(*, view: LeaseView, now: datetime) -> None:
    """Give the lease up so that a standby may take it at once."""
    _write(view, "", 1.0, renewed_at=now)


def fence_raise(*, cluster_id: int, holder: str) -> int:
    """The new epoch. Waits for writers under the old one; work they left pending is superseded."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO lease_fences (cluster_id, epoch, holder) VALUES (%s, 1, %s)"
            " ON CONFLICT (cluster_id) DO UPDATE SET epoch = lease_fences.epoch + 1, holder = EXCLUDED.holder"
            " RETURNING epoch",
            [cluster_id, holder],
        )
        epoch = int(cursor.fetchone()[0])
    for work in (Binding, Eviction):
        work.objects.filter(cluster_id=cluster_id, status=WorkStatus.PENDING).update(status=WorkStatus.SUPERSEDED)
    return epoch


def fence_hold(*, cluster_id: int, epoch: int) -> None:
    """Begin a scheduler's transaction: FencedOutError unless the epoch is in force until commit."""
    held = LeaseFence.objects.raw(
        "SELECT cluster_id, epoch FROM lease_fences WHERE cluster_id = %s AND epoch = %s FOR SHARE", [cluster_id, epoch]
    )
    if not list(held):
        raise FencedOutError(f"cluster {cluster_id}: epoch {epoch} is over")


def _write(
    view: LeaseView,
    holder: str,
    duration_seconds: float,
    *,
    renewed_at: datetime,
    acquired_at: datetime | None = None,
    transition: bool = False,
) -> LeaseView | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE leases SET holder = %s, duration_seconds = %s, renewed_at = %s,"
            " acquired_at = COALESCE(%s, acquired_at), transitions = transitions + %s, version = version + 1"
            " WHERE cluster_id = %s AND version = %s",
            [holder, duration_seconds, renewed_at, acquired_at, int(transition), view.cluster_id, view.version],
        )
        if cursor.rowcount == 0:
            return None
    return LeaseView(view.cluster_id, holder, view.version + 1, duration_seconds)
