"""Reads of the cluster app: views, the change log as live events, and checks of the state."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, get_args

import msgspec
from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform

from kschedweb import views
from kschedweb.cluster import adapters, events
from kschedweb.cluster.adapters import milliseconds
from kschedweb.cluster.changes import read_only, unpack
from kschedweb.cluster.choices import TERMINAL_PHASES, Operation
from kschedweb.cluster.follow import BINDING_VERDICT
from kschedweb.cluster.models import ApiObject, Cluster, Import, Node, Pod, SchedulerConfigVersion
from kschedweb.cluster.objects import absent
from kschedweb.common import bulk
from kschedweb.common.errors import ClusterGoneError, NotFoundError
from kschedweb.common.reading import PRESENT, Tables
from kschedweb.views import view_of
from scheduler_core import typed
from scheduler_core.controllers.drain import DRAIN

# Ended pods older than this are left out of a snapshot: a cluster that runs for days has very many.
ENDED_PODS_KEPT = timedelta(minutes=10)
NATIVE_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")
DRAIN_STATES: Final[Mapping[str, views.DrainState]] = {state: state for state in get_args(views.DrainState)}

_NODE_FIELDS = (
    "name",
    "zone",
    "unschedulable",
    "ready",
    "allocatable",
    "manifest__spec__taints",
    KeyTextTransform(DRAIN, "manifest__metadata__annotations"),
)
_POD_FIELDS = (
    "uid",
    "namespace",
    "name",
    "node_name",
    "phase",
    "priority",
    "requests",
    "deletion_timestamp",
    "gated",
    "nominated_node_name",
    "condition_reason",
    "created_at",
    "scheduler_name",
)


class ChangeRow(NamedTuple):
    """An entry of the change log, as frames need it: a model would cost more than all that is done with it."""

    rv: int
    kind: str
    namespace: str
    name: str
    uid: str
    operation: str
    object: bytes | memoryview
    at: datetime


def cluster_get(cluster_id: int) -> Cluster:
    """The cluster; NotFoundError when there is none."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise ClusterGoneError(cluster_id)
    return cluster


def cluster_check_writable(cluster_id: int) -> None:
    """ReadOnlyError where objects are only read, before anything is read of what is to be written; NotFoundError."""
    cluster = cluster_get(cluster_id)
    if cluster.is_mirror or cluster.is_record:
        raise read_only(cluster_id, cluster.name, is_record=cluster.is_record)


def cluster_check_lives(cluster_id: int) -> None:
    """ReadOnlyError for a history from a file: nothing happens in it any more. NotFoundError."""
    cluster = cluster_get(cluster_id)
    if cluster.is_record:
        raise read_only(cluster_id, cluster.name, is_record=True)


def scheduler_config_versions(cluster_id: int) -> QuerySet[SchedulerConfigVersion]:
    """The configurations the cluster has had, without their texts, the newest first."""
    cluster_get(cluster_id)
    return SchedulerConfigVersion.objects.filter(cluster_id=cluster_id).defer("text").order_by("-version")


def scheduler_config_version(cluster_id: int, version: int | None = None) -> SchedulerConfigVersion:
    """Return one configuration version; None means the active one."""
    wanted = cluster_get(cluster_id).config_version if version is None else version
    found = SchedulerConfigVersion.objects.filter(cluster_id=cluster_id, version=wanted).first()
    if found is None:
        raise NotFoundError("the cluster had no such configuration", cluster=cluster_id, version=wanted)
    return found


def scheduler_config_before(version: SchedulerConfigVersion) -> SchedulerConfigVersion | None:
    """The configuration that was active before that one; None for the first."""
    earlier = SchedulerConfigVersion.objects.filter(cluster_id=version.cluster_id, version__lt=version.version)
    return earlier.order_by("-version").first()


def cluster_list() -> QuerySet[Cluster]:
    return Cluster.objects.order_by("name")


def import_get(*, cluster_id: int, import_id: Any) -> Import:
    """An import; NotFoundError when there is none."""
    found = Import.objects.filter(cluster_id=cluster_id, pk=import_id).first()
    if found is None:
        raise NotFoundError("the import does not exist", id=str(import_id))
    return found


def pod_get(*, cluster_id: int, namespace: str, name: str) -> Pod:
    pod = Pod.objects.filter(cluster_id=cluster_id, namespace=namespace, name=name).first()
    if pod is None:
        raise absent("Pod", namespace, name)
    return pod


def node_get(*, cluster_id: int, name: str) -> Node:
    node = Node.objects.filter(cluster_id=cluster_id, name=name).first()
    if node is None:
        raise absent("Node", "", name)
    return node


