"""Writes to nodes that people ask for."""

from django.db import transaction

from kschedweb.cluster.changes import ChangeEntry, changes_commit
from kschedweb.cluster.choices import Operation
from kschedweb.cluster.models import Node
from kschedweb.common.errors import NotFoundError


def node_cordon(*, cluster_id: int, name: str, unschedulable: bool, actor: str) -> Node:
    """Keep new pods away from a node, or let them come again; no entry when it is so already."""
    with transaction.atomic():
        node = Node.objects.select_for_update().filter(cluster_id=cluster_id, name=name).first()
        if node is None:
            raise NotFoundError(f'nodes "{name}" not found', name=name)
        if node.unschedulable == unschedulable:
            return node
        node.unschedulable = unschedulable
        spec = node.manifest.setdefault("spec", {})
        if unschedulable:
            spec["unschedulable"] = True
        else:
            spec.pop("unschedulable", None)
        node.save(update_fields=["unschedulable", "manifest"])
        entry = ChangeEntry("Node", "", node.name, node.uid, Operation.UPDATED, node.manifest, actor)
        node.rv = changes_commit(cluster_id=cluster_id, entries=[entry])
    return node
