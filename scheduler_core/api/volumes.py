"""What scheduling and the simulated cluster derive from claims, volumes and classes: who uses, who is bound to whom.

Sizes are quantities of bytes. Source: Kubernetes 1.34, component-helpers (storage/volume, storage/ephemeral),
pkg/controller/volume/persistentvolume.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from scheduler_core.api.derived import claim_belongs_to, ephemeral_claim_name
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.quantity import ZERO, Quantity
from scheduler_core.api.selectors import NodeSelectorMatcher, parse_node_selector
from scheduler_core.api.storage import (
    CSINode,
    CSIStorageCapacity,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
FILESYSTEM: Final = "Filesystem"
STORAGE: Final = "storage"


@dataclass(frozen=True, slots=True)
class ClaimUse:
    """A claim one of a pod's volumes asks for; an ephemeral one is made for the pod alone."""

    name: str
    is_ephemeral: bool


def claims_used(pod: Pod) -> Iterator[ClaimUse]:
    """In the order of the volumes, repeated as often as listed."""
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume.persistent_volume_claim.claim_name, False)
        elif volume.ephemeral is not None:
            yield ClaimUse(ephemeral_claim_name(pod, volume.name), True)


def uses_claim(pod: Pod, claim: PersistentVolumeClaim, *, ephemeral: bool = True) -> bool:
    """Whether a volume of the pod names the claim; `ephemeral` says whether claims made for the pod count."""
    return claim.namespace == pod.namespace and any(
        use.name == claim.name for use in claims_used(pod) if ephemeral or not use.is_ephemeral
    )


def not_owner_text(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Why an ephemeral volume cannot use the claim, empty when it can."""
    if claim_belongs_to(claim, pod):
        return ""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def claim_class_name(claim: PersistentVolumeClaim) -> str:
    """The class by the old annotation, else by the field, else none."""
    return claim.annotations.get(BETA_STORAGE_CLASS, claim.spec.storage_class_name or "")


def volume_class_name(volume: PersistentVolume) -> str:
    return volume.annotations.get(BETA_STORAGE_CLASS, volume.spec.storage_class_name)


def requested_storage(claim: PersistentVolumeClaim) -> Quantity:
    return (claim.spec.resources.requests or {}).get(STORAGE, ZERO)


def offered_storage(volume: PersistentVolume) -> Quantity:
    return (volume.spec.capacity or {}).get(STORAGE, ZERO)


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """The claim names its volume, and the binding is known to be complete on both sides."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.annotations


def belongs_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is set aside for this claim; a reference without uid means any claim of the name."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and reference.name == claim.name
        and reference.namespace == claim.namespace
        and reference.uid in ("", claim.uid)
    )


def volume_suits_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """What is asked even of a volume set aside for the claim: free for it, large enough, of the same mode, staying."""
    if volume.spec.claim_ref is not None and not belongs_to_claim(volume, claim):
        return False
    return (
        not offered_storage(volume) < requested_storage(claim)
        and (volume.spec.volume_mode or FILESYSTEM) == (claim.spec.volume_mode or FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


def mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Why a claim cannot have the volume that it names, empty when it can."""
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.name}"'
    if offered_storage(volume) < requested_storage(claim):
        return "requested PV is too small"
    if volume_class_name(volume) != claim_class_name(claim):
        return "storageClassName does not match"
    if (volume.spec.volume_attributes_class_name or "") != (claim.spec.volume_attributes_class_name or ""):
        return "volumeAttributesClassName does not match"
    if (volume.spec.volume_mode or FILESYSTEM) != (claim.spec.volume_mode or FILESYSTEM):
        return "incompatible volumeMode"
    return "" if offers_access_modes(volume, claim) else "incompatible accessMode"


def offers_access_modes(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return set(claim.spec.access_modes or ()) <= set(volume.spec.access_modes or ())


def bound_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume set aside for the claim, marked as the controller's doing unless a user had done so."""
    annotations = volume.annotations
    if not belongs_to_claim(volume, claim) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    return replace(
        volume,
        metadata=replace(volume.metadata, annotations=annotations or volume.metadata.annotations),
        spec=replace(volume.spec, claim_ref=reference_to(claim)),
    )


def reference_to(claim: PersistentVolumeClaim) -> ObjectReference:
    return ObjectReference(
        api_version=claim.api_version,
        kind=claim.kind,
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.uid,
        resource_version=claim.metadata.resource_version,
    )


def with_annotation(claim: PersistentVolumeClaim, key: str, value: str) -> PersistentVolumeClaim:
    return replace(claim, metadata=replace(claim.metadata, annotations={**claim.annotations, key: value}))


def required_reach(volume: PersistentVolume) -> NodeSelectorMatcher | None:
    """The nodes the volume can be reached from, None for all."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    return parse_node_selector(affinity.required)


def is_reached_from(reach: NodeSelectorMatcher | None, labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels can use the volume; its name is not known here, so matchFields do not count."""
    return reach is None or any(
        not term.errors
        and not term.is_empty
        and all(requirement.accepts(labels.get(requirement.key)) for requirement in term.requirements)
        for term in reach.terms
    )


def capacity_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """The largest volume that can be made there; None when it is not said."""
    return capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity


def migrated_plugins(csi_node: CSINode | None) -> frozenset[str]:
    """In-tree volume plugins whose work CSI drivers do on the node."""
    listed = csi_node.annotations.get(MIGRATED_PLUGINS, "") if csi_node is not None else ""
    return frozenset(name for name in listed.split(",") if name)


def as_claim(obj: KubeObject | None) -> PersistentVolumeClaim | None:
    """The claim of an event about claims; TypeError when it is none."""
    if obj is not None and not isinstance(obj, PersistentVolumeClaim):
        raise TypeError(f"expected a PersistentVolumeClaim, got {obj.kind}")
    return obj
