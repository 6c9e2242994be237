"""Clearing away a cluster's past, by age and by size, in bounded batches and only up to a checkpoint.

What goes: entries of both logs, steps, events, attempts, counts and finished work older than the cut, and node orders
nobody refers to any more. State tables are never touched, so nothing that was accepted is lost and an engine can
always be built. Attempts and events that were seen again after the cut stay. Counts by seconds become counts by
minutes after a day. Readers behind the cut take a new snapshot: 410.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from django.db import connection, models, transaction

from kschedweb.cluster import clock, gone
from kschedweb.cluster.models import Change, Cluster, Event
from kschedweb.cluster.selectors import cluster_get
from kschedweb.common import wake
from kschedweb.scheduling import leases
from kschedweb.scheduling.checkpoints import checkpoint_want
from kschedweb.scheduling.models import Binding, Eviction
from kschedweb.scheduling.remembered import REPEAT_WITHIN_US
from kschedweb.traces.models import Attempt, Checkpoint, Comparison, EngineLog, EngineStep, NodeOrder, ThroughputCount
from kschedweb.traces.services import throughput_roll_up
from scheduler_core.api.times import moment_of

BATCH_ROWS = 5_000
BATCH_PAUSE_SECONDS = 0.02  # for those who wait for the same disk
SECONDS_AT_ONCE = 20.0
# Never cut away, whatever the settings say: followers of the logs and repeats of attempts reach back so far.
LEAST_AGE = timedelta(microseconds=REPEAT_WITHIN_US)
MEGABYTE = 1 << 20
SAMPLE_ROWS = 500
MANY_ORDERS = 100

# Table, and what its indexes and page overhead add to a row, in bytes (measured).
_SIZED: tuple[tuple[type[models.Model], str, int], ...] = (
    (Change, "rv", 250),
    (EngineLog, "seq", 150),
    (EngineStep, "seq_to", 150),
    (Attempt, "seq", 420),
    (Event, "id", 200),
    (Checkpoint, "seq", 100),
    (ThroughputCount, "at", 60),
    (Comparison, "id", 200),
)


# Where the logs ended and what the limit was when a cluster's past last kept to it: until more is written it does so.
_small: dict[int, tuple[int, int, int]] = {}


@dataclass(frozen=True, slots=True)
class Cut:
    """Everything up to these positions may go, and the steps up to `step` of `run`.

    Steps after the checkpoint may stand at its positions: not all of them have entries or changes.
    """

    seq: int
    rv: int
    at: datetime
    run: int
    step: int


@dataclass(frozen=True, slots=True)
class TableSize:
    rows: int
    bytes: int


@dataclass(slots=True)
class PruneReport:
    """What a call cleared away. `more`: it ran out of time; `waits_for_checkpoint`: one was asked for first."""

    cut: Cut | None = None
    rows: dict[str, int] = field(default_factory=dict)
    more: bool = False
    waits_for_checkpoint: bool = False


def sizes(cluster_id: int) -> dict[str, TableSize]:
    """How much room the cluster's past takes, by table: rows counted, bytes from a sample of the newest and oldest."""
    found: dict[str, TableSize] = {}
    with connection.cursor() as cursor:
        for model, order, overhead in _SIZED:
            table = model._meta.db_table
            cursor.execute(f"SELECT count(*) FROM {table} WHERE cluster_id = %s", [cluster_id])
            rows = int(cursor.fetchone()[0])
            sample = " UNION ALL ".join(
                f"(SELECT pg_column_size(t) AS n FROM {table} t WHERE cluster_id = %s ORDER BY {order} {way} LIMIT %s)"
                for way in ("DESC", "ASC")
            )
            cursor.execute(f"SELECT avg(n) FROM ({sample}) AS sampled", [cluster_id, SAMPLE_ROWS] * 2)
            width = float(cursor.fetchone()[0] or 0)
            found[table] = TableSize(rows, int(rows * (width + overhead)))
    return found


def reach(cluster_id: int) -> tuple[datetime | None, int]:
    """Since when the engine's log is kept, and how many checkpoints there are."""
    log = EngineLog.objects.filter(cluster_id=cluster_id).order_by("seq").values_list("at", flat=True)
    return log.first(), Checkpoint.objects.filter(cluster_id=cluster_id).count()


