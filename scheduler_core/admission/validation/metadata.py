"""What is checked of every object's metadata, when it is created and when it changes.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go and
pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import Manifest, Problem, Shown, forbidden, invalid, required
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import NameProblems, named
from scheduler_core.api.go_values import quoted
from scheduler_core.api.manifests import CLASSES
from scheduler_core.api.schema import json_text

_NAMES: Final[dict[str, NameProblems]] = {
    "Namespace": formats.label,
    "Service": formats.dns_1035,
    "PodDisruptionBudget": formats.path_segment,
    "Event": formats.path_segment,
    "Role": formats.path_segment,
    "RoleBinding": formats.path_segment,
    "ClusterRole": formats.path_segment,
    "ClusterRoleBinding": formats.path_segment,
    "CertificateSigningRequest": formats.path_segment,
}
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_IMMUTABLE: Final = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip


def name_problems(kind: str, name: str) -> list[str]:
    return _NAMES.get(kind, formats.subdomain)(name)


def metadata_problems(
    manifest: Manifest, kind: str, *, any_name: bool = False, namespaced: bool | None = None
) -> Iterator[Problem]:
    """Of a new object, whose name is there or was asked to be generated; `any_name` holds for every kind.

    `namespaced`: whether it has a namespace, of a kind that a cluster defines.
    """
    metadata = manifest["metadata"]
    check = formats.path_segment if any_name else _NAMES.get(kind, formats.subdomain)
    prefix, name = metadata.get("generateName"), metadata.get("name")
    if prefix:
        yield from named("metadata.generateName", prefix, check(formats.as_prefix(prefix)))
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from named("metadata.name", name, check(name))
    namespace = metadata.get("namespace")
    if not (CLASSES[kind].namespaced if namespaced is None else namespaced):
        if namespace:
            yield forbidden("metadata.namespace", "not allowed on this type")
    elif not namespace:
        yield required("metadata.namespace")
    else:
        yield from named("metadata.namespace", namespace, formats.label(namespace))
    if metadata.get("generation", 0) < 0:
        yield invalid("metadata.generation", metadata["generation"], formats.NOT_NEGATIVE)
    yield from _free_parts(metadata)
    yield from _finalizers(metadata)


def metadata_update_problems(metadata: Manifest, before: Manifest) -> Iterator[Problem]:
    """Of a change: what identifies the object stays, and no finalizer keeps what is being deleted any longer."""
    if "deletionTimestamp" in before:
        added = sorted(set(metadata.get("finalizers", ())) - set(before.get("finalizers", ())))
        if added:
            shown = ", ".join(map(quoted, added))
            detail = (
                "no new finalizers can be added if the object is being deleted, found new finalizers"
                f" []string{{{shown}}}"
            )
            yield forbidden("metadata.finalizers", detail)
    if metadata.get("generation", 0) < before.get("generation", 0):
        yield invalid("metadata.generation", metadata.get("generation", 0), "must not be decremented")
    for field in _IMMUTABLE:
        empty = "" if field in ("name", "namespace", "uid") else None
        yield from formats.immutable(f"metadata.{field}", metadata.get(field, empty), before.get(field, empty))
    yield from _free_parts(metadata)


def _free_parts(metadata: Manifest) -> Iterator[Problem]:
    yield from formats.labels("metadata.labels", metadata.get("labels"))
    yield from formats.annotation_problems("metadata.annotations", metadata.get("annotations"))
    yield from _owners(metadata.get("ownerReferences", []))


def _owners(owners: list[Any]) -> Iterator[Problem]:
    path, controller = "metadata.ownerReferences", ""
    for owner in owners:
        group, _, version = owner["apiVersion"].rpartition("/")
        if not version:
            yield invalid(f"{path}.apiVersion", owner["apiVersion"], "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner[field]:
                yield invalid(f"{path}.{field}", "", "must not be empty")
        if (group, version, owner["kind"]) == ("", "v1", "Event"):
            shown = Shown(json_text(owner, "meta.OwnerReference"))
            yield invalid(path, shown, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            name = f"{owner['kind']}/{owner['name']}"
            if controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for'
                    f" {controller} and {name}"
                )
                yield invalid(path, Shown(json_text(owners, "[]meta.OwnerReference")), detail)
            else:
                controller = name


def _finalizers(metadata: Manifest) -> Iterator[Problem]:
    finalizers = metadata.get("finalizers", [])
    for name in finalizers:
        yield from named("metadata.finalizers", name, formats.qualified(name))
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        yield invalid("metadata.finalizers", finalizers, "finalizer orphan and foregroundDeletion cannot be both set")
    for index, name in enumerate(finalizers):
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{index}]", name, detail)
