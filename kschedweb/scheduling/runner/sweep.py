"""The sweep: one query for everything that waits longer than its message should have taken, and one for frozen writers.

Losing every message changes nothing but this delay.
"""

from __future__ import annotations

from django.db import connection

from kschedweb.cluster.models import ApiObject, Cluster, Import, Pod
from kschedweb.common import wake
from kschedweb.scheduling import leases
from kschedweb.scheduling.due import DUE_CLUSTERS
from kschedweb.scheduling.models import Binding, Eviction

OLD_SECONDS = 2
_OLD = f"interval '{OLD_SECONDS} seconds'"

# (task, cluster): work rows nobody took, logs nobody read, timers nobody kept, clusters nobody simulates: there is
# something their controllers have not answered, or that may be due without a change.
_QUERY = f"""
SELECT DISTINCT 'scheduling.bindings_run', cluster_id::text FROM {Binding._meta.db_table}
 WHERE status = 'pending' AND created_at < now() - {_OLD}
UNION ALL
SELECT DISTINCT 'scheduling.bindings_evict', cluster_id::text FROM {Eviction._meta.db_table}
 WHERE status = 'pending' AND created_at < now() - {_OLD}
UNION ALL
SELECT 'scheduling.ensure_leader', due.id::text FROM ({DUE_CLUSTERS.format(age=_OLD)}) due
UNION ALL
SELECT 'lifecycle.tick', c.id::text FROM {Cluster._meta.db_table} c
 WHERE c.lifecycle_mode = 'simulate'
   AND (c.is_sample OR c.controllers_rv < c.rv
        OR EXISTS (SELECT 1 FROM {Pod._meta.db_table} p WHERE p.cluster_id = c.id
        AND p.node_name <> '' AND p.phase IN ('Pending', 'Running'))
        OR EXISTS (SELECT 1 FROM {Pod._meta.db_table} p WHERE p.cluster_id = c.id AND p.deletion_timestamp IS NOT NULL)
        OR EXISTS (SELECT 1 FROM {ApiObject._meta.db_table} o WHERE o.cluster_id = c.id
        AND (o.kind = 'PersistentVolumeClaim' AND o.manifest #>> '{{status,phase}}' IS DISTINCT FROM 'Bound'
        OR o.kind = 'PersistentVolume' AND o.manifest #>> '{{status,phase}}' = 'Pending')))
UNION ALL
SELECT 'cluster.import_execute', id::text FROM {Import._meta.db_table}
 WHERE (status = 'queued' AND created_at < now() - {_OLD})
    OR (status = 'running' AND heartbeat_at < now() - interval '30 seconds')
"""


def sweep() -> list[tuple[str, str]]:
    """Wake what lies waiting; what was woken, as (task, id). Sessions of frozen writers are ended first."""
    leases.silent_writers_end()
    with connection.cursor() as cursor:
        cursor.execute(_QUERY)
        found = [(str(task), str(subject)) for task, subject in cursor.fetchall()]
    for task, subject in found:
        if task == "cluster.import_execute":
            wake.send(task, import_id=subject)
        else:
            wake.send(task, cluster_id=int(subject))
    return found
