"""The sweep: one query for everything that waits longer than its message should have taken.

Losing every message changes nothing but this delay.
"""

from __future__ import annotations

from django.db import connection

from kschedweb.cluster.models import ApiObject, Change, Cluster, Import, Pod
from kschedweb.common import wake
from kschedweb.scheduling.models import Binding, EngineState, Eviction

OLD_SECONDS = 2

# (task, cluster): work rows nobody took, logs nobody read, timers nobody kept, clusters nobody simulates.
_QUERY = f"""
SELECT DISTINCT 'scheduling.bindings_run', cluster_id::text FROM {Binding._meta.db_table}
 WHERE status = 'pending' AND created_at < now() - interval '{OLD_SECONDS} seconds'
UNION ALL
SELECT DISTINCT 'scheduling.bindings_evict', cluster_id::text FROM {Eviction._meta.db_table}
 WHERE status = 'pending' AND created_at < now() - interval '{OLD_SECONDS} seconds'
UNION ALL
SELECT 'scheduling.ensure_leader', c.id::text FROM {Cluster._meta.db_table} c
 LEFT JOIN {EngineState._meta.db_table} s ON s.cluster_id = c.id
 WHERE (s.cluster_id IS NULL AND c.rv > 0)
    OR s.next_due_at < now() - interval '{OLD_SECONDS} seconds'
    OR (c.rv > s.rv_seen AND now() - interval '{OLD_SECONDS} seconds' >
        (SELECT at FROM {Change._meta.db_table} l WHERE l.cluster_id = c.id AND l.rv = s.rv_seen + 1))
    OR (c.pace_steps_requested > c.pace_steps_done AND s.next_due_at IS NOT NULL)
UNION ALL
SELECT 'lifecycle.tick', c.id::text FROM {Cluster._meta.db_table} c
 WHERE c.lifecycle_mode = 'simulate'
   AND (c.is_sample OR EXISTS (SELECT 1 FROM {Pod._meta.db_table} p WHERE p.cluster_id = c.id
        AND p.node_name <> '' AND p.phase IN ('Pending', 'Running'))
        OR EXISTS (SELECT 1 FROM {Pod._meta.db_table} p WHERE p.cluster_id = c.id AND p.deletion_timestamp IS NOT NULL)
        OR EXISTS (SELECT 1 FROM {ApiObject._meta.db_table} o WHERE o.cluster_id = c.id
        AND (o.kind = 'PersistentVolumeClaim' AND o.manifest #>> '{{status,phase}}' IS DISTINCT FROM 'Bound'
        OR o.kind = 'PersistentVolume' AND o.manifest #>> '{{status,phase}}' = 'Pending'))
        OR EXISTS (SELECT 1 FROM {Pod._meta.db_table} p WHERE p.cluster_id = c.id AND p.node_name = ''
        AND jsonb_path_exists(p.manifest, '$.spec.volumes[*].ephemeral')))
UNION ALL
SELECT 'cluster.import_execute', id::text FROM {Import._meta.db_table}
 WHERE (status = 'queued' AND created_at < now() - interval '{OLD_SECONDS} seconds')
    OR (status = 'running' AND heartbeat_at < now() - interval '30 seconds')
"""


def sweep() -> list[tuple[str, str]]:
    """Wake what lies waiting; what was woken, as (task, id)."""
    with connection.cursor() as cursor:
        cursor.execute(_QUERY)
        found = [(str(task), str(subject)) for task, subject in cursor.fetchall()]
    for task, subject in found:
        if task == "cluster.import_execute":
            wake.send(task, import_id=subject)
        else:
            wake.send(task, cluster_id=int(subject))
    return found
