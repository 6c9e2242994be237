"""Finds clusters with overdue work, from the tables.

The sweep wakes their leaders; an elector stops renewing those whose slices do not run.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from kschedweb.cluster.models import Change, Cluster
from kschedweb.scheduling.models import EngineState


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


def clusters_due(cluster_ids: Collection[int], seconds: float) -> set[int]:
    """Return those of the clusters with work that has been due for longer than `seconds`."""
    if not cluster_ids:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(
            DUE_CLUSTERS.format(age="make_interval(secs => %(seconds)s)") + " AND c.id = ANY(%(ids)s)",
            {"seconds": seconds, "ids": list(cluster_ids)},
        )
        return {cluster_id for (cluster_id,) in cursor.fetchall()}
