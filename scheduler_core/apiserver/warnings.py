"""What the API server warns of when it stores an object: things that are allowed and mostly not meant.

Source: kubernetes v1.34.1, pkg/api/{pod,service,persistentvolume,job}/*warnings*.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scheduler_core.apiserver.store import Stored

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_RECYCLE: Final = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is"
    " to use dynamic provisioning."
)
_REMOVED: Final = {
    "gcePersistentDisk": "gcePersistentDisk: deprecated in v1.17, non-functional in v1.28+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "flocker": "flocker: deprecated in v1.22, non-functional in v1.25+",
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "quobyte": "quobyte: deprecated in v1.22, non-functional in v1.25+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
}


def creation_warnings(manifest: Stored) -> tuple[str, ...]:
    """Of a new object, in the order in which they are noticed."""
    kind = manifest["kind"]
    if kind == "PersistentVolume":
        return tuple(_volume(manifest))
    if kind == "PersistentVolumeClaim":
        return tuple(_beta_class(manifest))
    if kind == "Service":
        return tuple(_service(manifest))
    if kind == "Pod":
        return tuple(_pod(manifest))
    return ()


def _volume(manifest: Stored) -> Iterator[str]:
    yield from _beta_class(manifest)
    spec = manifest["spec"]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield _RECYCLE
    for source, text in _REMOVED.items():
        if source in spec:
            yield f"spec.{text}"


def _beta_class(manifest: Stored) -> Iterator[str]:
    if _BETA_CLASS in (manifest["metadata"].get("annotations") or {}):
        yield (f'metadata.annotations[{_BETA_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead')


def _service(manifest: Stored) -> Iterator[str]:
    spec = manifest["spec"]
    if spec.get("clusterIP") == "None":
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if spec.get("externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") not in (None, "None"):
            yield "spec.SessionAffinity is ignored for headless services"


def _pod(manifest: Stored) -> Iterator[str]:
    spec = manifest["spec"]
    for index, volume in enumerate(spec.get("volumes", ())):
        for source, text in _REMOVED.items():
            if source in volume:
                yield f"spec.volumes[{index}].{text}"
