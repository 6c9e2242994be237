"""What every object can be asked: create, update, patch, delete. All are pure functions.

Deleting marks an object with `deletionTimestamp` as long as a finalizer or a grace period keeps it, and removes it
otherwise; an update that takes the last finalizer of a marked object removes it too. What becomes of the objects it
owns is written as a finalizer, which the garbage collector answers. One deletion is one change, whose object already
has the mark.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/registry/{generic/registry/store.go,rest/*.go}.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from scheduler_core.api.manifests import decode, format_time
from scheduler_core.api.times import time_text
from scheduler_core.apiserver import answers
from scheduler_core.apiserver.admission import Admission
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.kinds import KINDS, Kind
from scheduler_core.apiserver.patches import PatchError, patched
from scheduler_core.apiserver.requests import Create, Delete, ObjectKey, Patch, Propagation, Update
from scheduler_core.apiserver.scale import scale_of, scaled
from scheduler_core.apiserver.store import ObjectChange, Operation, Stored, key_of
from scheduler_core.errors import AdmissionError, ManifestError

STATUS: Final = "status"
SCALE: Final = "scale"
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_OWNED_FINALIZERS: Final = {Propagation.ORPHAN: _ORPHAN, Propagation.FOREGROUND: _FOREGROUND}
# What an update may leave out: the stored value stays.
_KEPT_WHEN_ABSENT: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_IMMUTABLE: Final = ("name", "namespace", *_KEPT_WHEN_ABSENT)


def create(stored: Stored | None, request: Create, admission: Admission, uid: str, now: int) -> Outcome | Refused:
    """The object as admission makes it, with this uid; `stored` is its namesake. The manifest has a name."""
    manifest = dict(request.manifest)
    key = key_of(manifest)
    if manifest["metadata"].get("resourceVersion"):
        return answers.internal_error("resourceVersion should not be set on objects to be created")
    if stored is not None:
        return answers.already_exists(key, stored)
    try:
        created = admission.create(manifest, uid, now)
    except (AdmissionError, ManifestError) as error:
        return answers.invalid(key, error)
    return Outcome((ObjectChange(Operation.CREATED, created),), created)


def update(stored: Stored | None, request: Update, admission: Admission, now: int) -> Outcome | Refused:
    """The object, or its subresource, replaced by the manifest; its uid and resourceVersion are preconditions."""
    key, metadata = request.key, request.manifest.get("metadata") or {}
    name = metadata.get("name")
    if not name:
        return answers.bad_request(
            f"the name of the object ({key.name} based on URL) was undeterminable: name must be provided"
        )
    if name != key.name:
        return answers.bad_request(f"the name of the object ({name}) does not match the name on the URL ({key.name})")
    version = metadata.get("resourceVersion") or "0"
    if not version.isdigit():
        return answers.internal_error(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if stored is None:
        return answers.not_found(key)
    if version not in ("0", stored["metadata"].get("resourceVersion")):
        return answers.modified(key)
    uid = metadata.get("uid")
    if uid and uid != stored["metadata"]["uid"]:
        return answers.storage_conflict(key, "UID", uid, stored["metadata"]["uid"])
    return _replace(stored, dict(request.manifest), request.subresource, admission)


def patch(stored: Stored | None, request: Patch, admission: Admission, now: int) -> Outcome | Refused:
    """The object, or its subresource, changed in part."""
    key = request.key
    if stored is None:
        return answers.not_found(key)
    metadata = stored["metadata"]
    if request.uid and request.uid != metadata["uid"]:
        return answers.storage_conflict(key, "UID", request.uid, metadata["uid"])
    if request.resource_version and request.resource_version != metadata.get("resourceVersion"):
        return answers.modified(key)
    try:
        target = scale_of(stored) if request.subresource == SCALE else stored
        new = patched(target, request.body, request.patch_type)
    except PatchError as error:
        reason = {400: "BadRequest", 422: "Invalid"}.get(error.code, "")
        return Refused(Status(error.code, reason, error.message))
    new_metadata = new.get("metadata")
    if isinstance(new_metadata, Mapping) and new_metadata.get("resourceVersion") != metadata.get("resourceVersion"):
        return answers.modified(key)
    return _replace(stored, new, request.subresource, admission)


def delete(stored: Stored | None, request: Delete, now: int) -> Outcome | Refused:
    """The object marked, or removed when nothing keeps it."""
    key = request.key
    if stored is None:
        return answers.not_found(key)
    metadata, kind = stored["metadata"], KINDS[key.kind]
    if request.uid and request.uid != metadata["uid"]:
        return answers.delete_conflict(
            key,
            f"the UID in the precondition ({request.uid}) does not match the UID in record ({metadata['uid']})."
            " The object might have been deleted and then recreated",
        )
    version = metadata.get("resourceVersion", "")
    if request.resource_version and request.resource_version != version:
        return answers.delete_conflict(
            key,
            f"the ResourceVersion in the precondition ({request.resource_version}) does not match the"
            f" ResourceVersion in record ({version}). The object might have been modified",
        )
    marked, grace = _marked_gracefully(stored, request, now)
    if marked is None:
        return Outcome((), stored)
    finalizers = _finalizers_after_deletion(metadata.get("finalizers") or [], kind, request.propagation)
    if finalizers != (metadata.get("finalizers") or []):
        marked = _with_metadata(marked, finalizers=finalizers)
    if finalizers and grace is None:
        marked, grace = _marked(marked, now), 0
    if not finalizers and not grace:
        answer = marked if kind.answers_deleted else answers.deleted(key, metadata["uid"])
        return Outcome((ObjectChange(Operation.DELETED, marked),), answer)
    return _updated(stored, marked)


def removed(stored: Stored) -> Outcome:
    """The object is gone with its last finalizer; the answer has its resourceVersion of before."""
    return Outcome((ObjectChange(Operation.DELETED, stored),), stored)


def _replace(stored: Stored, new: Stored, subresource: str, admission: Admission) -> Outcome | Refused:
    key = key_of(stored)
    kind = KINDS[key.kind]
    if (subresource == SCALE and not kind.has_scale) or (subresource == STATUS and not kind.has_status):
        return answers.no_such_resource()
    try:
        if subresource == STATUS:
            written = _status_of(stored, new)
        elif subresource == SCALE:
            written = _with_generation(stored, scaled(stored, new), kind)
        else:
            new = {**new, "apiVersion": stored["apiVersion"], "kind": stored["kind"]}
            if kind.has_status:
                new = _with_status(new, stored.get("status"))
            new = _checked_metadata(stored, new)
            written = _with_generation(stored, admission.update(stored, new), kind)
    except (AdmissionError, ManifestError) as error:
        return answers.invalid(key, error, is_update=True, is_scale=subresource == SCALE)
    metadata = stored["metadata"]
    is_deleted = "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds")
    if is_deleted and not written["metadata"].get("finalizers"):
        return removed(written)
    outcome = _updated(stored, written)
    return Outcome(outcome.changes, scale_of(written)) if subresource == SCALE else outcome


def _status_of(stored: Stored, new: Stored) -> Stored:
    """The stored object with the new one's status; raises ManifestError when it cannot be read."""
    written = _with_status(stored, new.get("status"))
    decode(written)
    return written


