"""Defaults that kinds share: quantities, images, volumes and claims.

Source: kubernetes v1.34.1, pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.admission.context import Manifest
from scheduler_core.api.quantity import parse

_FILE_MODE: Final = 0o644
# Defaults of volume sources, by source.
_SOURCES: Final[dict[str, dict[str, Any]]] = {
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def put(holder: Manifest, field: str, value: Any) -> None:
    """Set a field that is absent or empty; zero of a number that may be zero has to be absent to count."""
    if holder.get(field) in (None, ""):
        holder[field] = value


def default_resource_lists(holder: Manifest, fields: tuple[str, ...]) -> None:
    """Quantities as the API server stores them: canonical text, nothing finer than thousandths."""
    for field in fields:
        values: dict[str, Any] = holder.get(field) or {}
        for name, text in values.items():
            values[name] = rounded(text)


def rounded(text: str) -> str:
    """The quantity rounded up to thousandths."""
    if text.isdigit():
        return text  # canonical already, and most are
    return str(parse(text).rounded_up_to_milli())


def pull_policy(image: str) -> str:
    """Always for the tag `latest`, given or implied."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if image and (tag == "latest" or not (tag or digest)) else "IfNotPresent"


def default_volume(volume: Manifest) -> None:
    """A volume of a pod; one without a source is an emptyDir."""
    if volume.keys() == {"name"}:
        volume["emptyDir"] = {}
    default_volume_source(volume)
    if "image" in volume:
        put(volume["image"], "pullPolicy", pull_policy(volume["image"].get("reference", "")))
    for source in volume.get("projected", {}).get("sources") or ():
        if "serviceAccountToken" in source:
            put(source["serviceAccountToken"], "expirationSeconds", 3600)
        _field_refs(source.get("downwardAPI", {}))
    _field_refs(volume.get("downwardAPI", {}))
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(template["spec"])


def default_volume_source(holder: Manifest) -> None:
    """The sources of a volume or of a PersistentVolume's spec."""
    for name, defaults in _SOURCES.items():
        if name in holder:
            for field, value in defaults.items():
                put(holder[name], field, value)


def default_claim_spec(spec: Manifest) -> None:
    put(spec, "volumeMode", "Filesystem")
    default_resource_lists(spec["resources"], ("limits", "requests"))


def _field_refs(source: Manifest) -> None:
    for item in source.get("items", ()):
        if "fieldRef" in item:
            put(item["fieldRef"], "apiVersion", "v1")
