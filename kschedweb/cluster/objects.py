"""Objects of any kind, by kind and name."""

from typing import Any, NamedTuple

from django.db.models import Q

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
    """The objects of a kind after one of them, by namespace and name as their unique index has them."""
    rows = _of_kind(cluster_id, kind, namespace)
    if kind == "Node":
        found = rows.filter(name__gt=after[1]).order_by("name").values_list("name", "rv", "manifest")
        return [Kept("", *row) for row in found[:limit]]
    # The first condition lets the index be entered at the place.
    found = rows.filter(Q(namespace__gt=after[0]) | Q(name__gt=after[1]), namespace__gte=after[0])
    ordered = found.order_by("namespace", "name").values_list("namespace", "name", "rv", "manifest")
    return [Kept(*row) for row in ordered[:limit]]


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
