"""What every object can be asked: create, update, patch, delete. All are pure functions.

Deleting marks an object with `deletionTimestamp` as long as a finalizer or a grace period keeps it, and removes it
otherwise; an update that takes the last finalizer of a marked object removes it too. What becomes of the objects it
owns is written as a finalizer, which the garbage collector answers. One deletion is one change, whose object already
has the mark.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/registry/{generic/registry/store.go,rest/*.go}.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from scheduler_core.admission.context import refuse
from scheduler_core.admission.priority import SYSTEM_CLASSES
from scheduler_core.api.manifests import format_time
from scheduler_core.api.schema import DecodeError, read
from scheduler_core.api.times import time_text
from scheduler_core.apiserver import answers, events, owners, typemeta
from scheduler_core.apiserver.admission import Admission
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.bootstrap import IMMORTAL_NAMESPACES
from scheduler_core.apiserver.events import event_change_problems, event_problems
from scheduler_core.apiserver.kinds import CONFIDENTIAL_KINDS, KINDS, Kind
from scheduler_core.apiserver.numbers import NumberError, parse_uint
from scheduler_core.apiserver.owner_references import without_repeats
from scheduler_core.apiserver.ownership.managers import Entry
from scheduler_core.apiserver.patches import compact, patched, patched_text, unknown_of_operations
from scheduler_core.apiserver.places import misplaced, nameless
from scheduler_core.apiserver.requests import Apply, Create, Delete, ObjectKey, Patch, PatchType, Propagation, Update
from scheduler_core.apiserver.scale import GROUP as SCALE_GROUP
from scheduler_core.apiserver.scale import KIND as SCALE_KIND
from scheduler_core.apiserver.scale import scale_of, scaled
from scheduler_core.apiserver.store import ObjectChange, Operation, Stored, key_of
from scheduler_core.apiserver.strategic import PatchError, go_map, manifest_type, misfit
from scheduler_core.apiserver.typemeta import TypeProblem
from scheduler_core.errors import AdmissionError, ManifestError

STATUS: Final = "status"
SCALE: Final = "scale"
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_OWNED_FINALIZERS: Final = {Propagation.ORPHAN: _ORPHAN, Propagation.FOREGROUND: _FOREGROUND}


def create(
    request: Create, admission: Admission, uid: str, now: int, entries: list[Entry] | None = None
) -> Outcome | Refused:
    """The object as admission makes it, with this uid, whether it has a namesake or not. The manifest has a name.

    `entries`: who owns its fields, where that is known already.
    """
    manifest, warnings = without_repeats(request.manifest, is_patch=entries is not None)
    key = key_of(manifest)
    try:
        created = admission.create(manifest, uid, now)
        if key.kind == "Event":
            refuse(list(event_problems(created, is_new_form=request.is_new_form)))
        if entries is None and request.manager:
            entries = owners.of_new(manifest, request, now)
    except AdmissionError as error:
        return answers.invalid(key, error)
    except DecodeError as error:
        return answers.unreadable(key.kind, str(error))
    with contextlib.suppress(NumberError):
        if parse_uint(manifest["metadata"].get("resourceVersion") or ""):
            return answers.internal_error("resourceVersion should not be set on objects to be created")
    if entries:
        created["metadata"]["managedFields"] = entries
    return Outcome((ObjectChange(Operation.CREATED, created),), created, warnings)


def update(stored: Stored | None, request: Update, admission: Admission, now: int) -> Outcome | Refused:
    """The object, or its subresource, replaced by the manifest; its uid and resourceVersion are preconditions."""
    key = request.key
    problem = misplaced(request.manifest, key)
    if problem is not None:
        return problem
    if stored is None:
        return answers.not_found(key)
    problem = _unfit_version(request.manifest, stored, request)
    if problem is not None:
        return problem
    manifest, warnings = without_repeats(request.manifest, is_patch=False)
    try:
        entries = owners.of_changed(stored, manifest, request, now)
    except DecodeError as error:
        return answers.unreadable(key.kind, str(error))
    return _warned(replace(stored, manifest, request, admission, now, entries), warnings)


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
        target = owners.owned_scale_of(stored) if request.subresource == SCALE else stored
        if request.is_new_form:
            target = events.from_core(stored)
        new = patched(target, request.body, request.patch_type)
    except PatchError as error:
        reason = {400: "BadRequest", 422: "Invalid"}.get(error.code, "")
        return Refused(Status(error.code, reason, error.message))
    found = _read_patched(target, new, request)
    if isinstance(found, Refused):
        return found
    read_new, warnings = found
    problem = misplaced(read_new, key) or _unfit_version(read_new, stored, request)
    if problem is not None:
        return problem
    if request.is_new_form:
        new, read_new = events.to_core(new), events.to_core(read_new)
    is_read = request.subresource != SCALE and not request.is_new_form
    entries = owners.of_changed(stored, new, request, now)
    outcome = replace(stored, read_new, request, admission, now, entries, is_read=is_read)
    return _warned(outcome, warnings)


def _warned(answer: Outcome | Refused, warnings: tuple[str, ...]) -> Outcome | Refused:
    if not warnings:
        return answer
    return msgspec.structs.replace(answer, warnings=(*warnings, *answer.warnings))


def _unfit_version(manifest: Mapping[str, Any], stored: Stored, request: Update | Patch) -> Refused | None:
    """Why the manifest is not based on what is stored; without a resourceVersion most kinds take it as it is."""
    key, metadata = request.key, manifest.get("metadata") or {}
    version = metadata.get("resourceVersion") or "0"
    uid = metadata.get("uid") if isinstance(request, Update) else None
    if uid and uid != stored["metadata"]["uid"]:
        return answers.storage_conflict(key, "UID", uid, stored["metadata"]["uid"])
    try:
        parse_uint(version)
    except NumberError as error:
        return answers.internal_error(str(error))
    if version == "0" and "resourceVersion" not in stored["metadata"]:
        return None  # changed by a request before this one, of the same batch
    if version == "0" and KINDS[key.kind].needs_version and request.subresource != SCALE:
        return answers.needs_version(key)
    return answers.modified(key) if version not in ("0", stored["metadata"].get("resourceVersion")) else None


def _read_patched(target: Stored, new: Stored, request: Patch) -> tuple[Stored, tuple[str, ...]] | Refused:
    """(what the patch makes of its target, read by the schema; what to warn of), or why it is no object of its kind."""
    is_scale = request.subresource == SCALE
    kind = SCALE_KIND if is_scale else request.key.kind
    # A strategic merge patch does not change what kind an object is of, whatever it says.
    holder = manifest_type(target) if request.patch_type == PatchType.STRATEGIC else None
    problem = misfit(new, holder, target) if holder is not None else ""
    if problem:
        return answers.unpatchable(_shown(target, request), problem)
    # What a write of the status leaves alone was read when it was stored.
    base = {"metadata": target["metadata"], "spec": target.get("spec")} if request.subresource == STATUS else None
    version = f"{SCALE_GROUP}/v1" if is_scale else KINDS[kind].cls.api_version
    if request.is_new_form:
        version = events.API_VERSION
    try:
        if request.patch_type != PatchType.STRATEGIC and not _says_version(new, version, kind):
            return _without_version(target, new, request)
        found, unknown = read(new, version, kind, base)
    except (TypeProblem, DecodeError) as error:
        return answers.unpatchable(_shown(target, request), str(error))
    repeated = [f'duplicate field "{path}"' for path in request.repeated]
    problems = [*repeated, *(f'unknown field "{path}"' for path in unknown)]
    extra = unknown_of_operations(request.body) if request.patch_type == PatchType.JSON else []
    problems += [f'json patch unknown field "{path}"' for path in extra]
    if problems and request.validation == "Strict":
        return answers.unpatchable(_shown(target, request), f"strict decoding error: {', '.join(problems)}")
    return found, tuple(problems[len(repeated) :]) if request.validation == "Warn" else ()


def _says_version(new: Stored, version: str, kind: str) -> bool:
    """Whether the patched object still says a version; raises TypeProblem when it is of another kind by now."""
    wanted = typemeta.named(version, kind)
    found = typemeta.found_in(new)
    if not found.version and found.group in ("", wanted.group):
        return False
    found = found._replace(kind=found.kind or kind)
    typemeta.check(found, wanted, "<contents redacted>" if kind in CONFIDENTIAL_KINDS else compact(new))
    return True


def _without_version(target: Stored, new: Stored, request: Patch) -> Refused:
    """An object without apiVersion is read by no version's rules: nothing of it is known, not even its name."""
    problems = [f'unknown field "{name}"' for name in sorted(new) if name not in ("apiVersion", "kind")]
    if request.validation == "Strict" and problems:
        return answers.unpatchable(_shown(target, request), f"strict decoding error: {', '.join(problems)}")
    refused = nameless(request.key.name)
    return msgspec.structs.replace(refused, warnings=tuple(problems) if request.validation == "Warn" else ())


