"""The cluster as a follower of its log reads it: all objects at one moment, then every change after it.

Engines and controllers begin with `stored_changes()` in one REPEATABLE READ transaction and go on with
`changes_after()`. Rows become changes of the core; a kind the core does not know is none of its business.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import ApiObject, Node, Pod
from kschedweb.common import bulk, packing
from scheduler_core.api import manifests
from scheduler_core.model import changes as core

BINDING_VERDICT = "Binding"
EVICTION_VERDICT = "Eviction"
PERMIT_VERDICT = "Permit"

MICROSECOND = 1_000_000


def read_only_moment() -> None:
    """Make the transaction just begun read one moment: objects and position belong together."""
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def stored_changes(*, cluster_id: int) -> list[core.Change]:
    """Every stored object as a change: nodes in the order they came, then other kinds, then pods."""
    found: list[core.Change | None] = []
    nodes = Node.objects.filter(cluster_id=cluster_id).order_by("id").values_list("manifest", "rv")
    found += [_object_put("Node", manifest, rv) for manifest, rv in nodes]
    others = ApiObject.objects.filter(cluster_id=cluster_id).order_by("id").values_list("kind", "manifest", "rv")
    found += [_object_put(kind, manifest, rv) for kind, manifest, rv in others]
    pods = Pod.objects.filter(cluster_id=cluster_id).order_by("id").values_list("manifest", "rv")
    found += [_object_put("Pod", manifest, rv) for manifest, rv in pods]
    return [change for change in found if change is not None]


def deletions_after(*, cluster_id: int, rv: int) -> list[core.Change]:
    """What was deleted after `rv`, as far back as the log goes."""
    rows = bulk.read_rows(
        "SELECT rv, kind, namespace, name, uid FROM cluster_change"
        " WHERE cluster_id = %s AND rv > %s AND operation = %s ORDER BY rv",
        [cluster_id, rv, Operation.DELETED],
    )
    return [
        core.ObjectDeleted(kind, namespace, name, uid, at)
        for at, kind, namespace, name, uid in rows
        if kind in manifests.KINDS
    ]


class LogClearedError(Exception):
    """What follows the position has been cleared away: begin again with `stored_changes`."""


def changes_after(*, cluster_id: int, rv: int) -> tuple[list[core.Change], int]:
    """All changes after `rv` in order, and the position the log ends at; LogClearedError when some are missing."""
    rows = bulk.read_rows(
        "SELECT rv, kind, namespace, name, uid, operation, object FROM cluster_change"
        " WHERE cluster_id = %s AND rv > %s ORDER BY rv",
        [cluster_id, rv],
    )
    if rows and rows[0][0] != rv + 1:
        raise LogClearedError(f"cluster {cluster_id}: the log begins at {rows[0][0]}, {rv + 1} is wanted")
    found = [_change_of(*row) for row in rows]
    return [change for change in found if change is not None], rows[-1][0] if rows else rv


def _change_of(
    rv: int, kind: str, namespace: str, name: str, uid: str, operation: str, packed: bytes | memoryview
) -> core.Change | None:
    if operation == Operation.SETTING:
        return None
    if operation == Operation.DELETED:
        return core.ObjectDeleted(kind, namespace, name, uid, rv) if kind in manifests.KINDS else None
    payload = packing.unpacked(packed)
    if operation == Operation.VERDICT:
        return _verdict_of(kind, payload, rv)
    return _object_put(kind, payload, rv)


def _object_put(kind: str, manifest: dict[str, Any], rv: int) -> core.ObjectPut | None:
    if kind not in manifests.KINDS:
        return None
    manifest["metadata"]["resourceVersion"] = str(rv)
    return core.ObjectPut(manifests.decode(manifest, kind=kind), rv)


def _verdict_of(kind: str, payload: dict[str, Any], rv: int) -> core.Change | None:
    if kind == BINDING_VERDICT:
        return core.BindingVerdict(
            pod_uid=payload["pod_uid"],
            node_name=payload["node_name"],
            bound=payload["bound"],
            message=payload["message"],
            rv=rv,
        )
    if kind == EVICTION_VERDICT:
        return core.EvictionVerdict(
            payload["preemptor_uid"],
            payload["done"],
            payload["message"],
            rv,
            tuple(payload.get("pod_uids", ())),
            tuple(payload.get("gone_uids", ())),
        )
    if kind == PERMIT_VERDICT:
        return core.PermitVerdict(payload["pod_uid"], payload["plugin"], payload["allowed"], payload["message"], rv)
    return None
