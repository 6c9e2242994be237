"""What is checked of volumes, claims and what storage drivers write.

Source: kubernetes v1.34.1, pkg/apis/{core,storage}/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.claims import (
    VOLUME_MODES,
    access_mode_problems,
    claim_spec_problems,
    positive_quantity,
)
from scheduler_core.admission.validation.formats import named
from scheduler_core.admission.validation.pods import node_selector_problems
from scheduler_core.admission.validation.volumes import SOURCES, driver_name_problems
from scheduler_core.api.quantity import parse
from scheduler_core.api.schema import json_text, type_named

_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_SOURCE_FIELDS: Final = tuple(type_named("core.PersistentVolumeSource").fields)
_LIFECYCLES: Final = ("Ephemeral", "Persistent")
_FS_GROUP_POLICIES: Final = ("ReadWriteOnceWithFSType", "File", "None")
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_MOUNTED_WITH_OPTIONS: Final = {
    "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs",
    "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk",
}  # fmt: skip
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def persistent_volume_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    yield from volume_spec_problems("spec", spec)
    if _MOUNT_OPTIONS in (manifest["metadata"].get("annotations") or {}) and not _MOUNTED_WITH_OPTIONS & spec.keys():
        yield forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", "may not specify mount options for this volume type")


def volume_spec_problems(path: str, spec: Manifest) -> Iterator[Problem]:
    modes = spec.get("accessModes", [])
    if not modes:
        yield required(f"{path}.accessModes")
    yield from access_mode_problems(f"{path}.accessModes", modes)
    capacity = spec.get("capacity", {})
    if not capacity:
        yield required(f"{path}.capacity")
    if set(capacity) != {"storage"}:
        shown = Shown(json_text(capacity, "{}quantity") if capacity else "null")
        yield unsupported(f"{path}.capacity", shown, ("storage",))
    for name, text in capacity.items():
        if parse(text).nano < 0:
            yield invalid(f"{path}.capacity[{name}]", text, "must be a valid resource quantity")
        yield from positive_quantity(f"{path}.capacity[{name}]", text)
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _RECLAIM:
        yield unsupported(f"{path}.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if "required" in affinity:
            yield from node_selector_problems(f"{path}.nodeAffinity.required", affinity["required"])
        else:
            yield required(f"{path}.nodeAffinity.required", "must specify required node constraints")
    yield from _volume_source(path, spec)
    if spec.get("hostPath", {}).get("path") == "/" and policy == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden(f"{path}.persistentVolumeReclaimPolicy", detail)
    for field in ("storageClassName",):
        if spec.get(field):
            yield from named(f"{path}.{field}", spec[field], formats.subdomain(spec[field]))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield unsupported(f"{path}.volumeMode", mode, VOLUME_MODES)
    if "volumeAttributesClassName" in spec:
        name = spec["volumeAttributesClassName"]
        if not name:
            yield required(f"{path}.volumeAttributesClassName", "an empty string is disallowed")
        else:
            yield from named(f"{path}.volumeAttributesClassName", name, formats.subdomain(name))
        if "csi" not in spec:
            yield required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")


def _volume_source(path: str, spec: Manifest) -> Iterator[Problem]:
    found = [name for name in _SOURCE_FIELDS if name in spec]
    if not found:
        yield required(path, "must specify a volume type")
    for number, name in enumerate(found):
        if number:
            yield forbidden(f"{path}.{name}", "may not specify more than 1 volume type")
        elif name == "csi":
            yield from driver_name_problems(f"{path}.csi.driver", spec["csi"]["driver"])
            if not spec["csi"]["volumeHandle"]:
                yield required(f"{path}.csi.volumeHandle")
            yield from _secrets(f"{path}.csi", spec["csi"])
        elif name == "local":
            place = spec["local"]["path"]
            if not place:
                yield required(f"{path}.local.path")
            yield from formats.no_backsteps(f"{path}.local.path", place)
            if "nodeAffinity" not in spec:
                yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")
        elif name in SOURCES:
            yield from SOURCES[name](f"{path}.{name}", spec[name])


def _secrets(path: str, source: Manifest) -> Iterator[Problem]:
    for field in (
        "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef",
    ):  # fmt: skip
        for part in ("name", "namespace"):
            if field in source and not source[field].get(part):
                yield required(f"{path}.{field}.{part}")


def persistent_volume_claim_problems(manifest: Manifest) -> Iterator[Problem]:
    yield from claim_spec_problems("spec", manifest["spec"])


def volume_attributes_class_problems(manifest: Manifest) -> Iterator[Problem]:
    yield from _provisioner("driverName", manifest["driverName"])
    parameters = manifest.get("parameters", {})
    yield from _parameters(parameters)
    if not parameters:
        yield required("parameters", "must contain at least one key/value pair")


def storage_class_problems(manifest: Manifest) -> Iterator[Problem]:
    yield from _provisioner("provisioner", manifest["provisioner"])
    yield from _parameters(manifest.get("parameters", {}))
    if manifest.get("reclaimPolicy") not in ("Delete", "Retain"):
        yield unsupported("reclaimPolicy", manifest.get("reclaimPolicy", ""), ("Delete", "Retain"))
    mode = manifest.get("volumeBindingMode")
    if mode is None:
        yield required("volumeBindingMode")
    elif mode not in _BINDING_MODES:
        yield unsupported("volumeBindingMode", mode, _BINDING_MODES)
    yield from _topologies(manifest.get("allowedTopologies", ()))


def _provisioner(path: str, name: str) -> Iterator[Problem]:
    if not name:
        yield required(path, name)
    else:
        yield from named(path, name, formats.qualified(name.lower()))


def _parameters(parameters: Manifest) -> Iterator[Problem]:
    if len(parameters) > 512:
        yield too_long("parameters", 512)
        return
    for key in parameters:
        if not key:
            yield invalid("parameters", key, "field can not be empty.")
    if sum(len(key) + len(value) for key, value in parameters.items()) > 262144:
        yield too_long("parameters", 262144)


def _topologies(terms: Any) -> Iterator[Problem]:
    seen: list[dict[str, set[str]]] = [{} for _ in terms]  # as the server has it: an empty term is like each of these
    for index, term in enumerate(terms):
        at = f"allowedTopologies[{index}]"
        keys: dict[str, set[str]] = {}
        expressions = term.get("matchLabelExpressions", ())
        for number, one in enumerate(expressions):
            place = f"{at}.matchLabelExpressions[{number}]"
            values = one["values"] or []
            if not values:
                yield required(f"{place}.values")
            for position, value in enumerate(values):
                if value in values[:position]:
                    yield duplicate(f"{place}.values[{position}]", value)
            yield from named(f"{place}.key", one["key"], formats.qualified(one["key"]))
            if one["key"] in keys:
                yield duplicate(f"{place}.key", one["key"])
            keys[one["key"]] = set(values)
        for _ in range(seen.count(keys)):
            yield duplicate(f"{at}.matchLabelExpressions", "")
        seen.append(keys)


def csi_node_problems(manifest: Manifest) -> Iterator[Problem]:
    names: set[str] = set()
    for index, driver in enumerate(manifest["spec"]["drivers"] or ()):
        at = f"spec.drivers[{index}]"
        yield from driver_name_problems(f"{at}.name", driver["name"])
        if not driver["nodeID"]:
            yield required(f"{at}.nodeID")
        if len(driver["nodeID"]) > 192:
            yield invalid(f"{at}.nodeID", driver["nodeID"], "must be 192 characters or less")
        count = driver.get("allocatable", {}).get("count")
        yield from formats.not_negative(f"{at}.allocatable.count", count)
        if driver["name"] in names:
            yield duplicate(f"{at}.name", driver["name"])
        names.add(driver["name"])
        keys: set[str] = set()
        for key in driver["topologyKeys"] or ():
            if not key:
                yield required(at)
            if key in keys:
                yield duplicate(at, key)
            keys.add(key)
            yield from named(at, key, formats.qualified(key))


def csi_driver_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in _FS_GROUP_POLICIES:
        yield unsupported("spec.fsGroupPolicy", policy, _FS_GROUP_POLICIES)
    audiences: set[str] = set()
    for index, request in enumerate(spec.get("tokenRequests", ())):
        at = f"spec.tokenRequests[{index}]"
        if request["audience"] in audiences:
            yield duplicate(f"{at}.audience", request["audience"])
        audiences.add(request["audience"])
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            yield invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > 1 << 32:
            yield invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    for mode in spec.get("volumeLifecycleModes", ()):
        if mode not in _LIFECYCLES:
            yield unsupported("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral"))


def csi_storage_capacity_problems(manifest: Manifest) -> Iterator[Problem]:
    yield from formats.label_selector("nodeTopology", manifest.get("nodeTopology"))
    name = manifest["storageClassName"]
    yield from named("storageClassName", name, formats.subdomain(name))
    capacity = manifest.get("capacity")
    if capacity is not None and parse(capacity).nano < 0:
        yield invalid("capacity", capacity, formats.NOT_NEGATIVE)


def volume_attachment_problems(manifest: Manifest, *, is_new: bool = True) -> Iterator[Problem]:
    spec = manifest["spec"]
    if not spec["attacher"]:
        yield required("spec.attacher")
    yield from driver_name_problems("spec.attacher", spec["attacher"])
    source = spec["source"]
    if len(source) != 1:
        yield required("spec.source", _ONE_SOURCE) if not source else forbidden("spec.source", _ONE_SOURCE)
    elif source.get("persistentVolumeName") == "":
        detail = "must specify non empty persistentVolumeName"
        yield required("spec.source.persistentVolumeName", detail)
    if is_new:
        yield from named("spec.nodeName", spec["nodeName"], formats.subdomain(spec["nodeName"]))
