"""The Scale of an object of a kind that a cluster defines: the definition says where its replicas are.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.api import field_errors
from scheduler_core.apiserver import owners
from scheduler_core.apiserver.custom.definitions import Version
from scheduler_core.apiserver.custom.objects import value_at
from scheduler_core.apiserver.ownership import tracking
from scheduler_core.apiserver.ownership.managers import Entry, decoded, encode
from scheduler_core.apiserver.ownership.scales import from_scale, to_scale
from scheduler_core.apiserver.scale import GROUP, KIND, METADATA
from scheduler_core.apiserver.store import Stored
from scheduler_core.errors import AdmissionError

__all__ = ["GROUP", "entries", "owned_scale_of", "scale_of", "scaled"]


def scale_of(manifest: Stored, version: Version) -> Stored:
    """The object's Scale."""
    paths = version.scale or {}
    replicas = _number(value_at(manifest, paths["specReplicasPath"]))
    status: dict[str, Any] = {"replicas": _number(value_at(manifest, paths["statusReplicasPath"]))}
    selector = value_at(manifest, paths["labelSelectorPath"]) if paths.get("labelSelectorPath") else None
    if isinstance(selector, str) and selector:
        status["selector"] = selector
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/v1",
        "metadata": {name: manifest["metadata"][name] for name in METADATA if name in manifest["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def scaled(manifest: Stored, scale: Mapping[str, Any], version: Version) -> Stored:
    """The object with the replicas of a Scale; raises AdmissionError."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise AdmissionError("spec.replicas", field_errors.invalid(replicas, "expected an integer"))
    if replicas < 0:
        raise AdmissionError("spec.replicas", field_errors.invalid(replicas, "must be greater than or equal to 0"))
    return _with(manifest, _path(version), replicas)


def owned_scale_of(manifest: Stored, version: Version) -> Stored:
    """The object's Scale with the entries of its own."""
    scale = scale_of(manifest, version)
    seen = to_scale(
        decoded(manifest["metadata"].get("managedFields")), version.api_version, owners.SCALE_VERSION, _fields(version)
    )
    if seen:
        scale["metadata"]["managedFields"] = encode(seen)
    return scale


def entries(
    manifest: Stored, scale: Mapping[str, Any], given: Any, manager: str, at: tuple[Version, str]
) -> list[Entry]:
    """The object's entries after its Scale has been written, in a version and at a time."""
    version, time = at
    by = tracking.writer(manager, owners.SCALE_VERSION, KIND, "scale")
    of_scale = tracking.updated(owned_scale_of(manifest, version), scale, given, by, time)
    before = decoded(manifest["metadata"].get("managedFields"))
    return encode(from_scale(before, decoded(of_scale), version.api_version, _fields(version)))


def _number(found: Any) -> int:
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def _path(version: Version) -> list[str]:
    return (version.scale or {})["specReplicasPath"].removeprefix(".").split(".")


def _fields(version: Version) -> tuple[str, ...]:
    return tuple(f"f:{step}" for step in _path(version))


def _with(manifest: Mapping[str, Any], steps: list[str], value: int) -> Stored:
    if not steps:
        return dict(manifest)
    first, *rest = steps
    below = manifest.get(first)
    held = below if isinstance(below, Mapping) else {}
    return {**manifest, first: _with(held, rest, value) if rest else value}
