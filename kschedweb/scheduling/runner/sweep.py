"""The sweep: one query for everything that waits longer than its message should have taken, and one for frozen writers.

Losing every message changes nothing but this delay.
"""

from __future__ import annotations

from django.db import connection

from kschedweb.cluster.models import Cluster, Import
from kschedweb.common import wake
from kschedweb.scheduling import leases
from kschedweb.scheduling.due import DUE_CLUSTERS, overdue
from kschedweb.scheduling.models import Binding, Eviction

OLD_SECONDS = 2
_OLD = f"interval '{OLD_SECONDS} seconds'"

# (task, cluster): work rows nobody took, logs nobody read, timers nobody kept, clusters nobody simulates: there is
# something their controllers have not answered, or is due without a change; or a clock that goes by steps.
_QUERY = f"""
SELECT DISTINCT 'scheduling.bindings_run', w.cluster_id::text FROM {Binding._meta.db_table} w
 JOIN {Cluster._meta.db_table} c ON c.id = w.cluster_id WHERE w.status = 'pending' AND {overdue("w.created_at", _OLD)}
UNION ALL
SELECT DISTINCT 'scheduling.bindings_evict', w.cluster_id::text FROM {Eviction._meta.db_table} w
 JOIN {Cluster._meta.db_table} c ON c.id = w.cluster_id WHERE w.status = 'pending' AND {overdue("w.created_at", _OLD)}
UNION ALL
SELECT 'scheduling.ensure_leader', due.id::text FROM ({DUE_CLUSTERS.format(age=_OLD)}) due
UNION ALL
SELECT 'lifecycle.tick', c.id::text FROM {Cluster._meta.db_table} c
 WHERE NOT c.is_record AND (c.clock_at_us IS NOT NULL OR (c.lifecycle_mode = 'simulate' AND (c.controllers_rv < c.rv
    OR to_timestamp(c.controllers_due_us / 1000000.0) < now() + c.clock_offset_us * interval '1 microsecond')))
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
