"""How objects are deleted: marked as long as something keeps them, removed otherwise. All are pure functions.

A finalizer or a grace period keeps an object. What becomes of the objects it owns is written as a finalizer, which the
garbage collector answers.

Source: kubernetes v1.34.1, staging/src/k8s.io/apiserver/pkg/registry/{generic/registry/store.go,rest/delete.go}.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from scheduler_core.admission.priority import SYSTEM_CLASSES
from scheduler_core.api.manifests import format_time
from scheduler_core.api.times import time_text
from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.bootstrap import IMMORTAL_NAMESPACES
from scheduler_core.apiserver.kinds import KINDS, Kind
from scheduler_core.apiserver.requests import Delete, Propagation
from scheduler_core.apiserver.store import ObjectChange, Operation, Stored, key_of

_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_OWNED_FINALIZERS: Final = {Propagation.ORPHAN: _ORPHAN, Propagation.FOREGROUND: _FOREGROUND}


def delete(
    stored: Stored | None,
    request: Delete,
    now: int,
    *,
    is_simulated: bool = True,
    keeps_namespaces: bool = False,
    of: Kind | None = None,
) -> Outcome | Refused:
    """The object marked, or removed when nothing keeps it.

    In a simulated cluster a deletion is one change; a real API server marks a pod first. A namespace is kept until its
    content is gone, on a real API server and where a controller sees to that (`keeps_namespaces`). `of`: the kind,
    where a cluster defines it.
    """
    key = request.key
    if not is_simulated and key.kind == "Namespace" and key.name in IMMORTAL_NAMESPACES:
        return answers.forbidden(key, "this namespace may not be deleted")
    is_system = key.kind == "PriorityClass" and key.name in SYSTEM_CLASSES
    if is_system and not is_simulated and not request.of_collection:
        return answers.forbidden(key, "this is a system priority class and cannot be deleted")
    if stored is None:
        return answers.not_found(key, of)
    problem = precondition_problem(stored, request, of)
    if problem is not None:
        return problem
    metadata, kind = stored["metadata"], of or KINDS[key.kind]
    marked, grace = _marked_gracefully(stored, request, now)
    if marked is None:
        return Outcome((), stored)
    finalizers = metadata.get("finalizers") or []
    if key.kind != "Namespace" or "deletionTimestamp" not in metadata:
        finalizers = _finalizers_after_deletion(finalizers, kind, request.propagation)
    if finalizers != (metadata.get("finalizers") or []):
        marked = with_metadata(marked, finalizers=finalizers)
    is_held = bool(finalizers) or ((keeps_namespaces or not is_simulated) and is_kept(marked))
    if is_held and grace is None:
        marked, grace = marked_now(marked, now), 0
        if key.kind == "Namespace":
            marked = with_metadata(marked, deletionGracePeriodSeconds=None)
            marked = {**marked, "status": {**(marked.get("status") or {}), "phase": "Terminating"}}
    if not is_held and not grace:
        answer = marked if kind.answers_deleted else answers.deleted(key, metadata["uid"], kind)
        gone = ObjectChange(Operation.DELETED, marked)
        is_two = not is_simulated and marked is not stored and marked != stored
        return Outcome((ObjectChange(Operation.UPDATED, marked), gone) if is_two else (gone,), answer)
    return updated(stored, marked)


def precondition_problem(stored: Stored, request: Delete, of: Kind | None = None) -> Refused | None:
    """Why the object is not the one that is meant."""
    key, metadata = request.key, stored["metadata"]
    if request.uid and request.uid != metadata["uid"]:
        return answers.delete_conflict(
            key,
            f"the UID in the precondition ({request.uid}) does not match the UID in record ({metadata['uid']})."
            " The object might have been deleted and then recreated",
            of,
        )
    version = metadata.get("resourceVersion", "")
    if request.resource_version and request.resource_version != version:
        return answers.delete_conflict(
            key,
            f"the ResourceVersion in the precondition ({request.resource_version}) does not match the"
            f" ResourceVersion in record ({version}). The object might have been modified",
            of,
        )
    return None


def removed(stored: Stored, last: Stored) -> Outcome:
    """The object is gone with its last finalizer. The answer is without it and has the resourceVersion of before;
    what is deleted is the object that was stored."""
    return Outcome((ObjectChange(Operation.DELETED, stored),), last)


def is_kept(manifest: Stored) -> bool:
    """A namespace has finalizers of its own, which keep it too."""
    return key_of(manifest).kind == "Namespace" and bool(manifest.get("spec", {}).get("finalizers"))


def updated(stored: Stored, new: Stored) -> Outcome:
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
        return with_metadata(stored, deletionTimestamp=format_time(ends), deletionGracePeriodSeconds=given), given
    if request.key.kind != "Pod":
        return stored, None
    spec, phase = stored["spec"], (stored.get("status") or {}).get("phase")
    grace = spec.get("terminationGracePeriodSeconds") or 0 if given is None else given
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        grace = 0
    return _mark(stored, now, grace if grace >= 0 else 1), grace


def marked_now(stored: Stored, now: int) -> Stored:
    """The object marked although its kind has no graceful deletion: a finalizer keeps it."""
    if "deletionTimestamp" in stored["metadata"]:
        return stored
    return _mark(stored, now, 0)


def _mark(stored: Stored, now: int, grace: int) -> Stored:
    generation = stored["metadata"].get("generation")
    return with_metadata(
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


def with_metadata(manifest: Stored, **fields: Any) -> Stored:
    """The object with these fields of its metadata; None removes one."""
    metadata = {**manifest["metadata"], **fields}
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if value not in (None, [])}}
