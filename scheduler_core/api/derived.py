"""What the scheduler derives from objects: zone keys, normalised image names, claim names, not-found texts.

Source: Kubernetes 1.34, component-helpers (node/topology, storage/ephemeral) and the ImageLocality plugin.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.api.meta import KubeObject, OwnerReference
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import PersistentVolumeClaim

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"


def zone_key(node: Node) -> str:
    """Region and zone as one text, empty when the node has neither label. The beta labels win when present."""
    labels = node.labels
    region = labels.get(BETA_REGION, labels.get(REGION, ""))
    zone = labels.get(BETA_ZONE, labels.get(ZONE, ""))
    return f"{region}:\x00:{zone}" if region or zone else ""


def normalized_image_name(name: str) -> str:
    """The image with `:latest` where no tag is named; a colon before the last slash belongs to a port."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def controller_of(obj: KubeObject) -> OwnerReference | None:
    """The owner that manages the object."""
    return next((owner for owner in obj.metadata.owner_references or () if owner.controller), None)


def ephemeral_claim_name(pod: Pod, volume_name: str) -> str:
    """The claim a generic ephemeral volume gets."""
    return f"{pod.name}-{volume_name}"


def claim_belongs_to(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether the claim was made for this pod, not for a namesake."""
    owner = controller_of(claim)
    return claim.namespace == pod.namespace and owner is not None and owner.uid == pod.uid


def pod_full_name(pod: Pod) -> str:
    return f"{pod.name}_{pod.namespace}"


def start_time_us(pod: Pod, now: int) -> int:
    """When the pod started, in microseconds since the epoch; `now` for a pod that has not."""
    started = pod.status.start_time
    return now if started is None else round(started.timestamp() * 1_000_000)


def claim_not_found(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def volume_not_found(name: str) -> str:
    return f'persistentvolume "{name}" not found'


def storage_class_not_found(name: str) -> str:
    return f'storageclass.storage.k8s.io "{name}" not found'


def resource_claim_not_found(key: str) -> str:
    return f'could not find ResourceClaim "{key}"'