def node_pods(*, cluster_id: int, node_name: str) -> list[views.PodView]:
    """The pods that count on a node, by name."""
    rows = (
        Pod.objects.filter(cluster_id=cluster_id, node_name=node_name)
        .exclude(phase__in=TERMINAL_PHASES)
        .order_by("namespace", "name")
    )
    return [pod_view(*row) for row in rows.values_list(*_POD_FIELDS)]


def node_views(cluster_id: int) -> list[views.NodeView]:
    rows = Node.objects.filter(cluster_id=cluster_id).order_by("name").values_list(*_NODE_FIELDS)
    return [node_view(*row) for row in rows]


def pod_views(cluster_id: int, now: datetime) -> tuple[list[views.PodView], int]:
    """The pods to show, by namespace and name, and the number of ended ones left out."""
    ended = Q(phase__in=TERMINAL_PHASES, created_at__lt=now - ENDED_PODS_KEPT)
    pods = Pod.objects.filter(cluster_id=cluster_id)
    shown = pods.exclude(ended).order_by("namespace", "name")
    return [pod_view(*row) for row in shown.values_list(*_POD_FIELDS)], pods.filter(ended).count()


def cluster_view(cluster: Cluster) -> views.Cluster:
    """The cluster with its settings."""
    return view_of(views.Cluster, cluster)


def cluster_detail(cluster_id: int) -> views.ClusterDetail:
    """The cluster with the number of its objects."""
    view = cluster_view(cluster_get(cluster_id))
    return views.ClusterDetail(**msgspec.structs.asdict(view), objects=object_counts(cluster_id))


def node_view(
    name: str,
    zone: str,
    unschedulable: bool,
    ready: bool,
    allocatable: dict[str, int],
    taints: Iterable[dict[str, str]] | None,
    drain: str | None,
) -> views.NodeView:
    return views.NodeView(
        name=name,
        zone=zone,
        cpu_milli=allocatable.get("cpu", 0),
        memory_bytes=allocatable.get("memory", 0),
        pods=allocatable.get("pods", 0),
        extended={key: amount for key, amount in allocatable.items() if key not in NATIVE_RESOURCES},
        unschedulable=unschedulable,
        ready=ready,
        taints=[adapters.taint_text(taint) for taint in taints or ()],
        drain=DRAIN_STATES.get(drain or "", ""),
    )


def pod_view(
    uid: str,
    namespace: str,
    name: str,
    node_name: str,
    phase: str,
    priority: int,
    requests: dict[str, int],
    deletion_timestamp: datetime | None,
    gated: bool,
    nominated_node_name: str,
    reason: str,
    created_at: datetime,
    scheduler_name: str,
) -> views.PodView:
    return views.PodView(
        uid=uid,
        key=f"{namespace}/{name}",
        node=node_name,
        phase=phase,
        priority=priority,
        requests=requests,
        deleting=deletion_timestamp is not None,
        gated=gated,
        nominated=nominated_node_name,
        reason=reason,
        created_ms=milliseconds(created_at),
        scheduler=scheduler_name,
    )


def change_rows(cluster_id: int, after: int, up_to: int) -> list[ChangeRow]:
    """The entries of the change log in (after, up_to], in order."""
    rows = bulk.read_rows(
        "SELECT rv, kind, namespace, name, uid, operation, object, at FROM cluster_change"
        " WHERE cluster_id = %s AND rv > %s AND rv <= %s ORDER BY rv",
        [cluster_id, after, up_to],
    )
    return list(map(ChangeRow._make, rows))


def change_event(change: ChangeRow) -> views.ChangeLogEvent | None:
    """The live event of an entry of the change log; None for verdicts that change nothing a browser shows.

    None also for what is confidential: viewers may not even list it.
    """
    if change.kind in adapters.CONFIDENTIAL_KINDS:
        return None
    if change.operation == Operation.VERDICT:
        return _bound(change) if change.kind == BINDING_VERDICT else None
    if change.operation == Operation.DELETED:
        return _deleted(change)
    payload = unpack(change.object)
    if change.operation == Operation.SETTING:
        return views.ClusterSetting(rv=change.rv, cluster=typed.convert(payload, views.Cluster))
    if change.kind == "Node":
        return views.NodePut(rv=change.rv, node=stored_node_view(payload))
    if change.kind == "Pod":
        return views.PodPut(rv=change.rv, pod=stored_pod_view(payload, change.at))
    if change.kind == events.KIND:
        return views.EventPut(rv=change.rv, event=events.event_view(payload))
    return views.ObjectPut(rv=change.rv, kind=change.kind, key=_key(change))


