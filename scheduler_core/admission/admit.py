"""Creation and change of objects, as the API server does them, on whole manifests.

Every manifest is read by the schema and defaulted, goes through admission plugins, gets what the server itself writes
(`strategies`), and is validated. Objects that come from a cluster (uid and creationTimestamp) are kept as they are:
`accept_existing`. Nothing given is changed: a new manifest is returned. Raises AdmissionError, and DecodeError for what
does not fit its kind.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/{endpoints/handlers,registry/rest}.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from scheduler_core.admission.context import AdmissionContext, Manifest, refuse
from scheduler_core.admission.defaults import default, default_status
from scheduler_core.admission.limits import admit_within_limits, apply_limit_ranges
from scheduler_core.admission.node import distrust_node, settle_node
from scheduler_core.admission.optional import limit_anti_affinity, tolerate_memory_pressure
from scheduler_core.admission.parts import RESIZE, part_problems, prepare_part
from scheduler_core.admission.pod_security import (
    admit_namespace,
    admit_namespace_change,
    admit_pod,
    admit_pod_change,
    warn_of_template,
)
from scheduler_core.admission.priority import admit_priority, admit_priority_class
from scheduler_core.admission.runtime_class import admit_overhead, admit_runtime_class
from scheduler_core.admission.storage_class import admit_expansion, admit_storage_class
from scheduler_core.admission.strategies import prepare_create, prepare_status_update, prepare_update
from scheduler_core.admission.tolerations import default_tolerations
from scheduler_core.admission.validation import (
    create_problems,
    status_update_problems,
    structural_problems,
    update_problems,
)
from scheduler_core.api.custom import DEFINITION
from scheduler_core.api.kept import KEPT
from scheduler_core.api.manifests import decode, format_time, kind_of, without_nulls
from scheduler_core.api.schema import DecodeError, read, without_empty_lists
from scheduler_core.errors import ManifestError

DEFAULT_NAMESPACE = "default"
# Volumes and claims are kept while they are used.
PROTECTED = {
    "PersistentVolume": "kubernetes.io/pv-protection",
    "PersistentVolumeClaim": "kubernetes.io/pvc-protection",
}
# Kinds that the store gives back with their empty lists.
_AS_MADE = ("Pod", DEFINITION)
# Kept by the store or written by the server; what a client sends for them is dropped.
_SERVER_FIELDS = ("resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")


def is_from_cluster(manifest: Manifest) -> bool:
    """Whether the object was created by an API server before: it has a uid and a creationTimestamp."""
    metadata = manifest.get("metadata") or {}
    return bool(isinstance(metadata, dict) and metadata.get("uid") and metadata.get("creationTimestamp"))


def accept_existing(manifest: Manifest, kind: str) -> Manifest:
    """An object of a cluster as it is, without resourceVersion and managedFields; it must be readable and named."""
    cls = kind_of(manifest, kind=kind)
    decode(manifest, kind=kind)
    existing = cast(Manifest, without_nulls(manifest))  # new objects and lists all the way down
    if kind in KEPT:  # typed by their schema alone
        try:
            existing, _ = read(existing, cls.api_version, kind)
        except DecodeError as error:
            raise ManifestError("", str(error)) from None
    existing["apiVersion"], existing["kind"] = cls.api_version, cls.kind
    metadata = existing.setdefault("metadata", {})
    for field in ("resourceVersion", "managedFields", "selfLink"):
        metadata.pop(field, None)
    refuse(structural_problems(existing, kind))
    return existing


def explain_unreadable(manifest: Manifest, error: DecodeError) -> ManifestError:
    """The same problem with the field's place and in plain words, for people who import files."""
    try:
        decode(manifest)
    except ManifestError as explained:
        return explained
    return ManifestError("", str(error))


