"""What the scheduler writes into a ResourceClaim: allocation and reservation, the end of a reservation, deallocation.

`write_claim` reads the claim as it is by now, so that what upstream does after a conflict is what is done here at once.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/dynamicresources (bindClaim, Unreserve, PostFilter).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scheduler_core.apiserver import answers, verbs
from scheduler_core.apiserver.admission import Admission
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.requests import Update, WriteClaim
from scheduler_core.apiserver.store import ObjectChange, Stored
from scheduler_core.model.effects import ClaimVerb

FINALIZER: Final = "resource.kubernetes.io/delete-protection"


def write_claim(stored: Stored | None, request: WriteClaim, admission: Admission, now: int) -> Outcome | Refused:
    """The changes of the claim, or why not: with the words a pod's failed PreBind has for it."""
    if stored is None or (request.uid and request.uid != stored["metadata"]["uid"]):
        return _refused(request, answers.not_found(request.key), verbs.STATUS)
    problem = refusal(stored, request)
    if problem:
        return Refused(Status(409, "Conflict", problem))
    changes: list[ObjectChange] = []
    for subresource, change in steps(stored, request):
        outcome = verbs.update(stored, Update(request.key, change(stored), subresource), admission, now)
        if isinstance(outcome, Refused):
            return _refused(request, outcome, subresource)
        changes += outcome.changes
        if outcome.changes:
            manifest = outcome.changes[-1].manifest
            # Changed, and not committed: nothing else can be based on a version of it.
            metadata = {name: value for name, value in manifest["metadata"].items() if name != "resourceVersion"}
            stored = {**manifest, "metadata": metadata}
    return Outcome(tuple(changes), stored)


def refusal(stored: Stored, request: WriteClaim) -> str:
    """Why the pod may not have the claim as it is by now; empty when it may."""
    named = f"claim {request.key.namespace}/{request.key.name}"
    if request.verb == ClaimVerb.RESERVE and "deletionTimestamp" in stored["metadata"]:
        return f"{named} got deleted in the meantime"
    if request.allocation is not None and (stored.get("status") or {}).get("allocation") is not None:
        return f"{named} got allocated elsewhere in the meantime"
    if request.verb == ClaimVerb.DEALLOCATE:
        consumers = (stored.get("status") or {}).get("reservedFor") or []
        if any(each["uid"] != request.pod_uid for each in consumers):
            return f"{named} got reserved for another pod in the meantime"
    return ""


def steps(stored: Stored, request: WriteClaim) -> list[tuple[str, Callable[[Stored], Stored]]]:
    """(subresource, what makes the claim to be written of the claim by then) of each write in its order."""
    if request.verb == ClaimVerb.DEALLOCATE:
        return [(verbs.STATUS, lambda claim: _with_status(claim, allocation=None, reservedFor=None, devices=None))]
    reserved = (stored.get("status") or {}).get("reservedFor") or []
    if request.verb == ClaimVerb.RELEASE:
        left = [each for each in reserved if each["uid"] != request.pod_uid]
        return [(verbs.STATUS, lambda claim: _with_status(claim, reservedFor=left or None))]
    reference = {"resource": "pods", "name": request.pod_name, "uid": request.pod_uid}
    written: dict[str, Any] = {"reservedFor": [*reserved, reference]}
    finalizers = stored["metadata"].get("finalizers") or []
    found: list[tuple[str, Callable[[Stored], Stored]]] = []
    if request.allocation is not None:
        written["allocation"] = request.allocation
        if FINALIZER not in finalizers:
            found.append(("", lambda claim: _with_finalizers(claim, [*finalizers, FINALIZER])))
    return [*found, (verbs.STATUS, lambda claim: _with_status(claim, **written))]


def _with_finalizers(claim: Stored, finalizers: list[str]) -> Stored:
    return {**claim, "metadata": {**claim["metadata"], "finalizers": finalizers}}


def _with_status(claim: Stored, **fields: Any) -> Stored:
    """The claim with these fields of its status; None removes one."""
    status = {**(claim.get("status") or {}), **fields}
    return {**claim, "status": {name: value for name, value in status.items() if value is not None}}


def refusal_text(request: WriteClaim, detail: str, subresource: str = verbs.STATUS) -> str:
    """What a refusal by the API server reads like in the message of a failed PreBind."""
    named = f"claim {request.key.namespace}/{request.key.name}"
    if subresource != verbs.STATUS:
        return f"add finalizer to {named}: {detail}"
    added = "allocation and reservation" if request.allocation is not None else "reservation"
    return f"add {added} to {named}: {detail}"


def _refused(request: WriteClaim, refused: Refused, subresource: str) -> Refused:
    if request.verb != ClaimVerb.RESERVE:
        return refused
    status = refused.status
    return Refused(Status(status.code, status.reason, refusal_text(request, status.message, subresource)))
