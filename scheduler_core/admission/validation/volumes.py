"""What is checked of volumes: those of pods and the sources of persistent volumes.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from scheduler_core.admission.validation.claims import claim_template_problems
from scheduler_core.admission.validation.environment import field_reference, resource_reference
from scheduler_core.admission.validation.formats import named
from scheduler_core.api.quantity import parse

_ONE_TYPE: Final = "may not specify more than 1 volume type"
_FILE_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_DOWNWARD_FIELDS: Final = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
)  # fmt: skip

# Sources in the order in which they are looked at, with the name their problems have.
_ORDER: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk",
    "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
_NAMES_WHEN_SECOND: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_NAMES_INSIDE: Final = {"gcePersistentDisk": "persistentDisk"}


def volume_problems(path: str, volumes: Any, pod_name: str) -> tuple[dict[str, Manifest], list[Problem]]:
    """(the volumes in order by name, what is wrong with others)."""
    problems: list[Problem] = []
    good: dict[str, Manifest] = {}
    made = {f"{pod_name}-{volume['name']}" for volume in volumes if pod_name and "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        at, name = f"{path}[{index}]", volume["name"]
        found = list(_source(at, volume, pod_name))
        if not name:
            found.append(required(f"{at}.name"))
        else:
            found += named(f"{at}.name", name, formats.label(name))
        if name in good:
            found.append(duplicate(f"{at}.name", name))
        if not found:
            good[name] = volume
        problems += found
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim in made:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            problems.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim, detail))
    return good, problems


def _source(path: str, volume: Manifest, pod_name: str) -> Iterator[Problem]:
    found = [name for name in _ORDER if name in volume]
    if not found:
        yield required(path, "must specify a volume type")
    for number, name in enumerate(found):
        source = volume[name]
        if number:
            yield forbidden(f"{path}.{_NAMES_WHEN_SECOND.get(name, name)}", _ONE_TYPE)
            continue
        check = SOURCES.get(name)
        if check is not None:
            yield from check(f"{path}.{_NAMES_INSIDE.get(name, name)}", source)
        if name == "ephemeral" and pod_name and volume["name"]:
            claim = f"{pod_name}-{volume['name']}"
            for problem in formats.subdomain(claim):
                yield invalid(f"{path}.name", volume["name"], f'PVC name "{claim}": {problem}')


def _empty_dir(path: str, source: Manifest) -> Iterator[Problem]:
    limit = source.get("sizeLimit")
    if limit is not None and parse(limit).nano < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["path"]:
        yield required(f"{path}.path")
        return
    yield from formats.no_backsteps(f"{path}.path", source["path"])
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        yield unsupported(f"{path}.type", kind, _HOST_PATH_TYPES)


def _fields(*names: str) -> Callable[[str, Manifest], Iterator[Problem]]:
    """A check that these fields are given."""

    def check(path: str, source: Manifest) -> Iterator[Problem]:
        for name in names:
            if not source.get(name):
                yield required(f"{path}.{name}")

    return check


def _git_repo(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["repository"]:
        yield required(f"{path}.repository")
    if source.get("directory"):
        yield from formats.descending_path(f"{path}.directory", source["directory"])


def _gce_disk(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["pdName"]:
        yield required(f"{path}.pdName")
    if not 0 <= source.get("partition", 0) <= 255:
        yield invalid(f"{path}.partition", source["partition"], "must be between 0 and 255, inclusive")


def _aws_disk(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["volumeID"]:
        yield required(f"{path}.volumeID")
    if not 0 <= source.get("partition", 0) <= 255:
        yield invalid(f"{path}.partition", source["partition"], "must be between 0 and 255, inclusive")


def _secret(path: str, source: Manifest) -> Iterator[Problem]:
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from _mode(f"{path}.defaultMode", source.get("defaultMode"))
    yield from _key_paths(f"{path}.items", source.get("items", ()))


def _config_map(path: str, source: Manifest) -> Iterator[Problem]:
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from _mode(f"{path}.defaultMode", source.get("defaultMode"))
    yield from _key_paths(f"{path}.items", source.get("items", ()))


def _mode(path: str, mode: int | None) -> Iterator[Problem]:
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, _FILE_MODE)


def _key_paths(path: str, items: Any) -> Iterator[Problem]:
    for index, item in enumerate(items):
        at = f"{path}[{index}]"
        if not item["key"]:
            yield required(f"{at}.key")
        yield from _relative(f"{at}.path", item["path"])
        yield from _mode(f"{at}.mode", item.get("mode"))


def _relative(path: str, value: str) -> Iterator[Problem]:
    if not value:
        yield required(path)
        return
    yield from formats.descending_path(path, value)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def _nfs(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["server"]:
        yield required(f"{path}.server")
    if not source["path"]:
        yield required(f"{path}.path")
    elif not source["path"].startswith("/"):
        yield invalid(f"{path}.path", source["path"], "must be an absolute path")


def _iscsi(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["targetPortal"]:
        yield required(f"{path}.targetPortal")
    name = source["iqn"]
    if not name:
        yield required(f"{path}.iqn")
    elif not name.startswith(("iqn.", "eui.", "naa.")):
        yield invalid(f"{path}.iqn", name, "must be valid format")
    if not 0 <= source["lun"] <= 255:
        yield invalid(f"{path}.lun", source["lun"], "must be between 0 and 255, inclusive")
    for flag in ("chapAuthDiscovery", "chapAuthSession"):
        if source.get(flag) and "secretRef" not in source:
            yield required(f"{path}.secretRef")


def _claim(path: str, source: Manifest) -> Iterator[Problem]:
    if not source["claimName"]:
        yield required(f"{path}.claimName")


def _glusterfs(path: str, source: Manifest) -> Iterator[Problem]:
    for name in ("endpoints", "path"):
        if not source[name]:
            yield required(f"{path}.{name}")


def _downward(path: str, source: Manifest) -> Iterator[Problem]:
    yield from _mode(f"{path}.defaultMode", source.get("defaultMode"))
    # Problems of items stand at the source itself.
    for item in source.get("items", ()):
        yield from _downward_item(path, item)


def _downward_item(path: str, item: Manifest) -> Iterator[Problem]:
    yield from _relative(f"{path}.path", item["path"])
    if "fieldRef" in item:
        yield from field_reference(f"{path}.fieldRef", item["fieldRef"], _DOWNWARD_FIELDS, subscripts=True)
        if "resourceFieldRef" in item:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif "resourceFieldRef" in item:
        yield from resource_reference(f"{path}.resourceFieldRef", item["resourceFieldRef"], needs_container=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(f"{path}.mode", item.get("mode"))


def _projected(path: str, source: Manifest) -> Iterator[Problem]:
    yield from _mode(f"{path}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for index, one in enumerate(source["sources"] or ()):
        at = f"{path}.sources[{index}]"
        for number, (name, part) in enumerate(one.items()):
            if number:
                yield forbidden(f"{at}.{name}", _ONE_TYPE)
                continue
            yield from _projection(f"{at}.{name}", name, part, taken)


def _projection(path: str, name: str, part: Manifest, taken: set[str]) -> Iterator[Problem]:
    places: list[str] = []
    if name in ("secret", "configMap"):
        if not part.get("name"):
            yield required(f"{path}.name")
        yield from _key_paths(f"{path}.items", part.get("items", ()))
        places = [item["path"] for item in part.get("items", ())]
    elif name == "downwardAPI":
        for item in part.get("items", ()):
            yield from _downward_item(path, item)
        places = [item["path"] for item in part.get("items", ())]
    elif name == "serviceAccountToken":
        seconds = part.get("expirationSeconds", 3600)
        if seconds < 600:
            yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        elif seconds > 1 << 32:
            yield invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
        yield from _relative(f"{path}.path", part["path"])
        places = [part["path"]]
    for place in filter(None, places):
        if place in taken:
            yield invalid(path, place, "conflicting duplicate paths")
        taken.add(place)


def _csi(path: str, source: Manifest) -> Iterator[Problem]:
    yield from driver_name_problems(f"{path}.driver", source["driver"])
    if "nodePublishSecretRef" in source and not source["nodePublishSecretRef"].get("name"):
        yield required(f"{path}.nodePublishSecretRef.name")


def driver_name_problems(path: str, name: str) -> Iterator[Problem]:
    """Names of CSI and of device drivers."""
    if not name:
        yield required(path)
    if len(name) > 63:
        yield too_long(path, 63)
    yield from named(path, name, formats.subdomain(name.lower()))


def _ephemeral(path: str, source: Manifest) -> Iterator[Problem]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.volumeClaimTemplate")
    else:
        yield from claim_template_problems(f"{path}.volumeClaimTemplate", template)


def _image(path: str, source: Manifest) -> Iterator[Problem]:
    if not source.get("reference"):
        yield required(f"{path}.reference")


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
            yield invalid(f"{path}.lun", lun, "must be between 0 and 255, inclusive")


def _rbd(path: str, source: Manifest) -> Iterator[Problem]:
    for name in ("monitors", "image"):
        if not source[name]:
            yield required(f"{path}.{name}")


def _azure_file(path: str, source: Manifest) -> Iterator[Problem]:
    for name in ("secretName", "shareName"):
        if not source[name]:
            yield required(f"{path}.{name}")


def _azure_disk(path: str, source: Manifest) -> Iterator[Problem]:
    for name in ("diskName", "diskURI"):
        if not source[name]:
            yield required(f"{path}.{name}")
    if source.get("cachingMode") not in (None, "None", "ReadOnly", "ReadWrite"):
        yield unsupported(f"{path}.cachingMode", source["cachingMode"], ("None", "ReadOnly", "ReadWrite"))
    if source.get("kind") not in (None, "Dedicated", "Managed", "Shared"):
        yield unsupported(f"{path}.kind", source["kind"], ("Dedicated", "Managed", "Shared"))


SOURCES: Final[dict[str, Callable[[str, Manifest], Iterator[Problem]]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _gce_disk,
    "awsElasticBlockStore": _aws_disk,
    "secret": _secret,
    "nfs": _nfs,
    "iscsi": _iscsi,
    "glusterfs": _glusterfs,
    "persistentVolumeClaim": _claim,
    "rbd": _rbd,
    "cinder": _fields("volumeID"),
    "cephfs": _fields("monitors"),
    "downwardAPI": _downward,
    "fc": _fc,
    "flexVolume": _fields("driver"),
    "configMap": _config_map,
    "azureFile": _azure_file,
    "vsphereVolume": _fields("volumePath"),
    "photonPersistentDisk": _fields("pdID"),
    "portworxVolume": _fields("volumeID"),
    "azureDisk": _azure_disk,
    "projected": _projected,
    "scaleIO": _fields("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
