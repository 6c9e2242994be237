"""Creation and change of objects, as the API server does them, on whole manifests.

`admit_create` defaults, lets admission fill in and refuse, stamps and validates; `admit_update` checks what may
change. Objects that come from a cluster (uid and creationTimestamp) are kept as they are: `accept_existing`.
Nothing given is changed: a new manifest is returned. Raises ManifestError and AdmissionError with the field path.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from scheduler_core.admission.context import AdmissionContext, Manifest, Problem
from scheduler_core.admission.defaulting import default_pod, merge_label_keys
from scheduler_core.admission.gates import gated_condition
from scheduler_core.admission.kinds import default_kind
from scheduler_core.admission.limits import admit_limit_ranges
from scheduler_core.admission.node import default_node
from scheduler_core.admission.priority import admit_priority, admit_priority_class
from scheduler_core.admission.qos import qos_class
from scheduler_core.admission.runtime_class import admit_runtime_class
from scheduler_core.admission.storage_class import admit_storage_class
from scheduler_core.admission.tolerations import default_tolerations
from scheduler_core.admission.updates import update_problems
from scheduler_core.admission.validation import structural_problems, validate
from scheduler_core.api.manifests import convert, decode, format_time, kind_of, without_nulls
from scheduler_core.api.pod import Pod

DEFAULT_NAMESPACE = "default"
# Kept by the store or written by the server; what a client sends for them is dropped.
_SERVER_FIELDS = ("resourceVersion", "managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")


def is_from_cluster(manifest: Manifest) -> bool:
    """Whether the object was created by an API server before: it has a uid and a creationTimestamp."""
    metadata = manifest.get("metadata") or {}
    return bool(isinstance(metadata, dict) and metadata.get("uid") and metadata.get("creationTimestamp"))


def accept_existing(manifest: Manifest, kind: str) -> Manifest:
    """An object of a cluster as it is, without resourceVersion and managedFields; it must be readable and named."""
    existing = _readable(manifest, kind)
    for field in ("resourceVersion", "managedFields", "selfLink"):
        existing["metadata"].pop(field, None)
    _refuse_first(structural_problems(existing, kind))
    return existing


def admit_create(manifest: Manifest, kind: str, context: AdmissionContext, *, now: int) -> Manifest:
    """The manifest as it is stored at its creation, `now` in microseconds."""
    new = _readable(manifest, kind)
    created = _time_text(now)
    _stamp(new, context, created)
    if kind == "Pod":
        _admit_pod(new, context)
    elif kind == "Node":
        default_node(new, created)
    else:
        default_kind(new, kind)
    if kind == "PersistentVolumeClaim":
        admit_storage_class(new, context)
    elif kind == "PriorityClass":
        admit_priority_class(new, context)
    validate(new, kind)
    return new


def admit_update(old: Manifest, new: Manifest, kind: str, context: AdmissionContext) -> Manifest:
    """The manifest as it is stored after a change of `old`; what may not change is refused."""
    changed = _readable(new, kind)
    before = cast(Manifest, without_nulls(old))
    metadata, old_metadata = changed["metadata"], before["metadata"]
    metadata.pop("managedFields", None)
    uid = metadata.get("uid")
    if uid and uid != old_metadata.get("uid"):
        detail = f'Invalid value: "{uid}": field is immutable'
        raise Problem("metadata.uid", detail).error()
    for field in ("uid", "creationTimestamp", "namespace"):
        if field in old_metadata:
            metadata[field] = old_metadata[field]
    if kind == "Pod":
        # Both sides: an object taken over from a cluster may lack defaults of this version.
        default_pod(before)
        default_pod(changed)
        default_tolerations(changed)
        for field in ("priority", "preemptionPolicy"):  # filled in at its creation, and left out by many clients
            if field in before["spec"]:
                changed["spec"].setdefault(field, before["spec"][field])
    elif kind not in ("Node", "Namespace"):
        default_kind(changed, kind)
    if kind == "PriorityClass":
        admit_priority_class(changed, context)
    _refuse_first(update_problems(before, changed, kind))
    validate(changed, kind, is_update=True)
    was = old_metadata.get("generation", 1)
    metadata["generation"] = was if changed.get("spec") == before.get("spec") else was + 1
    return changed


def _admit_pod(pod: Manifest, context: AdmissionContext) -> None:
    default_pod(pod)
    admit_priority(pod, context)
    default_tolerations(pod)
    admit_runtime_class(pod, context)
    admit_limit_ranges(pod, context)
    status: Manifest = {"phase": "Pending", "qosClass": qos_class(convert(pod, Pod).spec)}
    if pod["spec"].get("schedulingGates"):
        status["conditions"] = [gated_condition() | {"lastTransitionTime": pod["metadata"]["creationTimestamp"]}]
    pod["status"] = status
    merge_label_keys(pod)


def _stamp(manifest: Manifest, context: AdmissionContext, created: str) -> None:
    metadata = manifest["metadata"]
    for field in _SERVER_FIELDS:
        metadata.pop(field, None)
    metadata["uid"] = context.new_uid()
    metadata["creationTimestamp"] = created
    metadata["generation"] = 1
    if not metadata.get("name") and metadata.get("generateName"):
        # The random end of generated names comes from the uid: it is the one draw a creation makes.
        metadata["name"] = metadata["generateName"] + metadata["uid"].replace("-", "")[-5:].lower()
    if kind_of(manifest).namespaced:
        metadata["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    else:
        metadata.pop("namespace", None)


def _readable(manifest: Any, kind: str) -> Manifest:
    """A copy without nulls that can be decoded, with kind and apiVersion."""
    cls = kind_of(manifest, kind=kind)
    decode(manifest, kind=kind)
    readable = cast(Manifest, without_nulls(manifest))  # new objects and lists all the way down
    readable["apiVersion"], readable["kind"] = cls.api_version, cls.kind
    readable.setdefault("metadata", {})
    return readable


def _refuse_first(problems: list[Problem]) -> None:
    if problems:
        raise problems[0].error()


def _time_text(now: int) -> str:
    return format_time(datetime.fromtimestamp(now // 1_000_000, UTC))
