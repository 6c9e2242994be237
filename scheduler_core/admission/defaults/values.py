"""Defaults that kinds share: quantities, images, volumes and claims.

Source: kubernetes v1.34.1, pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

import re
from typing import Any, Final

from scheduler_core.admission.context import Manifest
from scheduler_core.api.quantity import parse

_FILE_MODE: Final = 0o644
_LONGEST_IMAGE: Final = 255
_PATH_PART: Final = re.compile(r"[a-z0-9]++(?:(?:__|[._]|-++)[a-z0-9]++)*+", re.ASCII)
_HOST_PART: Final = re.compile(r"[a-zA-Z0-9]++(?:-++[a-zA-Z0-9]++)*+", re.ASCII)
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
    """Always for the tag `latest`, given or implied; what is no name of an image has no tag."""
    name, has_digest, _ = image.partition("@")
    place, slash, last = name.rpartition("/")
    last, has_tag, tag = last.partition(":")
    if not _is_image(place + slash + last):
        return "IfNotPresent"
    return "Always" if tag == "latest" or not (has_tag or has_digest) else "IfNotPresent"


def _is_image(name: str) -> bool:
    """Whether it is the name of an image, its registry first unless that goes without saying."""
    registry, slash, path = name.partition("/")
    is_registry = slash and (set(registry) & set(".:") or registry == "localhost" or registry != registry.lower())
    if is_registry:
        host, has_port, port = registry.rpartition(":") if not registry.endswith("]") else (registry, "", "")
        host = host if has_port else registry
        if has_port and not (port.isascii() and port.isdigit()):
            return False
        if not host.startswith("[") and not all(_HOST_PART.fullmatch(part) for part in host.split(".")):
            return False
    whole = path if is_registry else name
    return len(name) <= _LONGEST_IMAGE and all(_PATH_PART.fullmatch(part) for part in whole.split("/"))


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
    spec.setdefault("volumeMode", "Filesystem")
    default_resource_lists(spec["resources"], ("limits", "requests"))


def _field_refs(source: Manifest) -> None:
    for item in source.get("items", ()):
        if "fieldRef" in item:
            put(item["fieldRef"], "apiVersion", "v1")
