"""What is checked of persistent volumes, and of those that stand in an attachment.

Source: kubernetes v1.34.1, pkg/apis/core/validation and pkg/volume/validation.
"""

from __future__ import annotations

import copy
import posixpath
from collections.abc import Iterator
from typing import Final

from scheduler_core.admission.context import Manifest, Problem, Shown, forbidden, invalid, required, unsupported
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.claims import VOLUME_MODES, access_mode_problems, positive_quantity
from scheduler_core.admission.validation.formats import IMMUTABLE, named
from scheduler_core.admission.validation.pods import node_selector_problems
from scheduler_core.admission.validation.volume_sources import (
    SOURCES,
    Check,
    driver_name_problems,
    fields,
    iscsi_problems,
    secret_problems,
    storage_os_problems,
)
from scheduler_core.admission.validation.volumes import NAMES_INSIDE
from scheduler_core.api.quantity import parse
from scheduler_core.api.schema import internal_diff, internal_text, json_text

_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_ONE_TYPE: Final = "may not specify more than 1 volume type"
_NOT_INLINE: Final = "may not be specified in the context of inline volumes"
# Sources in the order in which they are looked at.
_ORDER: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_MOUNTED_WITH_OPTIONS: Final = {
    "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs",
    "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk",
}  # fmt: skip
_LONG_PORTAL: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is"
    " specified."
)
_NEW_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def persistent_volume_problems(manifest: Manifest) -> Iterator[Problem]:
    spec, metadata = manifest["spec"], manifest["metadata"]
    yield from volume_spec_problems("spec", spec, metadata.get("name", ""))
    if _MOUNT_OPTIONS in (metadata.get("annotations") or {}) and not _MOUNTED_WITH_OPTIONS & spec.keys():
        yield forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", "may not specify mount options for this volume type")


