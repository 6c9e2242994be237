"""Volumes, claims, classes and what CSI drivers report, as far as scheduling and the simulated cluster read them.

Source: core/v1 and storage.k8s.io/v1 of Kubernetes 1.34. Absent lists and maps are `None`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from scheduler_core.api.affinity import NodeSelector
from scheduler_core.api.meta import Int32, KubeObject, LabelSelector, ResourceList, Time, Value
from scheduler_core.api.pod import AWSElasticBlockStore, GCEPersistentDisk
from scheduler_core.api.quantity import Quantity


class ObjectReference(Value, frozen=True):
    """Which claim a volume belongs to."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class CSIPersistentVolumeSource(Value, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(Value, frozen=True):
    """Nodes from which the volume can be reached; absent means all."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Value, frozen=True):
    """Sources the scheduler only tells apart by presence stay untyped."""

    capacity: ResourceList | None = None
    access_modes: tuple[str, ...] | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str = ""
    volume_attributes_class_name: str | None = None
    mount_options: tuple[str, ...] | None = None
    csi: CSIPersistentVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: dict[str, Any] | None = None
    azure_file: dict[str, Any] | None = None
    cinder: dict[str, Any] | None = None
    portworx_volume: dict[str, Any] | None = None
    vsphere_volume: dict[str, Any] | None = None
    iscsi: dict[str, Any] | None = None
    rbd: dict[str, Any] | None = None
    local: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None
    nfs: dict[str, Any] | None = None


class PersistentVolumeStatus(Value, frozen=True):
    phase: str = ""
    message: str = ""
    reason: str = ""


class PersistentVolume(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolume"
    plural: ClassVar[str] = "persistentvolumes"
    namespaced: ClassVar[bool] = False

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class VolumeResourceRequirements(Value, frozen=True):
    requests: ResourceList | None = None
    limits: ResourceList | None = None


class PersistentVolumeClaimSpec(Value, frozen=True):
    access_modes: tuple[str, ...] | None = None
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str | None = None
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Value, frozen=True):
    phase: str = ""
    capacity: ResourceList | None = None
    access_modes: tuple[str, ...] | None = None
    current_volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolumeClaim"
    plural: ClassVar[str] = "persistentvolumeclaims"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorLabelRequirement(Value, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Value, frozen=True):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] | None = None


class StorageClass(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "StorageClass"
    plural: ClassVar[str] = "storageclasses"
    namespaced: ClassVar[bool] = False

    provisioner: str = ""
    parameters: dict[str, str] | None = None
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None
    allow_volume_expansion: bool | None = None
    mount_options: tuple[str, ...] | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] | None = None


class VolumeAttributesClass(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "VolumeAttributesClass"
    plural: ClassVar[str] = "volumeattributesclasses"
    namespaced: ClassVar[bool] = False

    driver_name: str = ""
    parameters: dict[str, str] | None = None


class VolumeNodeResources(Value, frozen=True):
    """How many volumes of a driver one node takes; absent means no limit."""

    count: Int32 | None = None


class CSINodeDriver(Value, frozen=True):
    name: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: tuple[str, ...] | None = None
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Value, frozen=True):
    drivers: tuple[CSINodeDriver, ...] | None = None


class CSINode(KubeObject, frozen=True, kw_only=True):
    """Named like its node."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSINode"
    plural: ClassVar[str] = "csinodes"
    namespaced: ClassVar[bool] = False

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Value, frozen=True):
    attach_required: bool | None = None
    storage_capacity: bool | None = None


class CSIDriver(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIDriver"
    plural: ClassVar[str] = "csidrivers"
    namespaced: ClassVar[bool] = False

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeObject, frozen=True, kw_only=True):
    """What a driver can still provision in one topology segment."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIStorageCapacity"
    plural: ClassVar[str] = "csistoragecapacities"

    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Value, frozen=True):
    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Value, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeError(Value, frozen=True):
    time: Time | None = None
    message: str = ""


class VolumeAttachmentStatus(Value, frozen=True):
    attached: bool = False
    attach_error: VolumeError | None = None
    detach_error: VolumeError | None = None


class VolumeAttachment(KubeObject, frozen=True, kw_only=True):
    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "VolumeAttachment"
    plural: ClassVar[str] = "volumeattachments"
    namespaced: ClassVar[bool] = False

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
