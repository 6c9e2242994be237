"""Defaults of all kinds but pods and nodes: small constants, one function per kind.

Source: kubernetes v1.34.1, pkg/apis/*/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scheduler_core.admission.context import Manifest
from scheduler_core.admission.defaulting import default_resource_lists
from scheduler_core.admission.limits import default_limit_range

NAME_LABEL: Final = "kubernetes.io/metadata.name"


def default_kind(manifest: Manifest, kind: str) -> None:
    """Fill in what the API server would, in place."""
    default = _DEFAULTS.get(kind)
    if default is not None:
        default(manifest)


def _namespace(manifest: Manifest) -> None:
    metadata = manifest["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), NAME_LABEL: metadata["name"]}
    _set(manifest.setdefault("status", {}), "phase", "Active")


def _persistent_volume(manifest: Manifest) -> None:
    spec = manifest.setdefault("spec", {})
    default_resource_lists(spec, ("capacity",))
    _set(spec, "persistentVolumeReclaimPolicy", "Retain")
    _set(spec, "volumeMode", "Filesystem")
    _set(manifest.setdefault("status", {}), "phase", "Pending")


def _persistent_volume_claim(manifest: Manifest) -> None:
    spec = manifest.setdefault("spec", {})
    default_resource_lists(spec.get("resources"), ("requests", "limits"))
    _set(spec, "volumeMode", "Filesystem")
    _set(manifest.setdefault("status", {}), "phase", "Pending")


def _storage_class(manifest: Manifest) -> None:
    _set(manifest, "volumeBindingMode", "Immediate")
    _set(manifest, "reclaimPolicy", "Delete")


def _csi_driver(manifest: Manifest) -> None:
    spec = manifest.setdefault("spec", {})
    spec.setdefault("storageCapacity", False)
    spec.setdefault("attachRequired", True)


def _priority_class(manifest: Manifest) -> None:
    _set(manifest, "preemptionPolicy", "PreemptLowerPriority")


def _replication_controller(manifest: Manifest) -> None:
    spec = manifest.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    labels = spec.get("template", {}).get("metadata", {}).get("labels", {})
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)


def _replicated(manifest: Manifest) -> None:
    manifest.setdefault("spec", {}).setdefault("replicas", 1)


def _job(manifest: Manifest) -> None:
    spec = manifest.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("suspend", False)


def _resource_claim(manifest: Manifest) -> None:
    _device_requests(manifest.get("spec", {}))


def _resource_claim_template(manifest: Manifest) -> None:
    _device_requests(manifest.get("spec", {}).get("spec", {}))


def _device_requests(spec: Manifest) -> None:
    for request in spec.get("devices", {}).get("requests", ()):
        exact = [request["exactly"]] if "exactly" in request else []
        for one in [*exact, *request.get("firstAvailable", ())]:
            _set(one, "allocationMode", "ExactCount")
            if one["allocationMode"] == "ExactCount":
                one.setdefault("count", 1)


def _set(holder: Manifest, field: str, value: str) -> None:
    """An empty text counts as absent."""
    if not holder.get(field):
        holder[field] = value


_DEFAULTS: Final[dict[str, Callable[[Manifest], None]]] = {
    "Namespace": _namespace,
    "PersistentVolume": _persistent_volume,
    "PersistentVolumeClaim": _persistent_volume_claim,
    "StorageClass": _storage_class,
    "CSIDriver": _csi_driver,
    "PriorityClass": _priority_class,
    "LimitRange": default_limit_range,
    "ReplicationController": _replication_controller,
    "ReplicaSet": _replicated,
    "StatefulSet": _replicated,
    "Deployment": _replicated,
    "Job": _job,
    "ResourceClaim": _resource_claim,
    "ResourceClaimTemplate": _resource_claim_template,
}
