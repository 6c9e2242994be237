"""Writes to nodes that people ask for."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from kschedweb.cluster import adapters
from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import Node
from kschedweb.common import wake
from kschedweb.common.errors import InvalidError, NotFoundError


def node_update(
    *,
    cluster_id: int,
    name: str,
    unschedulable: bool | None = None,
    taints: Sequence[dict[str, Any]] | None = None,
    actor: str,
) -> Node:
    """Cordon or uncordon a node, replace its taints; what is None stays. No log entry when nothing changes."""
    with transaction.atomic():
        node = Node.objects.select_for_update().filter(cluster_id=cluster_id, name=name).first()
        if node is None:
            raise NotFoundError(f'nodes "{name}" not found', name=name)
        spec = dict(node.manifest.get("spec") or {})
        if unschedulable is not None:
            spec.pop("unschedulable", None)
            spec |= {"unschedulable": True} if unschedulable else {}
        if taints is not None:
            spec.pop("taints", None)
            spec |= {"taints": [dict(taint) for taint in taints]} if taints else {}
        if spec == (node.manifest.get("spec") or {}):
            return node
        try:
            obj = adapters.check_update(node.manifest, {**node.manifest, "spec": spec})
        except adapters.REFUSALS as error:
            raise InvalidError(str(error), field=error.path) from error
        node.manifest = {**node.manifest, "spec": spec}
        node.unschedulable = adapters.node_columns(obj).unschedulable
        node.save(update_fields=["unschedulable", "manifest"])
        entry = ChangeEntry("Node", "", node.name, node.uid, Operation.UPDATED, node.manifest, actor)
        node.rv = changes_commit(cluster_id=cluster_id, entries=[entry])
        wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    return node
