"""What the API server warns of when it stores an object: things that are allowed and mostly not meant.

Source: kubernetes v1.34.1, pkg/api/{pod,service,persistentvolume,job}/*warnings*.go.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from scheduler_core.admission.validation.endpoints import sloppy_address
from scheduler_core.apiserver.store import Stored

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
# Kinds whose every use is warned of.
DEPRECATED: Final = {"Endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
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
    if kind == "Secret":
        return tuple(_secret(manifest))
    if kind == "ServiceAccount":
        return tuple(_service_account(manifest))
    if kind == "CronJob":
        return tuple(_cron_job(manifest))
    if kind in ("Endpoints", "EndpointSlice"):
        return tuple(_endpoints(manifest))
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
    if spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None":
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if spec.get("externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity"):
            yield "spec.SessionAffinity is ignored for headless services"


def _secret(manifest: Stored) -> Iterator[str]:
    """Of a certificate that is none; what is wrong with it otherwise is not looked at."""
    if manifest.get("type") != "kubernetes.io/tls":
        return
    for key, name in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN " not in base64.b64decode(manifest["data"][key]):
            yield f"tls: failed to find any PEM data in {name} input"
            return


def _service_account(manifest: Stored) -> Iterator[str]:
    if _MOUNTABLE in (manifest["metadata"].get("annotations") or {}):
        reason = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: {reason}"


def _cron_job(manifest: Stored) -> Iterator[str]:
    if "." in manifest["metadata"]["name"]:
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS"
            " label is recommended: [must not contain dots]"
        )


def _endpoints(manifest: Stored) -> Iterator[str]:
    if manifest["kind"] == "EndpointSlice":
        if manifest["addressType"] == "FQDN":
            yield "spec.addressType: FQDN endpoints are deprecated"
        for index, endpoint in enumerate(manifest["endpoints"] or ()):
            for number, text in enumerate(endpoint["addresses"] or ()):
                yield from _address(f"endpoints[{index}].addresses[{number}]", text)
        return
    for index, subset in enumerate(manifest.get("subsets") or ()):
        for field in ("addresses", "notReadyAddresses"):
            for number, one in enumerate(subset.get(field) or ()):
                yield from _address(f"subsets[{index}].{field}[{number}].ip", one["ip"])


def _address(path: str, text: str) -> Iterator[str]:
    address = sloppy_address(text)
    if address is None or str(address) == text:
        return
    if address.version == 4:
        yield (
            f'{path}: non-standard IP address "{text}" will be considered invalid in a future Kubernetes release: use'
            f' "{address}"'
        )
    else:
        yield f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")'


def _pod(manifest: Stored) -> Iterator[str]:
    spec = manifest["spec"]
    for index, volume in enumerate(spec.get("volumes", ())):
        for source, text in _REMOVED.items():
            if source in volume:
                yield f"spec.volumes[{index}].{text}"
