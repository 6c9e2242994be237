"""What is checked of claims of volumes, their classes and what storage drivers write.

Source: kubernetes v1.34.1, pkg/apis/{core,storage}/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.claims import claim_spec_problems
from scheduler_core.admission.validation.formats import named
from scheduler_core.admission.validation.persistent_volumes import volume_spec_problems
from scheduler_core.admission.validation.volume_sources import driver_name_problems
from scheduler_core.api.quantity import parse

_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_LIFECYCLES: Final = ("Ephemeral", "Persistent")
_FS_GROUP_POLICIES: Final = ("ReadWriteOnceWithFSType", "File", "None")
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


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
        yield from named(path, name.lower(), formats.qualified(name.lower()))


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
            continue
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
    source = spec["source"]
    if len(source) != 1:
        yield required("spec.source", _ONE_SOURCE) if not source else forbidden("spec.source", _ONE_SOURCE)
    elif source.get("persistentVolumeName") == "":
        detail = "must specify non empty persistentVolumeName"
        yield required("spec.source.persistentVolumeName", detail)
    elif "inlineVolumeSpec" in source:
        inline = source["inlineVolumeSpec"]
        yield from volume_spec_problems("spec.source.inlineVolumeSpec", inline, "", is_inline=True)
    yield from named("spec.nodeName", spec["nodeName"], formats.subdomain(spec["nodeName"]))
    if not is_new:
        return
    yield from driver_name_problems("spec.attacher", spec["attacher"])
    name = source.get("persistentVolumeName")
    if name is not None:
        yield from named("spec.source.persistentVolumeName", name, formats.subdomain(name))
