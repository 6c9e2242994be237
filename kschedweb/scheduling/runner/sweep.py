"""The sweep: one query for everything that waits longer than its message should have taken, and one for frozen writers.

Losing every message changes nothing but this delay. Each binding worker has a thread that sweeps every two seconds and
sends messages for what it finds: while nothing waits nobody else is woken. Two of them find the same, which does no
harm.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import psycopg
import structlog
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection

from kschedweb.cluster.models import Cluster, Import
from kschedweb.common import wake
from kschedweb.common.connections import prepared
from kschedweb.scheduling import leases
from kschedweb.scheduling.due import DUE_CLUSTERS, REST_SECONDS, UNPROVEN_CLUSTERS, overdue
from kschedweb.scheduling.models import Binding, Eviction

SWEEP_SECONDS = 2.0
OLD_SECONDS = 2
_OLD = f"interval '{OLD_SECONDS} seconds'"
_REST = f"interval '{REST_SECONDS} seconds'"
# These are no rows that somebody finishes: they are asked for again and again, and no sooner than after so many
# seconds, which the next sweep rounds up.
PACES = {"mirror.follow": 5, "scheduling.prove": 9}

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
UNION ALL
SELECT 'mirror.follow', '' WHERE EXISTS (SELECT FROM {Cluster._meta.db_table} WHERE is_mirror)
UNION ALL
SELECT 'scheduling.prove', '' WHERE EXISTS ({UNPROVEN_CLUSTERS.format(rest=_REST)})
"""

log = structlog.get_logger(__name__)


def sweep() -> list[tuple[str, str]]:
    """Wake what lies waiting; what was woken, as (task, id). Sessions of frozen writers are ended first."""
    leases.silent_writers_end()
    return [(task, subject) for task, subject in prepared(_QUERY) if _woken(task, subject)]


def _woken(task: str, subject: str) -> bool:
    if task in PACES:
        return wake.paced(task, PACES[task])
    if task == "cluster.import_execute":
        wake.send(task, import_id=subject)
    else:
        wake.send(task, cluster_id=int(subject))
    return True


@dataclass
class Sweeper:
    """The thread of a process that sweeps."""

    seconds: float = SWEEP_SECONDS
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self.seconds):
            try:
                close_old_connections()
                sweep()
            except (DatabaseError, psycopg.Error, OSError) as error:
                log.warning("not swept, the database is away", reason=str(error).strip())
                connection.close()
            except Exception:
                log.exception("not swept")  # whatever it is, the next time must come
                connection.close()
        connection.close()
