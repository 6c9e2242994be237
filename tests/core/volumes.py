"""Claims, volumes and classes for tests, saying only what matters."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.storage import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from tests.builders import make

DRIVER = "csi.example.com"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


def make_class(name: str = "late", *, late: bool = True, provisioner: str = DRIVER, **fields: Any) -> StorageClass:
    mode = "WaitForFirstConsumer" if late else "Immediate"
    found: StorageClass = make(
        "StorageClass", name, **{"provisioner": provisioner, "volumeBindingMode": mode, **fields}
    )
    return found


def make_claim(
    name: str = "c",
    *,
    size: str = "1Gi",
    class_name: str | None = "late",
    volume: str = "",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    annotations: dict[str, str] | None = None,
    metadata: dict[str, Any] | None = None,
    phase: str = "",
    **spec: Any,
) -> PersistentVolumeClaim:
    """Bound to `volume` when one is given, unless `annotations` say otherwise."""
    if annotations is None:
        annotations = BOUND if volume else {}
    phase = phase or ("Bound" if volume else "Pending")
    wanted = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, "volumeName": volume}
    if class_name is not None:
        wanted["storageClassName"] = class_name
    claim: PersistentVolumeClaim = make("PersistentVolumeClaim", name,
                                        metadata={"annotations": annotations, **(metadata or {})},
                                        spec={**wanted, **spec}, status={"phase": phase})  # fmt: skip
    return claim


def make_volume(
    name: str = "v",
    *,
    size: str = "10Gi",
    class_name: str = "late",
    node: str = "",
    claim: PersistentVolumeClaim | None = None,
    phase: str = "Available",
    labels: dict[str, str] | None = None,
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> PersistentVolume:
    """Reached from `node` only, when one is given."""
    said: dict[str, Any] = {"capacity": {"storage": size}, "accessModes": list(modes), "storageClassName": class_name}
    if node:
        said["nodeAffinity"] = affinity({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]})
    if claim is not None:
        said["claimRef"] = {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid}
    volume: PersistentVolume = make("PersistentVolume", name, metadata={"labels": labels or {}, **(metadata or {})},
                                    spec={**said, **spec}, status={"phase": phase})  # fmt: skip
    return volume


def affinity(*expressions: dict[str, Any], fields: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A volume's node affinity of one term."""
    term: dict[str, Any] = {"matchExpressions": list(expressions)} if expressions else {}
    if fields is not None:
        term["matchFields"] = fields
    return {"required": {"nodeSelectorTerms": [term]}}


def make_capacity(
    name: str = "cap", *, capacity: str | None = "5Gi", largest: str | None = None, zone: str | None = "a"
) -> CSIStorageCapacity:
    fields: dict[str, Any] = {"storageClassName": "late"}
    if capacity is not None:
        fields["capacity"] = capacity
    if largest is not None:
        fields["maximumVolumeSize"] = largest
    if zone is not None:
        fields["nodeTopology"] = {"matchLabels": {"topology.kubernetes.io/zone": zone}}
    found: CSIStorageCapacity = make("CSIStorageCapacity", name, **fields)
    return found


def make_csi_node(name: str = "node", *, migrated: str | None = None, **counts: int) -> CSINode:
    """Limits by driver name; `example` stands for the driver of `make_class`."""
    drivers = [
        {"name": DRIVER if driver == "example" else driver, "nodeID": name, "allocatable": {"count": count}}
        for driver, count in counts.items()
    ]
    annotations = {} if migrated is None else {"storage.alpha.kubernetes.io/migrated-plugins": migrated}
    found: CSINode = make("CSINode", name, metadata={"annotations": annotations}, spec={"drivers": drivers})
    return found