def _with_status(manifest: Stored, status: Any) -> Stored:
    if status is None:
        return {key: value for key, value in manifest.items() if key != "status"}
    return {**manifest, "status": status}


def _checked_metadata(stored: Stored, new: Stored) -> Stored:
    """The new object with what the store keeps of its metadata; raises AdmissionError for what may not change."""
    metadata, before = dict(new.get("metadata") or {}), stored["metadata"]
    for field in _KEPT_WHEN_ABSENT:
        if field in before and metadata.get(field) is None:
            metadata[field] = before[field]
    if before.get("namespace"):
        metadata.setdefault("namespace", before["namespace"])
    for field in _IMMUTABLE:
        if metadata.get(field) != before.get(field):
            value = metadata.get(field)
            shown = f'"{value}"' if isinstance(value, str) else value
            raise AdmissionError(f"metadata.{field}", f"Invalid value: {shown}: field is immutable")
    if "deletionTimestamp" in before:
        added = [name for name in metadata.get("finalizers") or () if name not in (before.get("finalizers") or ())]
        if added:
            shown = ", ".join(f'"{name}"' for name in added)
            raise AdmissionError(
                "metadata.finalizers",
                "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers"
                f" []string{{{shown}}}",
            )
    return {**new, "metadata": metadata}


