"""Finds clusters with work, from the tables.

The sweep wakes leaders of what is overdue; an elector stops renewing leases of clusters whose slices do not run; tasks
that linger begin with what was told while none was under way.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from kschedweb.cluster.models import Change, Cluster
from kschedweb.common import wake
from kschedweb.common.connections import prepared
from kschedweb.scheduling.choices import WorkStatus
from kschedweb.scheduling.models import Binding, EngineState, Eviction, HistoryProof
from kschedweb.traces.models import EngineStep


def overdue(time: str, age: str) -> str:
    """SQL: whether that time of cluster `c` passed longer ago than the SQL interval `age`, as its clock has it.

    A clock that goes by steps waits for what is due: then its last step was so long ago.
    """
    return f"""CASE WHEN c.clock_at_us IS NULL
        THEN {time} < now() + c.clock_offset_us * interval '1 microsecond' - {age}
        ELSE {time} <= to_timestamp(c.clock_at_us / 1000000.0)
            AND to_timestamp(c.clock_wall_us / 1000000.0) < now() - {age} END"""


_FIRST_UNREAD = f"(SELECT at FROM {Change._meta.db_table} l WHERE l.cluster_id = c.id AND l.rv = s.rv_seen + 1)"
# Never built, a timer that has passed, changes not read, steps asked for while paused. `{age}` is an SQL interval.
DUE_CLUSTERS = f"""
SELECT c.id FROM {Cluster._meta.db_table} c
 LEFT JOIN {EngineState._meta.db_table} s ON s.cluster_id = c.id
 WHERE NOT c.is_record AND ((s.cluster_id IS NULL AND c.rv > 0)
    OR {overdue("s.next_due_at", "{age}")}
    OR (c.rv > s.rv_seen AND {overdue(_FIRST_UNREAD, "{age}")})
    OR (c.pace_steps_requested > c.pace_steps_done AND s.next_due_at IS NOT NULL))
"""

# A cluster whose engine made a step just now is left to it: what it recorded lately is proven once it rests.
REST_SECONDS = 5
# For so long its oldest step that was not looked at waits for that.
UNPROVEN_SECONDS = 60

_FIRST_UNPROVEN = f"""(SELECT e.now FROM {EngineStep._meta.db_table} e WHERE e.cluster_id = c.id
    AND (e.run, e.step) > (coalesce(p.run, 0), coalesce(p.step, 0)) ORDER BY e.run, e.step LIMIT 1)"""
# Clusters with steps that the proof of their history has not looked at, those that have waited longest first. `{rest}`
# is an SQL interval.
UNPROVEN_CLUSTERS = f"""
SELECT s.cluster_id FROM {EngineState._meta.db_table} s
 JOIN {Cluster._meta.db_table} c ON c.id = s.cluster_id
 LEFT JOIN {HistoryProof._meta.db_table} p ON p.cluster_id = s.cluster_id
 WHERE NOT c.is_mirror AND (p.cluster_id IS NULL OR (p.difference IS NULL AND (s.run, s.step) > (p.run, p.step)))
   AND (s.updated_at < now() - {{rest}} OR {overdue(_FIRST_UNPROVEN, f"interval '{UNPROVEN_SECONDS} seconds'")})
 ORDER BY p.checked_at NULLS FIRST, s.cluster_id
"""


def clusters_unproven() -> list[int]:
    """Return those with something to prove, in the order in which they have waited for it."""
    with connection.cursor() as cursor:
        cursor.execute(UNPROVEN_CLUSTERS.format(rest="make_interval(secs => %s)"), [REST_SECONDS])
        return [cluster_id for (cluster_id,) in cursor.fetchall()]


_DUE_AMONG = (
    DUE_CLUSTERS.format(age="make_interval(secs => %(seconds)s::float8)") + " AND c.id = ANY(%(ids)s::bigint[])"
)


def clusters_due(cluster_ids: Collection[int], seconds: float) -> set[int]:
    """Return those of the clusters with work that has been due for longer than `seconds`."""
    if not cluster_ids:
        return set()
    return {
        cluster_id for (cluster_id,) in prepared(_DUE_AMONG, {"seconds": float(seconds), "ids": sorted(cluster_ids)})
    }


# The engine has not read the log to its end, or a clock that goes by steps has come to what it wants.
_TOLD_CLUSTERS = f"""
SELECT c.id FROM {Cluster._meta.db_table} c JOIN {EngineState._meta.db_table} s ON s.cluster_id = c.id
 WHERE c.id = ANY(%s) AND (c.rv > s.rv_seen OR s.next_due_at <= to_timestamp(c.clock_at_us / 1000000.0))
"""


def clusters_told(cluster_ids: Collection[int]) -> list[int]:
    """Return those of the clusters whose leader is told to look at them."""
    if not cluster_ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_TOLD_CLUSTERS, [list(cluster_ids)])
        return sorted(cluster_id for (cluster_id,) in cursor.fetchall())


def work_pending() -> list[tuple[str, int]]:
    """Return what steps have ordered and nobody has carried out, as channel and cluster."""
    kinds = ((wake.BINDINGS_CHANNEL, Binding.objects), (wake.EVICTIONS_CHANNEL, Eviction.objects))
    return [
        (channel, cluster_id)
        for channel, rows in kinds
        for cluster_id in rows.filter(status=WorkStatus.PENDING).values_list("cluster_id", flat=True).distinct()
    ]
