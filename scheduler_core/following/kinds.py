"""What is asked for: the kinds that scheduling reads, and no others. Secrets and ConfigMaps are not among them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from scheduler_core.apiserver.kinds import KINDS, Kind

# In this order: what others refer to first, pods last.
FOLLOWED: Final = (
    "Node",
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "DeviceClass",
    "ResourceSlice",
    "ResourceClaim",
    "PodDisruptionBudget",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "Pod",
)
# Without these there is nothing to explain.
REQUIRED: Final = frozenset({"Node", "Pod"})


class Collected(msgspec.Struct, frozen=True):
    """One collection of objects: a kind, in one namespace unless that is empty."""

    kind: str
    namespace: str = ""

    @property
    def key(self) -> str:
        """What its position is kept under."""
        return f"{self.kind}/{self.namespace}" if self.namespace else self.kind

    @property
    def api_version(self) -> str:
        return KINDS[self.kind].cls.api_version

    @property
    def path(self) -> str:
        """The path of the collection."""
        kind: Kind = KINDS[self.kind]
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        within = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{root}{within}/{kind.cls.plural}"


def collections(namespaces: Collection[str] = ()) -> Iterator[Collected]:
    """Everything to follow; with `namespaces`, of namespaced kinds only what is in these."""
    for kind in FOLLOWED:
        if namespaces and KINDS[kind].namespaced:
            yield from (Collected(kind, namespace) for namespace in sorted(set(namespaces)))
        else:
            yield Collected(kind)
