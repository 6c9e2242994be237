"""Reads about who leads and what waits: for the views, for health checks, and the gauges of a scrape.

Ages are seconds by the database's clock. A cluster without an entry in the change log needs nobody to lead it, nor
does a history from a file.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from kschedweb.cluster.models import Cluster, Node, Pod
from kschedweb.common.metrics.exposition import Readings
from kschedweb.scheduling import beats
from kschedweb.scheduling.models import Binding, EngineState, HistoryProof
from kschedweb.traces.models import EngineStep, QueueState

LEASE_NAME = "kube-scheduler"
QUEUES = ("active", "backoff", "unschedulable", "gated")
OPERATIONS = (
    *("binding", "prioritizing_extender", "Filter", "Score", "InterPodAffinity", "PodTopologySpread"),
    "DefaultPreemption",
)


HISTORY = (
    *("ksched_history_checked_cycles", "ksched_history_unproven_cycles", "ksched_history_left_entries"),
    "ksched_history_differences",
)


@dataclass(frozen=True, slots=True)
class Leadership:
    """The leader of a cluster. `age`: since the last renewal, or since its creation if it never had one."""

    cluster_id: int
    cluster: str
    worker: str
    duration: float
    transitions: int
    age: float
    epoch: int
    built_epoch: int
    lag: int
    is_wanted: bool

    @property
    def is_led(self) -> bool:
        """Whether a lease in force has a holder."""
        return bool(self.worker) and self.age <= self.duration

    @property
    def is_synced(self) -> bool:
        """Whether the leader in force has built its engine."""
        return not self.is_wanted or (self.epoch > 0 and self.built_epoch == self.epoch)


def leaderships(*, cluster_ids: Collection[int] | None = None) -> list[Leadership]:
    """Of all clusters, or those named, in the order of their ids."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.id, c.name, split_part(coalesce(l.holder, ''), '/', 1), coalesce(l.duration_seconds, 15),"
            " coalesce(l.transitions, 0),"
            " least(greatest(0, extract(epoch FROM clock_timestamp() - coalesce(l.renewed_at, c.created_at))),"
            f" CASE WHEN l.beats THEN {beats.AGE} END)::float,"
            " coalesce(f.epoch, 0), coalesce(s.epoch, 0),"
            " CASE WHEN c.is_record THEN 0 ELSE c.rv - coalesce(s.rv_seen, 0) END,"
            " c.rv > 0 AND NOT c.is_record"
            f" FROM {Cluster._meta.db_table} c LEFT JOIN leases l ON l.cluster_id = c.id"
            f" {beats.HEARD} LEFT JOIN lease_fences f ON f.cluster_id = c.id"
            f" LEFT JOIN {EngineState._meta.db_table} s ON s.cluster_id = c.id"
            " WHERE %s::bigint[] IS NULL OR c.id = ANY(%s::bigint[]) ORDER BY c.id",
            [given := None if cluster_ids is None else list(cluster_ids), given],
        )
        return [Leadership(*row) for row in cursor.fetchall()]


def readings(led: list[Leadership], *, by_cluster: bool) -> Readings:
    """The gauges of these clusters as they stand; sums begin at zero where there is nothing to count."""
    found: Readings = {}
    for base in [""] if not by_cluster else [one.cluster for one in led]:
        for queue in QUEUES:
            found["scheduler_pending_pods", base, (queue,)] = 0
        for kind in ("nodes", "pods", "assumed_pods"):
            found["scheduler_cache_size", base, (kind,)] = 0
        for operation in OPERATIONS:
            found["scheduler_goroutines", base, (operation,)] = 0
        for call in ("pod_binding", "pod_status_patch"):  # a patch is written with the decision: it never waits
            found["scheduler_pending_async_api_calls", base, (call,)] = 0
        found["ksched_change_log_lag", base, ()] = 0
        for metric in HISTORY:
            found[metric, base, ()] = 0

    def add(metric: str, cluster: str, labels: tuple[str, ...], number: float) -> None:
        key = (metric, cluster if by_cluster else "", labels)
        found[key] = found.get(key, 0) + number

    names = {one.cluster_id: one.cluster for one in led}
    for cluster_id, metric, labels, number in _counted(list(names)):
        add(metric, names[cluster_id], labels, number)
    for one in led:
        add("ksched_change_log_lag", one.cluster, (), one.lag)
        add("ksched_lease_transitions", one.cluster, (LEASE_NAME,), one.transitions)
        add("ksched_fence_epoch", one.cluster, (LEASE_NAME,), one.epoch)
        if one.is_led:
            add("ksched_leaders", one.cluster, (one.worker,), 1)
        if by_cluster:
            found["leader_election_master_status", one.cluster, (LEASE_NAME,)] = one.is_led
    if not by_cluster:
        found["leader_election_master_status", "", (LEASE_NAME,)] = all(one.is_led for one in led if one.is_wanted)
    return found


