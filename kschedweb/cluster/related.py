"""The objects that belong to one that is shown: its node, owners, claims and devices, as they are stored now."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Protocol

from django.db.models import Q

from kschedweb.cluster.choices import TERMINAL_PHASES
from kschedweb.cluster.models import ApiObject, Node, Pod

Manifest = dict[str, Any]


class Related(Protocol):
    """Manifests of one cluster at one moment."""

    def node(self, name: str) -> Manifest | None:
        """The node of that name."""

    def named(self, kind: str, namespace: str, names: Collection[str]) -> dict[str, Manifest]:
        """By name, those that are there of any kind."""

    def of_kind(self, kind: str, namespace: str = "") -> Iterable[Manifest]:
        """All of a kind other than Pod and Node, in a namespace if one is given, by name."""

    def leaving_pods(self, node_name: str) -> Iterable[Manifest]:
        """The pods on a node that are being deleted and have not ended, by name."""

    def tainted_nodes(self, keys: Collection[str]) -> Iterable[Manifest]:
        """The nodes with a taint of one of the keys, by name."""

    def slices(self, node_name: str) -> list[Manifest]:
        """The ResourceSlices of a node, by name."""

    def claims(self) -> Iterable[tuple[str, str, Manifest | None]]:
        """(namespace, name, status) of every ResourceClaim, in that order."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Those of now."""

    cluster_id: int

    def node(self, name: str) -> Manifest | None:
        return Node.objects.filter(cluster_id=self.cluster_id, name=name).values_list("manifest", flat=True).first()

    def named(self, kind: str, namespace: str, names: Collection[str]) -> dict[str, Manifest]:
        match kind:
            case "Node":
                rows: Any = Node.objects
            case "Pod":
                rows = Pod.objects.filter(namespace=namespace)
            case _:
                rows = ApiObject.objects.filter(kind=kind, namespace=namespace)
        return dict(rows.filter(cluster_id=self.cluster_id, name__in=names).values_list("name", "manifest"))

    def of_kind(self, kind: str, namespace: str = "") -> Iterable[Manifest]:
        rows = ApiObject.objects.filter(cluster_id=self.cluster_id, kind=kind).order_by("namespace", "name")
        return (rows.filter(namespace=namespace) if namespace else rows).values_list("manifest", flat=True)

    def leaving_pods(self, node_name: str) -> Iterable[Manifest]:
        rows = Pod.objects.filter(cluster_id=self.cluster_id, node_name=node_name, deletion_timestamp__isnull=False)
        rows = rows.exclude(phase__in=TERMINAL_PHASES)
        return rows.order_by("namespace", "name").values_list("manifest", flat=True)

    def tainted_nodes(self, keys: Collection[str]) -> Iterable[Manifest]:
        any_of = reduce(or_, (Q(manifest__spec__taints__contains=[{"key": key}]) for key in keys))
        rows = Node.objects.filter(any_of, cluster_id=self.cluster_id).order_by("name")
        return rows.values_list("manifest", flat=True)

    def slices(self, node_name: str) -> list[Manifest]:
        rows = ApiObject.objects.filter(
            cluster_id=self.cluster_id, kind="ResourceSlice", manifest__spec__nodeName=node_name
        )
        return list(rows.order_by("name").values_list("manifest", flat=True))

    def claims(self) -> Iterable[tuple[str, str, Manifest | None]]:
        rows = ApiObject.objects.filter(cluster_id=self.cluster_id, kind="ResourceClaim").order_by("namespace", "name")
        return rows.values_list("namespace", "name", "manifest__status")
