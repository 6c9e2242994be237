"""The objects that belong to one that is shown: its node, owners, claims and devices, as they are stored now."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from kschedweb.cluster.models import ApiObject, Node

Manifest = dict[str, Any]


class Related(Protocol):
    """Manifests of one cluster at one moment."""

    def node(self, name: str) -> Manifest | None:
        """The node of that name."""

    def named(self, kind: str, namespace: str, names: Collection[str]) -> dict[str, Manifest]:
        """By name, those that are there of another kind."""

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
        rows = ApiObject.objects.filter(cluster_id=self.cluster_id, kind=kind, namespace=namespace, name__in=names)
        return dict(rows.values_list("name", "manifest"))

    def slices(self, node_name: str) -> list[Manifest]:
        rows = ApiObject.objects.filter(
            cluster_id=self.cluster_id, kind="ResourceSlice", manifest__spec__nodeName=node_name
        )
        return list(rows.order_by("name").values_list("manifest", flat=True))

    def claims(self) -> Iterable[tuple[str, str, Manifest | None]]:
        rows = ApiObject.objects.filter(cluster_id=self.cluster_id, kind="ResourceClaim").order_by("namespace", "name")
        return rows.values_list("namespace", "name", "manifest__status")
