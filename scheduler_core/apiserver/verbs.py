"""What every object can be asked: create, update, patch; how it is deleted is in `deletions`. All are pure functions.

An update that takes the last finalizer of an object that is being deleted removes it. One deletion is one change, whose
object already has the mark.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/registry/{generic/registry/store.go,rest/*.go}.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from scheduler_core.admission.context import refuse
from scheduler_core.api.schema import DecodeError, read
from scheduler_core.apiserver import answers, events, owners, typemeta
from scheduler_core.apiserver.admission import Admission
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.deletions import is_kept, removed, updated
from scheduler_core.apiserver.events import event_change_problems, event_problems
from scheduler_core.apiserver.kinds import CONFIDENTIAL_KINDS, KINDS, Kind
from scheduler_core.apiserver.numbers import NumberError, parse_uint
from scheduler_core.apiserver.owner_references import without_repeats
from scheduler_core.apiserver.ownership.managers import Entry
from scheduler_core.apiserver.patches import compact, patched, patched_text, unknown_of_operations
from scheduler_core.apiserver.places import misplaced, nameless
from scheduler_core.apiserver.requests import Apply, Create, ObjectKey, Patch, PatchType, Update
from scheduler_core.apiserver.scale import GROUP as SCALE_GROUP
from scheduler_core.apiserver.scale import KIND as SCALE_KIND
from scheduler_core.apiserver.scale import scale_of, scaled
from scheduler_core.apiserver.store import ObjectChange, Operation, Stored, key_of
from scheduler_core.apiserver.strategic import PatchError, go_map, manifest_type, misfit
from scheduler_core.apiserver.typemeta import TypeProblem
from scheduler_core.errors import AdmissionError, ManifestError

STATUS: Final = "status"
SCALE: Final = "scale"


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
    problem = unfit_version(request.manifest, stored, request)
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
        return Refused(Status(error.code, error.reason, error.message))
    found = _read_patched(target, new, request)
    if isinstance(found, Refused):
        return found
    read_new, warnings = found
    problem = misplaced(read_new, key) or unfit_version(read_new, stored, request)
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


def unfit_version(
    manifest: Mapping[str, Any], stored: Stored, request: Update | Patch, of: Kind | None = None
) -> Refused | None:
    """Why the manifest is not based on what is stored; without a resourceVersion most kinds take it as it is.

    `of`: the kind, where a cluster defines it.
    """
    key, metadata = request.key, manifest.get("metadata") or {}
    version = metadata.get("resourceVersion") or "0"
    uid = metadata.get("uid") if isinstance(request, Update) else None
    if uid and uid != stored["metadata"]["uid"]:
        return answers.storage_conflict(key, "UID", uid, stored["metadata"]["uid"], of)
    try:
        parse_uint(version)
    except NumberError as error:
        return answers.internal_error(str(error))
    if version == "0" and "resourceVersion" not in stored["metadata"]:
        return None  # changed by a request before this one, of the same batch
    if version == "0" and (of or KINDS[key.kind]).needs_version and request.subresource != SCALE:
        return answers.needs_version(key, of)
    return answers.modified(key, of) if version not in ("0", stored["metadata"].get("resourceVersion")) else None


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
    if is_deleted and not written["metadata"].get("finalizers") and not is_kept(written):
        return removed(stored, written)
    outcome = updated(stored, written)
    return _warned(Outcome(outcome.changes, scale_of(written)) if is_scale else outcome, warnings)


def key_from(manifest: Mapping[str, Any], of: Kind | None = None) -> ObjectKey:
    """The key of a manifest as it was sent, which may lack a namespace; ManifestError when it has no identity.

    `of`: the kind, where a cluster defines it.
    """
    metadata = manifest.get("metadata")
    kind = of or KINDS.get(str(manifest.get("kind")))
    if kind is None:
        raise ManifestError("kind", f"{manifest.get('kind')} is not understood")
    if not isinstance(metadata, Mapping):
        raise ManifestError("metadata", "is required")
    namespace = (metadata.get("namespace") or "default") if kind.namespaced else ""
    return ObjectKey(kind.name, namespace, metadata.get("name") or "")
