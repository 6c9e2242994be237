"""What is checked of the volumes of pods.

Source: kubernetes v1.34.1, pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, duplicate, forbidden, invalid, required
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.claims import claim_template_problems
from scheduler_core.admission.validation.formats import named
from scheduler_core.admission.validation.projections import (
    downward_problems,
    key_path_problems,
    mode_problems,
    projected_problems,
)
from scheduler_core.admission.validation.volume_sources import SOURCES, Check, driver_name_problems, fields
from scheduler_core.api.go_values import quoted
from scheduler_core.api.quantity import parse

_ONE_TYPE: Final = "may not specify more than 1 volume type"
_LONG_INITIATOR: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is"
    " specified."
)

# Sources in the order in which they are looked at, with the name their problems have.
_ORDER: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk",
    "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
_NAMES_WHEN_SECOND: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
NAMES_INSIDE: Final = {"gcePersistentDisk": "persistentDisk"}


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
    for number, name in enumerate(found):
        source = volume[name]
        if number:
            yield forbidden(f"{path}.{_NAMES_WHEN_SECOND.get(name, name)}", _ONE_TYPE)
        else:
            check = _OF_PODS.get(name) or SOURCES[name]
            yield from check(f"{path}.{NAMES_INSIDE.get(name, name)}", source)
        if name == "iscsi" and "initiatorName" in source and len(f"{volume['name']}:{source['targetPortal']}") > 64:
            yield invalid(f"{path}.name", volume["name"], _LONG_INITIATOR)
        if name == "ephemeral" and not number and pod_name and volume["name"]:
            claim = f"{pod_name}-{volume['name']}"
            for problem in formats.subdomain(claim):
                yield invalid(f"{path}.name", volume["name"], f"PVC name {quoted(claim)}: {problem}")
    if not found:
        yield required(path, "must specify a volume type")


def _empty_dir(path: str, source: Manifest) -> Iterator[Problem]:
    limit = source.get("sizeLimit")
    if limit is not None and parse(limit).nano < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _git_repo(path: str, source: Manifest) -> Iterator[Problem]:
    yield from fields("repository")(path, source)
    yield from formats.descending_path(f"{path}.directory", source.get("directory", ""))


def _keyed(name: str) -> Check:
    """Of a secret or a config map whose keys become files."""

    def check(path: str, source: Manifest) -> Iterator[Problem]:
        yield from fields(name)(path, source)
        yield from mode_problems(f"{path}.defaultMode", source.get("defaultMode"))
        yield from key_path_problems(f"{path}.items", source.get("items", ()))

    return check


def _csi(path: str, source: Manifest) -> Iterator[Problem]:
    yield from driver_name_problems(f"{path}.driver", source["driver"])
    if "nodePublishSecretRef" not in source:
        return
    name = source["nodePublishSecretRef"].get("name", "")
    if not name:
        yield required(f"{path}.nodePublishSecretRef.name")
    else:
        yield from named(f"{path}.name", name, formats.subdomain(name))


def _ephemeral(path: str, source: Manifest) -> Iterator[Problem]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.volumeClaimTemplate")
    else:
        yield from claim_template_problems(f"{path}.volumeClaimTemplate", template)


_OF_PODS: Final[dict[str, Check]] = {
    "emptyDir": _empty_dir,
    "gitRepo": _git_repo,
    "secret": _keyed("secretName"),
    "persistentVolumeClaim": fields("claimName"),
    "downwardAPI": downward_problems,
    "configMap": _keyed("name"),
    "projected": projected_problems,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": fields("reference"),
}
