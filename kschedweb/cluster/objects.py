"""Objects of any kind, by kind and name."""

from typing import Any, NamedTuple

from django.db.models import Q
from django.db.models.functions import Collate

from kschedweb import views
from kschedweb.cluster.models import ApiObject, Node, Pod
from kschedweb.common.errors import NotFoundError


class Kept(NamedTuple):
    """An object of a kind that is known."""

    namespace: str
    name: str
    rv: int
    manifest: dict[str, Any]


def object_get(*, cluster_id: int, kind: str, namespace: str, name: str) -> views.ClusterObject:
    """An object; NotFoundError."""
    row = _of_kind(cluster_id, kind, namespace).filter(name=name).first()
    if row is None:
        raise absent(kind, namespace, name)
    return views.ClusterObject(rv=row.rv, manifest=row.manifest)


def objects_after(
    *, cluster_id: int, kind: str, namespace: str | None, after: tuple[str, str], limit: int
) -> list[Kept]:
    """The objects of a kind after one of them, by namespace and name in the order of bytes."""
    rows = _of_kind(cluster_id, kind, namespace)
    name = Collate("name", "C")
    if kind == "Node":
        found = rows.alias(own=name).filter(own__gt=after[1]).order_by(name).values_list("name", "rv", "manifest")
        return [Kept("", *row) for row in found[:limit]]
    of = Collate("namespace", "C")
    found = rows.alias(of=of, own=name).filter(Q(of__gt=after[0]) | Q(of=after[0], own__gt=after[1]))
    return [Kept(*row) for row in found.order_by(of, name).values_list("namespace", "name", "rv", "manifest")[:limit]]


def _of_kind(cluster_id: int, kind: str, namespace: str | None) -> Any:
    if kind == "Node":
        nodes = Node.objects.filter(cluster_id=cluster_id)
        return nodes if not namespace else nodes.none()
    rows: Any = Pod.objects if kind == "Pod" else ApiObject.objects.filter(kind=kind)
    return (
        rows.filter(cluster_id=cluster_id)
        if namespace is None
        else rows.filter(cluster_id=cluster_id, namespace=namespace)
    )


def absent(kind: str, namespace: str, name: str) -> NotFoundError:
    """What is said of an object that is not there."""
    match kind:
        case "Pod":
            return NotFoundError(f'pods "{name}" not found', namespace=namespace, name=name)
        case "Node":
            return NotFoundError(f'nodes "{name}" not found', name=name)
    return NotFoundError(f'{kind} "{name}" not found', kind=kind, name=name)