def _shown(target: Stored, request: Patch) -> str:
    """What a refusal of a patch quotes; nothing of what is confidential."""
    if request.key.kind in CONFIDENTIAL_KINDS:
        return "<contents redacted>"
    return go_map(request.body) if request.patch_type == PatchType.STRATEGIC else patched_text(target, request)


def delete(
    stored: Stored | None, request: Delete, now: int, *, is_simulated: bool = True, keeps_namespaces: bool = False
) -> Outcome | Refused:
    """The object marked, or removed when nothing keeps it.

    In a simulated cluster a deletion is one change; a real API server marks a pod first. A namespace is kept until its
    content is gone, on a real API server and where a controller sees to that (`keeps_namespaces`).
    """
    key = request.key
    if not is_simulated and key.kind == "Namespace" and key.name in IMMORTAL_NAMESPACES:
        return answers.forbidden(key, "this namespace may not be deleted")
    is_system = key.kind == "PriorityClass" and key.name in SYSTEM_CLASSES
    if is_system and not is_simulated and not request.of_collection:
        return answers.forbidden(key, "this is a system priority class and cannot be deleted")
    if stored is None:
        return answers.not_found(key)
    problem = _precondition_problem(stored, request)
    if problem is not None:
        return problem
    metadata, kind = stored["metadata"], KINDS[key.kind]
    marked, grace = _marked_gracefully(stored, request, now)
    if marked is None:
        return Outcome((), stored)
    finalizers = metadata.get("finalizers") or []
    if key.kind != "Namespace" or "deletionTimestamp" not in metadata:
        finalizers = _finalizers_after_deletion(finalizers, kind, request.propagation)
    if finalizers != (metadata.get("finalizers") or []):
        marked = _with_metadata(marked, finalizers=finalizers)
    is_kept = bool(finalizers) or ((keeps_namespaces or not is_simulated) and _is_kept(marked))
    if is_kept and grace is None:
        marked, grace = _marked(marked, now), 0
        if key.kind == "Namespace":
            marked = _with_metadata(marked, deletionGracePeriodSeconds=None)
            marked = {**marked, "status": {**(marked.get("status") or {}), "phase": "Terminating"}}
    if not is_kept and not grace:
        answer = marked if kind.answers_deleted else answers.deleted(key, metadata["uid"])
        gone = ObjectChange(Operation.DELETED, marked)
        is_two = not is_simulated and marked is not stored and marked != stored
        return Outcome((ObjectChange(Operation.UPDATED, marked), gone) if is_two else (gone,), answer)
    return _updated(stored, marked)


