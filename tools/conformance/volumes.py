"""What the recording's harness did about volumes after a cycle: complete what VolumeBinding wrote, and tell it.

A volume taken is bound to its claim; for a claim placed on a node a volume is made there and then, and bound to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from scheduler_core.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler_core.api.derived import ZONE
from scheduler_core.api.meta import KubeObject, ObjectMeta
from scheduler_core.api.node import Node
from scheduler_core.api.storage import (
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
)
from scheduler_core.api.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    STORAGE,
    claim_class_name,
    reference_to,
    requested_storage,
)
from scheduler_core.scheduler.store import ObjectStore


def complete(writes: Sequence[KubeObject], store: ObjectStore) -> tuple[list[KubeObject], dict[str, Any]]:
    """The objects as they stand after the writes, and the recorded words for what was decided."""
    objects: list[KubeObject] = []
    static: list[list[str]] = []
    provision: list[list[str]] = []
    for write in writes:
        if isinstance(write, PersistentVolume):
            reference = write.spec.claim_ref
            assert reference is not None
            claim = store.get(PersistentVolumeClaim.kind, f"{reference.namespace}/{reference.name}")
            assert isinstance(claim, PersistentVolumeClaim)
            static.append([claim.key, write.name])
            objects += [replace(write, status=replace(write.status, phase="Bound")), _bound(claim, write.name)]
        elif isinstance(write, PersistentVolumeClaim):
            volume = _made_for(write, store)
            provision.append([write.key, volume.name])
            objects += [volume, _bound(write, volume.name)]
    told = {"static": static, "provision": provision}
    return objects, {name: pairs for name, pairs in told.items() if pairs}


def _bound(claim: PersistentVolumeClaim, volume_name: str) -> PersistentVolumeClaim:
    annotations = {**claim.annotations, BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
    return replace(
        claim,
        metadata=replace(claim.metadata, annotations=annotations),
        spec=replace(claim.spec, volume_name=volume_name),
        status=replace(claim.status, phase="Bound"),
    )


def _made_for(claim: PersistentVolumeClaim, store: ObjectStore) -> PersistentVolume:
    storage_class = store.get(StorageClass.kind, claim_class_name(claim))
    node = store.get(Node.kind, claim.annotations[SELECTED_NODE])
    assert isinstance(storage_class, StorageClass) and isinstance(node, Node)
    name = f"pvc-{claim.uid}"
    affinity = None
    if ZONE in node.labels:
        requirement = NodeSelectorRequirement(key=ZONE, operator="In", values=(node.labels[ZONE],))
        affinity = VolumeNodeAffinity(required=NodeSelector((NodeSelectorTerm(match_expressions=(requirement,)),)))
    return PersistentVolume(
        metadata=ObjectMeta(name=name, uid=name),
        spec=PersistentVolumeSpec(
            capacity={STORAGE: requested_storage(claim)},
            access_modes=claim.spec.access_modes,
            storage_class_name=storage_class.name,
            volume_mode=claim.spec.volume_mode,
            csi=CSIPersistentVolumeSource(driver=storage_class.provisioner, volume_handle=name),
            claim_ref=reference_to(claim),
            node_affinity=affinity,
        ),
        status=PersistentVolumeStatus(phase="Bound"),
    )