def admit_create(manifest: Manifest, kind: str, context: AdmissionContext, *, now: int) -> Manifest:
    """The manifest as it is stored at its creation, `now` in microseconds."""
    cls = kind_of(manifest, kind=kind)
    new, _ = read(manifest, cls.api_version, kind)
    created = format_time(datetime.fromtimestamp(now // 1_000_000, UTC))
    _stamp(new, context, created, namespaced=cls.namespaced)
    default(new, kind)
    _mutate(new, kind, context)
    prepare_create(new, kind, created)
    if kind == "Node" and context.is_simulated:
        settle_node(new, created)
    if kind == "Service" and context.allocate is not None:
        context.allocate(new, None)
    if kind != "Pod" or "resources" in new["spec"]:
        default(new, kind)  # the server defaults again what it reads from its store
    refuse(create_problems(new, kind, context))
    _admit_new(new, kind, context)
    return new if kind in _AS_MADE else cast(Manifest, without_empty_lists(new))


def admit_update(
    old: Manifest,
    new: Manifest,
    kind: str,
    context: AdmissionContext,
    *,
    now: int,
    subresource: str = "",
    is_read: bool = False,
) -> Manifest:
    """The manifest as it is stored after a change of `old`, or of its status; what may not change is refused.

    `is_read`: `new` was read by the schema for this, and may be changed in place, except for what it shares with `old`.
    """
    cls = kind_of(old, kind=kind)
    changed = new if is_read else read(new, cls.api_version, kind)[0]
    if subresource == "status":
        return _admit_status(old, changed, kind, context, now=now)
    default(changed, kind)
    # An object taken over from a cluster may lack defaults of this version.
    before, _ = read(old, cls.api_version, kind)
    default(before, kind)
    now_text = format_time(datetime.fromtimestamp(now // 1_000_000, UTC))
    keep_identity(changed, before)
    if subresource:
        if subresource == RESIZE:
            apply_limit_ranges(changed, context)
        changed = prepare_part(changed, before, subresource)
        refuse(part_problems(changed, before, subresource, context))
        if kind == "Pod":
            _admit_changed(changed, before, kind, context)
        if subresource == RESIZE and "deletionTimestamp" not in before["metadata"]:
            admit_within_limits(changed, kind, context)
        return changed
    if kind == "Pod":
        _fill_left_out(changed, before)
        default_tolerations(changed)
    prepare_update(changed, before, kind, now_text)
    if kind == "Service" and context.allocate is not None:
        context.allocate(changed, before)
    refuse(update_problems(changed, before, kind, context))
    _admit_changed(changed, before, kind, context)
    return changed if kind in _AS_MADE else cast(Manifest, without_empty_lists(changed))


def _admit_status(old: Manifest, new: Manifest, kind: str, context: AdmissionContext, *, now: int) -> Manifest:
    """The manifest after a change of its status. What is an object of `old` was read and checked before."""
    unchanged = {field: old[field] for field in ("metadata", "spec") if new.get(field) is old.get(field)}
    before, _ = read(old, old["apiVersion"], kind, {"spec": old.get("spec"), **unchanged})
    changed = {**old, **new, "metadata": dict(new["metadata"]), "spec": before["spec"]}
    default_status(changed, kind)
    default_status(before, kind)
    keep_identity(changed, before)
    prepare_status_update(changed, before, kind, format_time(datetime.fromtimestamp(now // 1_000_000, UTC)))
    refuse(status_update_problems(changed, before, kind, context, has_new_metadata="metadata" not in unchanged))
    return changed


def _mutate(new: Manifest, kind: str, context: AdmissionContext) -> None:
    """What admission plugins write into a new object, or refuse."""
    if kind == "Pod":
        apply_limit_ranges(new, context)
        admit_priority(new, context)
        default_tolerations(new)
        tolerate_memory_pressure(new, context)
        admit_runtime_class(new, context)
    elif kind == "PersistentVolumeClaim":
        admit_storage_class(new, context)
    if context.is_simulated:
        return
    if kind == "Node":
        distrust_node(new)
    elif kind in PROTECTED:
        finalizers = new["metadata"].get("finalizers", [])
        if PROTECTED[kind] not in finalizers:
            new["metadata"]["finalizers"] = [*finalizers, PROTECTED[kind]]


def _admit_new(new: Manifest, kind: str, context: AdmissionContext) -> None:
    """What admission plugins refuse, or warn of, in a new object that is valid."""
    admit_within_limits(new, kind, context)
    if kind == "Pod":
        limit_anti_affinity(new, context)
        admit_pod(new, context)
        admit_overhead(new, context)
    elif kind == "Namespace":
        admit_namespace(new)
    elif kind == "PriorityClass":
        admit_priority_class(new, context)
    else:
        warn_of_template(new, kind, context)


def _admit_changed(changed: Manifest, before: Manifest, kind: str, context: AdmissionContext) -> None:
    """The same of an object that replaces another."""
    if kind == "PersistentVolumeClaim" and "deletionTimestamp" not in before["metadata"]:
        admit_within_limits(changed, kind, context)
    if kind == "Pod":
        limit_anti_affinity(changed, context)
        admit_pod_change(changed, before, context)
    elif kind == "Namespace":
        admit_namespace_change(changed, before, context)
    elif kind == "PriorityClass":
        admit_priority_class(changed, context)
    elif kind == "PersistentVolumeClaim":
        admit_expansion(changed, before, context)
    else:
        warn_of_template(changed, kind, context)


def _fill_left_out(pod: Manifest, before: Manifest) -> None:
    """What admission wrote at the creation, and what many clients leave out."""
    for field in ("priority", "preemptionPolicy"):
        if field in before["spec"]:
            pod["spec"].setdefault(field, before["spec"][field])


def _stamp(manifest: Manifest, context: AdmissionContext, created: str, *, namespaced: bool) -> None:
    metadata: dict[str, Any] = manifest["metadata"]
    for field in _SERVER_FIELDS:
        metadata.pop(field, None)
    metadata["uid"] = context.new_uid()
    metadata["creationTimestamp"] = created
    if not metadata.get("name") and metadata.get("generateName"):
        # The random end of generated names comes from the uid: it is the one draw a creation makes.
        metadata["name"] = metadata["generateName"] + metadata["uid"].replace("-", "")[-5:].lower()
    if namespaced:
        metadata["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    else:
        metadata.pop("namespace", None)


def keep_identity(changed: Manifest, before: Manifest) -> None:
    """What an update may leave out: the stored value stays."""
    metadata, stored = changed["metadata"], before["metadata"]
    for field in ("uid", "deletionGracePeriodSeconds", "namespace"):
        if field in stored and metadata.get(field) in (None, ""):
            metadata[field] = stored[field]
    for field in ("creationTimestamp", "deletionTimestamp"):
        if field in stored:
            metadata[field] = stored[field]
    metadata.pop("selfLink", None)
    if "namespace" not in stored:
        metadata.pop("namespace", None)