def _precondition_problem(stored: Stored, request: Delete) -> Refused | None:
    key, metadata = request.key, stored["metadata"]
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
    return None


def removed(stored: Stored, last: Stored) -> Outcome:
    """The object is gone with its last finalizer. The answer is without it and has the resourceVersion of before;
    what is deleted is the object that was stored."""
    return Outcome((ObjectChange(Operation.DELETED, stored),), last)


def replace(
    stored: Stored, new: Stored, request: Update | Patch | Apply, admission: Admission, now: int,
    entries: list[Entry], *, is_read: bool = False,
) -> Outcome | Refused:  # fmt: skip
    """The object as the new manifest says, as far as the request may change it.

    `entries`: who owns its fields then. `is_read`: see `admit_update`.
    """
    key, subresource, is_new_form = key_of(stored), request.subresource, request.is_new_form
    kind = KINDS[key.kind]
    if (subresource == SCALE and not kind.has_scale) or (subresource == STATUS and not kind.has_status):
        return answers.no_such_resource()
    is_scale = subresource == SCALE
    new, warnings = without_repeats(new, is_patch=True)
    try:
        changed = scaled(stored, new) if is_scale else {**new, "apiVersion": stored["apiVersion"], "kind": key.kind}
        written = admission.update(stored, changed, now, "" if is_scale else subresource, is_read=is_read)
        if key.kind == "Event":
            refuse(list(event_change_problems(written, stored, is_new_form=is_new_form)))
    except AdmissionError as error:
        return answers.invalid(key, error, group_kind=(SCALE_GROUP, SCALE_KIND) if is_scale else None)
    except DecodeError as error:
        return answers.unreadable(key.kind, str(error))
    metadata = stored["metadata"]
    if "resourceVersion" in metadata:
        written["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    else:
        written["metadata"].pop("resourceVersion", None)
    if entries:
        written["metadata"]["managedFields"] = entries
    else:
        written["metadata"].pop("managedFields", None)
    written = owners.without_new_times(stored, written)
    is_deleted = "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds")
    if is_deleted and not written["metadata"].get("finalizers") and not _is_kept(written):
        return removed(stored, written)
    outcome = _updated(stored, written)
    return _warned(Outcome(outcome.changes, scale_of(written)) if is_scale else outcome, warnings)


def _is_kept(manifest: Stored) -> bool:
    """A namespace has finalizers of its own, which keep it too."""
    return manifest["kind"] == "Namespace" and bool(manifest.get("spec", {}).get("finalizers"))


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
    if not kind.owns:
        return finalizers
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