def _counted(cluster_ids: list[int]) -> list[tuple[int, str, tuple[str, ...], int]]:
    """(cluster, gauge, labels, number); a pod waiting for its binding counts in the cache three times over."""
    found: list[tuple[int, str, tuple[str, ...], int]] = []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.id, coalesce(p.cycles, 0), coalesce(p.unproven, 0),"
            " CASE WHEN c.is_mirror THEN 0 ELSE greatest(0, c.seq - coalesce(greatest(p.seq, s.seq_to), 0)) END,"
            " (p.difference IS NOT NULL)::int"
            f" FROM {Cluster._meta.db_table} c LEFT JOIN {HistoryProof._meta.db_table} p ON p.cluster_id = c.id"
            f" LEFT JOIN {EngineStep._meta.db_table} s"
            " ON s.cluster_id = c.id AND s.run = p.run AND s.step = p.step"
            " WHERE c.id = ANY(%s)",
            [cluster_ids],
        )
        for cluster_id, *numbers in cursor.fetchall():
            found += ((cluster_id, metric, (), number) for metric, number in zip(HISTORY, numbers, strict=True))
        cursor.execute(
            f"SELECT cluster_id, queue, count(*) FROM {QueueState._meta.db_table}"
            " WHERE cluster_id = ANY(%s) GROUP BY 1, 2",
            [cluster_ids],
        )
        for cluster_id, queue, number in cursor.fetchall():
            if queue in ("assumed", "waiting"):
                found.append((cluster_id, "scheduler_cache_size", ("assumed_pods",), number))
                found.append((cluster_id, "scheduler_cache_size", ("pods",), number))
                found.append((cluster_id, "scheduler_goroutines", ("binding",), number))
            else:
                label = "backoff" if queue == "errorBackoff" else queue
                found.append((cluster_id, "scheduler_pending_pods", (label,), number))
        cursor.execute(
            f"SELECT q.cluster_id, plugin, p.scheduler_name, count(*) FROM {QueueState._meta.db_table} q"
            f" JOIN {Pod._meta.db_table} p ON p.cluster_id = q.cluster_id AND p.uid = q.pod_uid,"
            " unnest(q.plugins) plugin WHERE q.cluster_id = ANY(%s) AND q.queue NOT IN ('assumed', 'waiting')"
            " AND plugin <> '' GROUP BY 1, 2, 3",
            [cluster_ids],
        )
        found += (
            (cluster_id, "scheduler_unschedulable_pods", (plugin, profile), number)
            for cluster_id, plugin, profile, number in cursor.fetchall()
        )
        for query, metric, label in (
            (f"FROM {Node._meta.db_table} WHERE true", "scheduler_cache_size", "nodes"),
            (
                f"FROM {Pod._meta.db_table} p WHERE node_name <> '' AND phase NOT IN ('Succeeded', 'Failed') AND"
                f" NOT EXISTS (SELECT 1 FROM {QueueState._meta.db_table} q WHERE q.cluster_id = p.cluster_id"
                " AND q.pod_uid = p.uid AND q.queue IN ('assumed', 'waiting'))",
                "scheduler_cache_size",
                "pods",
            ),
            (
                f"FROM {Binding._meta.db_table} WHERE status = 'pending'",
                "scheduler_pending_async_api_calls",
                "pod_binding",
            ),
        ):
            cursor.execute(
                f"SELECT cluster_id, count(*) {query} AND cluster_id = ANY(%s) GROUP BY 1",
                [cluster_ids],
            )
            found += ((cluster_id, metric, (label,), number) for cluster_id, number in cursor.fetchall())
    return found
