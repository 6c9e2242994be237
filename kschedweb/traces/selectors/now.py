"""What pods ask of nodes, and what there is, as it is now: beside what attempts kept, which is of then."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kschedweb import views
from kschedweb.cluster.choices import TERMINAL_PHASES
from kschedweb.cluster.models import Node, Pod
from kschedweb.traces import adapters

NODES_TOLD = 50  # of a page of a matrix


def nodes_now(cluster_id: int, names: Iterable[str]) -> dict[str, adapters.NodeNow]:
    """The nodes of these names that are there, with the pods that count on them."""
    wanted = list(names)
    pods: defaultdict[str, list[Any]] = defaultdict(list)
    on_them = Pod.objects.filter(cluster_id=cluster_id, node_name__in=wanted).exclude(phase__in=TERMINAL_PHASES)
    for name, manifest in on_them.values_list("node_name", "manifest"):
        pods[name].append(manifest)
    nodes = Node.objects.filter(cluster_id=cluster_id, name__in=wanted).values_list("name", "manifest")
    read = {name: adapters.node_now(manifest, pods[name]) for name, manifest in nodes}
    return {name: node for name, node in read.items() if node is not None}


def pods_without_node(cluster_id: int, uids: Iterable[str]) -> Mapping[str, Any]:
    """The manifests of those pods that still have no node, by uid."""
    rows = Pod.objects.filter(cluster_id=cluster_id, uid__in=list(uids), node_name="")
    return dict(rows.exclude(phase__in=TERMINAL_PHASES).values_list("uid", "manifest"))


def matrix_now(cluster_id: int, pod_uid: str, matrix: views.Matrix) -> views.Matrix:
    """The page of the matrix with what is asked of its first rejected nodes now, while the pod has none."""
    pod = pods_without_node(cluster_id, [pod_uid]).get(pod_uid)
    if pod is None:
        return matrix
    asked = [each.node for each in matrix.nodes if each.status is not None][:NODES_TOLD]
    nodes = nodes_now(cluster_id, asked)

    def told(row: views.MatrixNode) -> views.MatrixNode:
        node = nodes.get(row.node)
        if node is None or row.status is None:
            return row
        now = adapters.amounts_now(pod, node, row.status.plugin, row.status.reasons)
        return msgspec.structs.replace(row, now=now)

    return msgspec.structs.replace(matrix, nodes=list(map(told, matrix.nodes)))


def refusals_now(cluster_id: int, node_name: str, refusals: Iterable[views.NodeRefusal]) -> list[views.NodeRefusal]:
    """The rejections with what the pods that still have no node ask of this one now."""
    found = list(refusals)
    node = nodes_now(cluster_id, [node_name]).get(node_name) if found else None
    if node is None:
        return found
    pods = pods_without_node(cluster_id, [each.pod_uid for each in found])

    def told(refusal: views.NodeRefusal) -> views.NodeRefusal:
        pod = pods.get(refusal.pod_uid)
        if pod is None:
            return refusal
        return msgspec.structs.replace(refusal, now=adapters.amounts_now(pod, node, refusal.plugin, refusal.reasons))

    return list(map(told, found))