OVERCOMMIT = """
    WITH used AS (
        SELECT node_name, key, sum(value::numeric) AS amount
        FROM cluster_pod, jsonb_each_text(requests || '{"pods": 1}'::jsonb)
        WHERE cluster_id = %s AND node_name <> '' AND NOT phase = ANY (%s)
        GROUP BY node_name, key
    )
    SELECT node.name, used.key, used.amount, coalesce((node.allocatable ->> used.key)::numeric, 0)
    FROM used JOIN cluster_node AS node ON node.cluster_id = %s AND node.name = used.node_name
    WHERE used.amount > coalesce((node.allocatable ->> used.key)::numeric, 0)
    ORDER BY node.name, used.key
"""


def node_overcommit(cluster_id: int, tables: Tables = PRESENT) -> list[views.Overcommit]:
    """Every node and resource of which its pods ask for more than is allocatable; empty is as it should be.

    A pod counts from its assignment until it has ended; each counts once against `pods`.
    """
    ended = [str(phase) for phase in TERMINAL_PHASES]
    with connection.cursor() as cursor:
        cursor.execute(tables.under(OVERCOMMIT), [*tables.values, cluster_id, ended, cluster_id])
        return [views.Overcommit(name, key, int(used), int(has)) for name, key, used, has in cursor.fetchall()]


def capacity(cluster_id: int) -> tuple[dict[str, int], dict[str, int]]:
    """(allocatable of all nodes, demand of all pods that have not ended), by resource."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT key, sum(value::numeric) FROM cluster_node, jsonb_each_text(allocatable)"
            " WHERE cluster_id = %s GROUP BY key ORDER BY key",
            [cluster_id],
        )
        supply = {key: int(amount) for key, amount in cursor.fetchall()}
        cursor.execute(
            """SELECT key, sum(value::numeric) FROM cluster_pod, jsonb_each_text(requests || '{"pods": 1}'::jsonb)"""
            " WHERE cluster_id = %s AND NOT phase = ANY (%s) GROUP BY key ORDER BY key",
            [cluster_id, [str(phase) for phase in TERMINAL_PHASES]],
        )
        demand = {key: int(amount) for key, amount in cursor.fetchall()}
    return supply, demand


def object_counts(cluster_id: int) -> dict[str, int]:
    """How many objects of each kind the cluster has."""
    counts = {
        "Node": Node.objects.filter(cluster_id=cluster_id).count(),
        "Pod": Pod.objects.filter(cluster_id=cluster_id).count(),
    }
    others = ApiObject.objects.filter(cluster_id=cluster_id).values("kind").annotate(n=Count("id")).order_by("kind")
    return counts | {row["kind"]: row["n"] for row in others}


def _bound(change: ChangeRow) -> views.PodBound | None:
    verdict = unpack(change.object)
    if not verdict["bound"] or "at_ms" not in verdict:
        return None
    return views.PodBound(rv=change.rv, uid=change.uid, at_ms=verdict["at_ms"])


def _deleted(change: ChangeRow) -> views.ChangeLogEvent:
    if change.kind == "Node":
        return views.NodeDeleted(rv=change.rv, name=change.name)
    if change.kind == "Pod":
        return views.PodDeleted(rv=change.rv, uid=change.uid, key=_key(change))
    return views.ObjectDeleted(rv=change.rv, kind=change.kind, key=_key(change))


def stored_node_view(manifest: dict[str, Any]) -> views.NodeView:
    """The node of a stored manifest."""
    columns = adapters.node_columns(adapters.node_of(manifest))
    return node_view(
        manifest["metadata"]["name"],
        columns.zone,
        columns.unschedulable,
        columns.ready,
        columns.allocatable,
        (manifest.get("spec") or {}).get("taints"),
        (manifest["metadata"].get("annotations") or {}).get(DRAIN),
    )


def stored_pod_view(manifest: dict[str, Any], stored_at: datetime) -> views.PodView:
    """The pod of a stored manifest; one that does not say when it was made was made when it was stored."""
    columns, metadata = adapters.stored_pod_columns(manifest), manifest["metadata"]
    return pod_view(
        metadata["uid"],
        metadata.get("namespace") or "",
        metadata["name"],
        columns.node_name,
        columns.phase,
        columns.priority,
        columns.requests,
        columns.deletion_timestamp,
        columns.gated,
        columns.nominated_node_name,
        columns.condition_reason,
        adapters.moment_of(metadata.get("creationTimestamp")) or stored_at,
        columns.scheduler_name,
    )


def _key(change: ChangeRow) -> str:
    return f"{change.namespace}/{change.name}" if change.namespace else change.name
