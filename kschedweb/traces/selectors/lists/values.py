"""What a cluster has for a key: for completion, a few dozen values at most."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kschedweb.cluster.models import ApiObject, Cluster, Node, Pod
from kschedweb.cluster.workload_states import KINDS
from kschedweb.traces.selectors.pending import pending_summary
from scheduler_core.apiserver.kinds import KINDS as OBJECT_KINDS
from scheduler_core.plugins.registry import IN_TREE, installed

MOST: Final = 50


def list_values(cluster_id: int, key: str, part: str) -> Sequence[str]:
    """Values that have that part in them; none for keys that are not looked up."""
    look = _LOOKS.get(key)
    return look(cluster_id, part) if look else ()


def _namespaces(cluster_id: int, part: str) -> Sequence[str]:
    declared = ApiObject.objects.filter(cluster_id=cluster_id, kind="Namespace", name__icontains=part)
    used = Pod.objects.filter(cluster_id=cluster_id, namespace__icontains=part)
    names = {*declared.values_list("name", flat=True)[:MOST]}
    return sorted(names | {*used.order_by().values_list("namespace", flat=True).distinct()[:MOST]})


def _nodes(cluster_id: int, part: str) -> Sequence[str]:
    found = Node.objects.filter(cluster_id=cluster_id, name__icontains=part).order_by("name")
    return list(found.values_list("name", flat=True)[:MOST])


def _owners(cluster_id: int, part: str) -> Sequence[str]:
    found = ApiObject.objects.filter(cluster_id=cluster_id, kind__in=KINDS, name__icontains=part)
    return list(found.order_by("name").values_list("name", flat=True).distinct()[:MOST])


def _plugins(cluster_id: int, part: str) -> Sequence[str]:
    return sorted({*IN_TREE, *(one.point.name for one in installed())})


def _profiles(cluster_id: int, part: str) -> Sequence[str]:
    return sorted(Cluster.objects.filter(pk=cluster_id).values_list("profiles", flat=True).first() or ())


def _reasons(cluster_id: int, part: str) -> Sequence[str]:
    """Those for which pods are pending."""
    return sorted({one.reason for one in pending_summary(cluster_id).reasons if one.reason})


def _kinds(cluster_id: int, part: str) -> Sequence[str]:
    return sorted(OBJECT_KINDS)


_LOOKS: Final[Mapping[str, Callable[[int, str], Sequence[str]]]] = {
    "kind": _kinds,
    "ns": _namespaces,
    "node": _nodes,
    "owner": _owners,
    "plugin": _plugins,
    "profile": _profiles,
    "reason": _reasons,
}