def _with_generation(stored: Stored, new: Stored, kind: Kind) -> Stored:
    """The generation counts changes of all but metadata and status, in kinds that have one."""
    generation = stored["metadata"].get("generation")
    if kind.has_generation:
        generation = generation or 1
        same = _desired(stored) == _desired(new)
        return _with_metadata(new, generation=generation if same else generation + 1)
    return _with_metadata(new, generation=generation)


def _desired(manifest: Stored) -> Stored:
    return {key: value for key, value in manifest.items() if key not in ("metadata", "status")}


def _updated(stored: Stored, new: Stored) -> Outcome:
    if new == stored:
        return Outcome((), stored)
    return Outcome((ObjectChange(Operation.UPDATED, new),), new)


def _marked_gracefully(stored: Stored, request: Delete, now: int) -> tuple[Stored | None, int | None]:
    """(the object marked for graceful deletion, seconds it has left); None where there is no grace.

    The first is None when a deletion is under way that this request does not shorten.
    """
    metadata = stored["metadata"]
    given = request.grace_seconds if request.grace_seconds is None or request.grace_seconds >= 0 else 1
    if "deletionTimestamp" in metadata:
        before = metadata.get("deletionGracePeriodSeconds") or 0
        if not before:
            return stored, None
        if given is None or given >= before:
            return None, None
        ends = datetime.fromisoformat(metadata["deletionTimestamp"]) + timedelta(seconds=given - before)
        return _with_metadata(stored, deletionTimestamp=format_time(ends), deletionGracePeriodSeconds=given), given
    if stored["kind"] != "Pod":
        return stored, None
    spec, phase = stored["spec"], (stored.get("status") or {}).get("phase")
    grace = spec.get("terminationGracePeriodSeconds") or 0 if given is None else given
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        grace = 0
    return _mark(stored, now, grace if grace >= 0 else 1), grace


def _marked(stored: Stored, now: int) -> Stored:
    """The object marked although its kind has no graceful deletion: a finalizer keeps it."""
    if "deletionTimestamp" in stored["metadata"]:
        return stored
    return _mark(stored, now, 0)


def _mark(stored: Stored, now: int, grace: int) -> Stored:
    generation = stored["metadata"].get("generation")
    return _with_metadata(
        stored,
        deletionTimestamp=time_text(now + grace * 1_000_000),
        deletionGracePeriodSeconds=grace,
        generation=generation + 1 if generation else None,
    )


def _finalizers_after_deletion(finalizers: list[str], kind: Kind, asked: Propagation | None) -> list[str]:
    """The finalizers with the one that says what becomes of owned objects, or without it."""
    policy = asked
    if policy is None and _ORPHAN in finalizers:
        policy = Propagation.ORPHAN
    elif policy is None and _FOREGROUND in finalizers:
        policy = Propagation.FOREGROUND
    wanted = _OWNED_FINALIZERS.get(policy or kind.default_propagation)
    if (wanted is None and not {_ORPHAN, _FOREGROUND} & set(finalizers)) or wanted in finalizers:
        return finalizers
    others = [name for name in finalizers if name not in (_ORPHAN, _FOREGROUND)]
    return [*others, wanted] if wanted else others


def _with_metadata(manifest: Stored, **fields: Any) -> Stored:
    """The object with these fields of its metadata; None removes one."""
    metadata = {**manifest["metadata"], **fields}
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if value not in (None, [])}}


def key_from(manifest: Mapping[str, Any]) -> ObjectKey:
    """The key of a manifest as it was sent, which may lack a namespace; ManifestError when it has no identity."""
    metadata = manifest.get("metadata")
    kind = KINDS.get(str(manifest.get("kind")))
    if kind is None:
        raise ManifestError("kind", f"{manifest.get('kind')} is not understood")
    if not isinstance(metadata, Mapping):
        raise ManifestError("metadata", "is required")
    namespace = (metadata.get("namespace") or "default") if kind.namespaced else ""
    return ObjectKey(kind.name, namespace, metadata.get("name") or "")