def volume_spec_problems(path: str, spec: Manifest, name: str, *, is_inline: bool = False) -> Iterator[Problem]:
    """`is_inline`: of the spec in an attachment, which may say less."""
    if is_inline:
        for field in ("claimRef", "capacity"):
            if spec.get(field):
                yield forbidden(f"{path}.{field}", _NOT_INLINE)
        if "csi" not in spec:
            yield required(f"{path}.csi", "has to be specified in the context of inline volumes")
    modes, policy = spec.get("accessModes", []), spec.get("persistentVolumeReclaimPolicy")
    if not modes:
        yield required(f"{path}.accessModes")
    yield from access_mode_problems(f"{path}.accessModes", modes)
    if not is_inline:
        yield from _capacity(f"{path}.capacity", spec.get("capacity", {}))
        if policy and policy not in _RECLAIM:
            yield unsupported(f"{path}.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    elif policy and policy != "Retain":
        detail = "may only be Retain in the context of inline volumes"
        yield forbidden(f"{path}.persistentVolumeReclaimPolicy", detail)
    if "nodeAffinity" in spec:
        if is_inline:
            yield forbidden(f"{path}.nodeAffinity", _NOT_INLINE)
        else:
            yield from _affinity(f"{path}.nodeAffinity", spec["nodeAffinity"])
    yield from _sources(path, spec, name)
    if policy == "Recycle" and "hostPath" in spec and _is_root(spec["hostPath"]["path"]):
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden(f"{path}.persistentVolumeReclaimPolicy", detail)
    yield from _class_and_mode(path, spec, is_inline)
    # Attachments are checked as if there were no classes of attributes.
    if "volumeAttributesClassName" in spec and not is_inline:
        yield from _attributes_class(path, spec)


def _capacity(path: str, capacity: Manifest) -> Iterator[Problem]:
    if not capacity:
        yield required(path)
    if set(capacity) != {"storage"}:
        shown = Shown(json_text(capacity, "{}quantity") if capacity else "null")
        yield unsupported(path, shown, ("storage",))
    for name, text in capacity.items():
        if parse(text).value() < 0:
            yield invalid(f"{path}[{name}]", parse(text).value(), "must be a valid resource quantity")
        yield from positive_quantity(f"{path}[{name}]", text)


def _affinity(path: str, affinity: Manifest) -> Iterator[Problem]:
    if "required" in affinity:
        yield from node_selector_problems(f"{path}.required", affinity["required"])
    else:
        yield required(f"{path}.required", "must specify required node constraints")


def _sources(path: str, spec: Manifest, volume: str) -> Iterator[Problem]:
    found = [name for name in _ORDER if name in spec]
    for number, name in enumerate(found):
        if number and name != "flexVolume":  # the server looks at this one whatever else there is
            yield forbidden(f"{path}.{'cephFS' if name == 'cephfs' else name}", _ONE_TYPE)
            continue
        at, source = f"{path}.{NAMES_INSIDE.get(name, name)}", spec[name]
        if name == "iscsi":
            yield from _iscsi(at, source, volume)
        else:
            yield from (_OF_VOLUMES.get(name) or SOURCES[name])(at, source)
        if name == "local" and "nodeAffinity" not in spec:
            yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    if not found:
        yield required(path, "must specify a volume type")


def _iscsi(path: str, source: Manifest, volume: str) -> Iterator[Problem]:
    portal = source["targetPortal"]
    problems = list(iscsi_problems(path, source, of_pod=False))
    if "initiatorName" in source and len(f"{volume}:{portal}") > 64:
        problems.insert(0 if portal else 1, invalid(f"{path}.targetportal", portal, _LONG_PORTAL))
    yield from problems


def _is_root(place: str) -> bool:
    return posixpath.normpath(place).lstrip("/") == "" and place.startswith("/")


def _class_and_mode(path: str, spec: Manifest, is_inline: bool) -> Iterator[Problem]:
    name, mode = spec.get("storageClassName"), spec.get("volumeMode")
    if name and is_inline:
        yield forbidden(f"{path}.storageClassName", _NOT_INLINE)
    elif name:
        yield from named(f"{path}.storageClassName", name, formats.subdomain(name))
    if is_inline and mode not in (None, "Filesystem"):
        detail = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        yield forbidden(f"{path}.volumeMode", detail)
    elif mode is not None and mode not in VOLUME_MODES:
        yield unsupported(f"{path}.volumeMode", mode, VOLUME_MODES)


def _attributes_class(path: str, spec: Manifest) -> Iterator[Problem]:
    name = spec["volumeAttributesClassName"]
    if not name:
        yield required(f"{path}.volumeAttributesClassName", "an empty string is disallowed")
    else:
        yield from named(f"{path}.volumeAttributesClassName", name, formats.subdomain(name))
    if "csi" not in spec:
        yield required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")


def _local(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["path"]:
        yield required(f"{path}.path")
    else:
        yield from formats.no_backsteps(f"{path}.path", source["path"])


def _glusterfs(path: str, source: Manifest) -> Iterator[Problem]:
    yield from fields("endpoints", "path")(path, source)
    namespace, at = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace == "":
        yield invalid(at, namespace, "if the endpointnamespace is set, it must be a valid namespace name")
    elif namespace is not None:
        yield from named(at, namespace, formats.label(namespace))


def _cinder(path: str, source: Manifest) -> Iterator[Problem]:
    yield from fields("volumeID")(path, source)
    yield from secret_problems(path, source, "name", "namespace")


def _azure_file(path: str, source: Manifest) -> Iterator[Problem]:
    yield from fields("secretName", "shareName")(path, source)
    if source.get("secretNamespace") == "":
        yield required(f"{path}.secretNamespace")


def _storage_os(path: str, source: Manifest) -> Iterator[Problem]:
    yield from storage_os_problems(path, source, "name", "namespace")


def _csi(path: str, source: Manifest) -> Iterator[Problem]:
    yield from driver_name_problems(f"{path}.driver", source["driver"])
    yield from fields("volumeHandle")(path, source)
    for field in (
        "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef",
    ):  # fmt: skip
        for part, check in (("name", formats.subdomain), ("namespace", formats.label)):
            if field not in source:
                continue
            name, at = source[field].get(part, ""), f"{path}.{field}.{part}"
            if not name:
                yield required(at)
            else:
                yield from named(at, name, check(name))


_OF_VOLUMES: Final[dict[str, Check]] = {
    "local": _local,
    "glusterfs": _glusterfs,
    "cinder": _cinder,
    "azureFile": _azure_file,
    "storageos": _storage_os,
    "csi": _csi,
}


def volume_change_problems(new: Manifest, old: Manifest) -> Iterator[Problem]:
    """Of a persistent volume that replaces another."""
    spec, before = new["spec"], old["spec"]
    sources = [{name: each[name] for name in _ORDER if name in each} for each in (before, spec)]
    driver, was = spec.get("csi", {}), before.get("csi")
    if was is not None and "controllerExpandSecretRef" in driver and "controllerExpandSecretRef" not in was:
        # A secret to expand with may be given once.
        sources[1]["csi"] = {field: value for field, value in driver.items() if field != "controllerExpandSecretRef"}
    if sources[0] != sources[1]:
        difference = internal_diff(sources[0], sources[1], "core.PersistentVolumeSource")
        detail = f"spec.persistentvolumesource is immutable after creation\n{difference}"
        yield forbidden("spec.persistentvolumesource", detail)
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE)
    affinity, fixed = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if fixed is not None and affinity != fixed and affinity != _with_new_labels(fixed, affinity):
        shown = Shown(internal_text(affinity, "core.VolumeNodeAffinity") if affinity is not None else "null")
        yield invalid("nodeAffinity", shown, f"{IMMUTABLE}, except for updating from beta label to GA")
    if "volumeAttributesClassName" in before and "volumeAttributesClassName" not in spec:
        yield forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _with_new_labels(affinity: Manifest, new: Manifest | None) -> Manifest:
    """The old affinity with those keys that the new one has under the labels' names of today."""
    renamed = copy.deepcopy(affinity)
    for ours, theirs in zip(_expressions(renamed), _expressions(new or {}), strict=False):
        if _NEW_LABELS.get(ours["key"]) == theirs["key"]:
            ours["key"] = theirs["key"]
    return renamed


def _expressions(affinity: Manifest) -> list[Manifest]:
    terms = affinity.get("required", {}).get("nodeSelectorTerms") or ()
    return [one for term in terms for one in term.get("matchExpressions", ())]
