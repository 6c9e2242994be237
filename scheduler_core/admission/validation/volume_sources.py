"""What is checked of where volumes come from: sources that pods and persistent volumes both have, and how they differ.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from scheduler_core.admission.context import Manifest, Problem, invalid, required, too_long, unsupported
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import named

Check = Callable[[str, Manifest], Iterator[Problem]]

_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_UP_TO_255: Final = "must be between 0 and 255, inclusive"
_REGISTRY: Final = "must be a host:port pair or multiple pairs separated by commas"
_TENANT: Final = "must be a UUID and may not exceed a length of 64 characters"
_RESERVED: Final = "kubernetes.io and k8s.io namespaces are reserved"
_CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_DISK: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_NAMING: Final = ("iqn", "eui", "naa")
_INITIATOR: Final = re.compile(
    r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]++:[^,;*&$|\s]++|eui.[A-Za-z0-9]{16}|naa.[A-Za-z0-9]{32}", re.ASCII
)


def fields(*names: str) -> Check:
    """A check that these fields are given."""

    def check(path: str, source: Manifest) -> Iterator[Problem]:
        for name in names:
            if not source.get(name):
                yield required(f"{path}.{name}")

    return check


def secret_problems(path: str, source: Manifest, *parts: str) -> Iterator[Problem]:
    """That a secret which is named has these parts of a name."""
    for part in parts:
        if "secretRef" in source and not source["secretRef"].get(part):
            yield required(f"{path}.secretRef.{part}")


def driver_name_problems(path: str, name: str) -> Iterator[Problem]:
    """Names of CSI and of device drivers."""
    if not name:
        yield required(path)
    if len(name) > 63:
        yield too_long(path, 63)
    yield from named(path, name, formats.subdomain(name.lower()))


def _host_path(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["path"]:
        yield required(f"{path}.path")
        return
    yield from formats.no_backsteps(f"{path}.path", source["path"])
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        yield unsupported(f"{path}.type", kind, _HOST_PATH_TYPES)


def _disk(name: str) -> Check:
    def check(path: str, source: Manifest) -> Iterator[Problem]:
        yield from fields(name)(path, source)
        if not 0 <= source.get("partition", 0) <= 255:
            yield invalid(f"{path}.partition", source["partition"], "must be between 1 and 255, inclusive")

    return check


def _nfs(path: str, source: Manifest) -> Iterator[Problem]:
    yield from fields("server", "path")(path, source)
    if not source["path"].startswith("/"):
        yield invalid(f"{path}.path", source["path"], "must be an absolute path")


def iscsi_problems(path: str, source: Manifest, *, of_pod: bool = True) -> Iterator[Problem]:
    """`of_pod`: of a volume of a pod, where wrong beginnings of names are told otherwise."""
    wrong_start = "must be valid format" + " starting with iqn, eui, or naa" * of_pod
    yield from fields("targetPortal", "iqn")(path, source)
    if source["iqn"]:
        yield from _initiator(f"{path}.iqn", source["iqn"], wrong_start)
    if not 0 <= source["lun"] <= 255:
        yield invalid(f"{path}.lun", source["lun"], _UP_TO_255)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        yield required(f"{path}.secretRef")
    if not of_pod:
        yield from secret_problems(path, source, "name")
    if "initiatorName" in source:
        yield from _initiator(f"{path}.initiatorname", source["initiatorName"], wrong_start)


def _initiator(path: str, name: str, wrong_start: str) -> Iterator[Problem]:
    if not name.startswith(_NAMING):
        yield invalid(path, name, wrong_start)
    elif not _INITIATOR.fullmatch(name):
        yield invalid(path, name, "must be valid format")


def _flocker(path: str, source: Manifest) -> Iterator[Problem]:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(f"{path}.datasetName", name, "must not contain '/'")


def _quobyte(path: str, source: Manifest) -> Iterator[Problem]:
    registry = source["registry"]
    if not registry:
        yield required(f"{path}.registry", _REGISTRY)
    elif len(source.get("tenant", "")) > 64:
        yield required(f"{path}.tenant", _TENANT)
    else:
        for pair in registry.split(","):
            host, sign, _ = pair.rpartition(":")
            if not sign or (":" in host and not (host.startswith("[") and host.endswith("]"))):
                yield invalid(f"{path}.registry", registry, _REGISTRY)
    yield from fields("volume")(path, source)


def storage_os_problems(path: str, source: Manifest, *parts: str) -> Iterator[Problem]:
    """`parts`: of the name of its secret."""
    name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
    if not name:
        yield required(f"{path}.volumeName")
    else:
        yield from named(f"{path}.volumeName", name, formats.label(name))
    if namespace:
        yield from named(f"{path}.volumeNamespace", namespace, formats.label(namespace))
    yield from secret_problems(path, source, *parts)


def _storage_os(path: str, source: Manifest) -> Iterator[Problem]:
    yield from storage_os_problems(path, source, "name")


def _cinder(path: str, source: Manifest) -> Iterator[Problem]:
    yield from fields("volumeID")(path, source)
    yield from secret_problems(path, source, "name")


def _flex(path: str, source: Manifest) -> Iterator[Problem]:
    yield from fields("driver")(path, source)
    for key in source.get("options", ()):
        domain = key.partition("/")[0].lower()
        if f".{domain}".endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(f"{path}.options[{key}]", key, _RESERVED)


def _fc(path: str, source: Manifest) -> Iterator[Problem]:
    names, wwids = source.get("targetWWNs", ()), source.get("wwids", ())
    if not names and not wwids:
        yield required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and wwids:
        yield invalid(f"{path}.targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously")
    if names:
        lun = source.get("lun")
        if lun is None:
            yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
        elif not 0 <= lun <= 255:
            yield invalid(f"{path}.lun", lun, _UP_TO_255)


def _azure_disk(path: str, source: Manifest) -> Iterator[Problem]:
    yield from fields("diskName", "diskURI")(path, source)
    mode, kind, uri = source.get("cachingMode"), source.get("kind"), source["diskURI"]
    if mode is not None and mode not in _CACHING_MODES:
        yield unsupported(f"{path}.cachingMode", mode, _CACHING_MODES)
    if kind is not None and kind not in _DISK_KINDS:
        yield unsupported(f"{path}.kind", kind, _DISK_KINDS)
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield unsupported(f"{path}.diskURI", uri, (_MANAGED_DISK,), is_plain=True)
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        yield unsupported(f"{path}.diskURI", uri, (_BLOB_DISK,), is_plain=True)


SOURCES: Final[dict[str, Check]] = {
    "hostPath": _host_path,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "nfs": _nfs,
    "iscsi": iscsi_problems,
    "glusterfs": fields("endpoints", "path"),
    "flocker": _flocker,
    "rbd": fields("monitors", "image"),
    "cinder": _cinder,
    "cephfs": fields("monitors"),
    "quobyte": _quobyte,
    "fc": _fc,
    "flexVolume": _flex,
    "azureFile": fields("secretName", "shareName"),
    "vsphereVolume": fields("volumePath"),
    "photonPersistentDisk": fields("pdID"),
    "portworxVolume": fields("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "scaleIO": fields("gateway", "system", "volumeName"),
}
