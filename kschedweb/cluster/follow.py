"""The cluster as a follower of its log reads it: all objects at one moment, then every change after it.

Engines and controllers begin with `stored_changes()` in one REPEATABLE READ transaction and go on with
`changes_after()`. Rows become changes of the core; kinds that scheduling does not read are none of its business. The
controllers, which empty namespaces and collect what owners leave behind, follow those too.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.db import connection

from kschedweb.cluster import gone
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import ApiObject, Node, Pod
from kschedweb.cluster.versions import version_text
from kschedweb.common import bulk, packing
from scheduler_core.api import manifests
from scheduler_core.api.sharing import Sharing
from scheduler_core.model import changes as core

BINDING_VERDICT = "Binding"
EVICTION_VERDICT = "Eviction"
PERMIT_VERDICT = "Permit"
PRE_BIND_VERDICT = "PreBind"

MICROSECOND = 1_000_000
ROWS_AT_ONCE = 500
# Of so many changes at once equal parts of pods become one object, which takes as long as reading them.
MANY = 1_000


def read_only_moment() -> None:
    """Make the transaction just begun read one moment: objects and position belong together."""
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def stored_changes(
    *, cluster_id: int, sharing: Sharing | None = None, kinds: Container[str] = manifests.KINDS
) -> list[core.ObjectPut]:
    """Every stored object of these kinds as a change: nodes in the order they came, then other kinds, then pods.

    Manifests are read a few at a time: those of a large cluster need many times the room of its objects. Equal parts
    of pods become one object.
    """
    sharing = sharing or Sharing()
    found = [
        object_put(kind, orjson.loads(text), rv, sharing, kinds)
        for part in stored_texts(cluster_id)
        for kind, text, rv in part
        if kind in kinds
    ]
    return [change for change in found if change is not None]


def stored_texts(cluster_id: int) -> Iterator[Iterator[tuple[str, bytes, int]]]:
    """(kind, manifest as JSON, rv) of every stored object in the same order, some hundreds at a time."""
    for model, columns in (
        (Node, "'Node', manifest::text"),
        (ApiObject, "kind, manifest::text"),
        (Pod, "'Pod', manifest"),
    ):
        with connection.chunked_cursor() as cursor:
            cursor.execute(
                f"SELECT {columns}, rv FROM {model._meta.db_table} WHERE cluster_id = %s ORDER BY id", [cluster_id]
            )
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                yield ((kind, _text(content), rv) for kind, content, rv in rows)


def _text(content: str | bytes | memoryview) -> bytes:
    return content.encode() if isinstance(content, str) else packing.decompressed(content)


def deletions_after(*, cluster_id: int, rv: int, kinds: Container[str] = manifests.KINDS) -> list[core.ObjectDeleted]:
    """What was deleted after `rv`, as far back as the log goes."""
    rows = bulk.read_rows(
        "SELECT rv, kind, namespace, name, uid FROM cluster_change"
        " WHERE cluster_id = %s AND rv > %s AND operation = %s ORDER BY rv",
        [cluster_id, rv, Operation.DELETED],
    )
    return [
        core.ObjectDeleted(kind, namespace, name, uid, at) for at, kind, namespace, name, uid in rows if kind in kinds
    ]


class LogClearedError(Exception):
    """What follows the position has been cleared away: begin again with `stored_changes`."""


def changes_after(
    *,
    cluster_id: int,
    rv: int,
    least: int | None = None,
    until: int | None = None,
    most: int | None = None,
    sharing: Sharing | None = None,
    kinds: Container[str] = manifests.KINDS,
) -> tuple[list[core.Change], int]:
    """All changes after `rv` in order, up to `until` or the first so many, and the position of the last.

    LogClearedError when some are missing of those up to `least`, which the log is known to have had, or before others;
    ClusterGoneError when all are, with their cluster.
    """
    rows = bulk.read_rows(
        "SELECT rv, kind, namespace, name, uid, operation, object FROM cluster_change"
        " WHERE cluster_id = %s AND rv > %s AND rv <= coalesce(%s::bigint, 9223372036854775807)"
        " ORDER BY rv LIMIT %s::bigint",
        [cluster_id, rv, until, most],
    )
    last = rows[-1][0] if rows else rv
    if last - rv != len(rows) or (not rows and least is not None and least > rv):
        gone.check(cluster_id)
        raise LogClearedError(f"cluster {cluster_id}: of what the log had after {rv} only {len(rows)} are left")
    if sharing is None and len(rows) >= MANY:
        sharing = Sharing()
    found = [change_of(*row, sharing=sharing, kinds=kinds) for row in rows]
    return [change for change in found if change is not None], last


def moments(*, cluster_id: int, rvs: Sequence[int]) -> dict[int, datetime]:
    """When these entries were written, in the cluster's time: those of one transaction at the same moment."""
    statement = "SELECT rv, at FROM cluster_change WHERE cluster_id = %s AND rv = ANY(%s::bigint[])"
    return dict(bulk.read_rows(statement, [cluster_id, list(rvs)]))


def change_of(
    rv: int,
    kind: str,
    namespace: str,
    name: str,
    uid: str,
    operation: str,
    packed: bytes | memoryview,
    *,
    sharing: Sharing | None = None,
    kinds: Container[str] = manifests.KINDS,
) -> core.Change | None:
    """An entry of the log; None where it is none of a follower's business. What is, is decided before it is read."""
    if operation == Operation.SETTING:
        return None
    if operation == Operation.DELETED:
        return core.ObjectDeleted(kind, namespace, name, uid, rv) if kind in kinds else None
    if operation != Operation.VERDICT and kind not in kinds:
        return None
    payload = packing.unpacked(packed)
    if operation == Operation.VERDICT:
        return _verdict_of(kind, payload, rv)
    return object_put(kind, payload, rv, sharing, kinds)


def object_put(
    kind: str,
    manifest: dict[str, Any],
    rv: int,
    sharing: Sharing | None = None,
    kinds: Container[str] = manifests.KINDS,
) -> core.ObjectPut | None:
    """A manifest as a change; None for a kind that is not followed. The manifest is given its version."""
    if kind not in kinds:
        return None
    manifest["metadata"]["resourceVersion"] = version_text(rv)
    obj = manifests.decode(manifest, kind=kind)
    if sharing is not None:
        sharing.share(obj)
    return core.ObjectPut(obj, rv)


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
    if kind == PRE_BIND_VERDICT:
        return core.PreBindVerdict(payload["pod_uid"], payload["plugin"], payload["done"], payload["message"], rv)
    return None
