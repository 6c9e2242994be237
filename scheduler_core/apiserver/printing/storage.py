"""Volumes, claims and what provides them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.admission.storage_class import DEFAULT_MARKS
from scheduler_core.apiserver.printing.texts import (
    NONE,
    UNSET,
    Cells,
    Manifest,
    Printed,
    age_of,
    is_going,
    name_of,
    part,
)

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_MODES: Final = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)


def _persistent_volume(volume: Manifest, now: int) -> Cells:
    spec, status = volume["spec"], part(volume, "status")
    claim = spec.get("claimRef")
    phase = "Terminating" if is_going(volume) else status.get("phase", "")
    return [
        name_of(volume), (spec.get("capacity") or {}).get("storage", "0"), _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""), phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "", _class(volume),
        spec.get("volumeAttributesClassName", UNSET), status.get("reason", ""), age_of(volume, now),
        spec.get("volumeMode", UNSET),
    ]  # fmt: skip


def _persistent_volume_claim(claim: Manifest, now: int) -> Cells:
    spec, status = claim["spec"], part(claim, "status")
    bound = bool(spec.get("volumeName"))
    return [
        name_of(claim), "Terminating" if is_going(claim) else status.get("phase", ""), spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes")) if bound else "", _class(claim),
        spec.get("volumeAttributesClassName", UNSET), age_of(claim, now), spec.get("volumeMode", UNSET),
    ]  # fmt: skip


def _modes(modes: Sequence[str] | None) -> str:
    return ",".join(short for mode, short in _MODES if mode in (modes or ()))


def _class(manifest: Manifest) -> str:
    annotations = manifest["metadata"].get("annotations") or {}
    return str(annotations.get(_BETA_CLASS) or manifest["spec"].get("storageClassName") or "")


def _storage_class(manifest: Manifest, now: int) -> Cells:
    annotations = manifest["metadata"].get("annotations") or {}
    is_default = any(annotations.get(name) == "true" for name in DEFAULT_MARKS)
    return [
        name_of(manifest) + (" (default)" if is_default else ""), manifest.get("provisioner", ""),
        manifest.get("reclaimPolicy", "Delete"), manifest.get("volumeBindingMode", "Immediate"),
        manifest.get("allowVolumeExpansion", False), age_of(manifest, now),
    ]  # fmt: skip


def _volume_attributes_class(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), manifest.get("driverName", ""), age_of(manifest, now)]


def _csi_node(manifest: Manifest, now: int) -> Cells:
    return [name_of(manifest), len(part(manifest, "spec").get("drivers") or ()), age_of(manifest, now)]


def _csi_driver(manifest: Manifest, now: int) -> Cells:
    spec = part(manifest, "spec")
    requests = spec.get("tokenRequests")
    return [
        name_of(manifest), spec.get("attachRequired", True), spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(one.get("audience", "") for one in requests) if requests is not None else UNSET,
        spec.get("requiresRepublish", False), ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(manifest, now),
    ]  # fmt: skip


def _volume_attachment(manifest: Manifest, now: int) -> Cells:
    spec = manifest["spec"]
    return [
        name_of(manifest), spec["attacher"], part(spec, "source").get("persistentVolumeName", ""), spec["nodeName"],
        bool(part(manifest, "status").get("attached")), age_of(manifest, now),
    ]  # fmt: skip


PRINTED: Final[dict[str, Printed]] = {
    "PersistentVolume": (
        "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass"
        "|Reason|Age|!VolumeMode",
        _persistent_volume,
    ),
    "PersistentVolumeClaim": (
        "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|!VolumeMode",
        _persistent_volume_claim,
    ),
    "StorageClass": ("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age", _storage_class),
    "VolumeAttributesClass": ("Name|DriverName|Age", _volume_attributes_class),
    "CSINode": ("Name|Drivers:integer|Age", _csi_node),
    "CSIDriver": (
        "Name|AttachRequired:boolean|PodInfoOnMount:boolean|StorageCapacity:boolean|TokenRequests"
        "|RequiresRepublish:boolean|Modes|Age",
        _csi_driver,
    ),
    "VolumeAttachment": ("Name|Attacher:string:name|PV|Node|Attached:boolean|Age", _volume_attachment),
}