def prune(
    *, cluster_id: int, hours: float | None = None, megabytes: float | None = None, now: datetime | None = None
) -> PruneReport:
    """Clear away what is past the cluster's settings, or past `hours` and `megabytes`; for a bounded time."""
    cluster, now = cluster_get(cluster_id), now or moment_of(clock.now_of(cluster_id))
    throughput_roll_up(cluster_id=cluster_id, now=now)
    age = timedelta(hours=cluster.retention_hours if hours is None else hours)
    limit = int((cluster.retention_mb if megabytes is None else megabytes) * MEGABYTE)
    horizon = max(now - age, _size_horizon(cluster, limit) or now - age)
    horizon = min(horizon, now - LEAST_AGE)
    report = PruneReport()
    oldest = EngineLog.objects.filter(cluster_id=cluster_id).order_by("seq").values_list("at", flat=True).first()
    if oldest is None or oldest >= horizon:
        return report
    found = Checkpoint.objects.filter(cluster_id=cluster_id, at__lt=horizon).order_by("-seq", "-id")
    checkpoint = found.values_list("seq", "rv", "at", "run", "step").first()
    if checkpoint is None:
        report.waits_for_checkpoint = True
        if not Checkpoint.objects.filter(cluster_id=cluster_id).exists():
            checkpoint_want(cluster_id=cluster_id)
            wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
        return report
    report.cut = Cut(*checkpoint)
    _clear(cluster_id, report.cut, report)
    if not report.more:
        _node_orders_clear(cluster_id, report)
    return report


def _size_horizon(cluster: Cluster, limit: int) -> datetime | None:
    """Where to cut so that what stays keeps to `limit` bytes; None when all does."""
    cluster_id, stands = cluster.pk, (cluster.rv, cluster.seq, limit)
    if _small.get(cluster_id) == stands:
        return None
    total = sum(size.bytes for size in sizes(cluster_id).values())
    if total <= limit:
        _small[cluster_id] = stands
        return None
    log = EngineLog.objects.filter(cluster_id=cluster_id)
    ends = log.aggregate(first=models.Min("seq"), last=models.Max("seq"))
    if ends["first"] is None:
        return None
    kept = (ends["last"] - ends["first"]) * limit // total
    return log.filter(seq__gte=ends["last"] - kept).order_by("seq").values_list("at", flat=True).first()


def _clear(cluster_id: int, cut: Cut, report: PruneReport) -> None:
    """All tables up to the cut, batch by batch, each a transaction of its own."""
    ends_at = time.monotonic() + SECONDS_AT_ONCE
    finished = "finished_at < %(at)s"
    for model, condition in (
        # First of all, and the oldest first: of a step that is there nothing is missing.
        (EngineStep, "(run, step) <= (%(run)s, %(step)s) ORDER BY run, step"),
        (Attempt, "seq <= %(seq)s AND last_seen_at < %(at)s"),
        (Event, "last_at < %(at)s AND seq <= %(seq)s"),
        (EngineLog, "seq <= %(seq)s"),
        (Change, "rv <= %(rv)s"),
        (Checkpoint, "seq < %(seq)s"),
        (Binding, finished),
        (Eviction, finished),
        (ThroughputCount, "at < %(at)s"),
        (Comparison, "at < %(at)s"),
    ):
        table = model._meta.db_table
        deleted = report.rows.setdefault(table, 0)
        while not report.more:
            with connection.cursor() as cursor:
                cursor.execute(
                    f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table}"
                    f" WHERE cluster_id = %(cluster)s AND {condition} LIMIT {BATCH_ROWS}))",
                    {"cluster": cluster_id, **asdict(cut)},
                )
                count = cursor.rowcount
            deleted += count
            report.rows[table] = deleted
            if count < BATCH_ROWS:
                break
            report.more = time.monotonic() >= ends_at
            time.sleep(BATCH_PAUSE_SECONDS)


def _node_orders_clear(cluster_id: int, report: PruneReport) -> None:
    """Node orders no attempt refers to; only where they became many, as it takes a look at all attempts."""
    orders = NodeOrder.objects.filter(cluster_id=cluster_id)
    if orders.count() <= MANY_ORDERS:
        return
    attempts = Attempt.objects.filter(cluster_id=cluster_id)
    newest = attempts.aggregate(seq=models.Max("seq"))["seq"] or 0
    unused = set(orders.values_list("digest", flat=True)) - set(
        attempts.values_list("node_order", flat=True).distinct()
    )
    with transaction.atomic():
        # No step commits meanwhile: one might refer to an order that is about to go.
        leases.fence_close(cluster_id=cluster_id)
        unused -= set(attempts.filter(seq__gt=newest).values_list("node_order", flat=True).distinct())
        report.rows[NodeOrder._meta.db_table] = orders.filter(digest__in=unused).delete()[0]


def prune_all() -> dict[int, PruneReport]:
    """Every cluster by its settings, but for histories from files; what one call does not finish the next one does."""
    reports = {}
    for cluster_id in list(Cluster.objects.filter(is_record=False).order_by("id").values_list("id", flat=True)):
        # One that is deleted meanwhile keeps none of the others.
        with gone.ends_work(cluster_id):
            reports[cluster_id] = prune(cluster_id=cluster_id)
    return reports
