"""What only pods can be asked: bind, evict, and what schedulers and kubelets report.

Source: kubernetes v1.34.1, pkg/registry/core/pod/storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

from scheduler_core.api.times import time_text
from scheduler_core.apiserver import answers
from scheduler_core.apiserver.answers import Outcome, Refused, Status
from scheduler_core.apiserver.budgets import take
from scheduler_core.apiserver.deletions import delete
from scheduler_core.apiserver.options import checked_options
from scheduler_core.apiserver.requests import Bind, Delete, Evict, ReportStatus, ReportUnschedulable
from scheduler_core.apiserver.store import ObjectChange, Operation, Stored
from scheduler_core.apiserver.strategic import interleaved

POD_SCHEDULED: Final = "PodScheduled"
DISRUPTION_TARGET: Final = "DisruptionTarget"
EVICTED: Final = ("EvictionByEvictionAPI", "Eviction API: evicting")  # reason and message of the condition
CREATED: Final = Status(201)
_NO_TIMES: Final = {"lastProbeTime": None, "lastTransitionTime": None}  # which are always written

Condition = tuple[str, str, str]  # status, reason, message


def bind(stored: Stored | None, request: Bind, now: int) -> Outcome | Refused:
    """The pod on the node, unless it has one, is being deleted or gated. Its generation stays."""
    key = request.key
    if stored is None:
        return answers.not_found(key)
    metadata, spec = stored["metadata"], stored["spec"]
    if request.uid and request.uid != metadata["uid"]:
        return answers.storage_conflict(key, "UID", request.uid, metadata["uid"])
    version = metadata.get("resourceVersion", "")
    if request.resource_version and request.resource_version != version:
        return answers.storage_conflict(key, "ResourceVersion", request.resource_version, version)
    problem = ""
    if "deletionTimestamp" in metadata:
        problem = f"pod {key.name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        problem = f'pod {key.name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        problem = f"pod {key.name} has non-empty .spec.schedulingGates"
    if problem:
        return answers.conflict(key, problem, subresource="binding")
    status = with_condition(stored.get("status") or {}, POD_SCHEDULED, ("True", "", ""), now)
    if request.annotations:
        metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **request.annotations}}
    bound = {**stored, "metadata": metadata, "spec": {**spec, "nodeName": request.node_name}, "status": status}
    return Outcome((ObjectChange(Operation.UPDATED, bound),), CREATED)


def evict(stored: Stored | None, request: Evict, now: int, budgets: Sequence[Stored] = ()) -> Outcome | Refused:
    """The pod with a DisruptionTarget condition and deleted gracefully, after the budget that allows it."""
    key = request.key
    if stored is None:
        return answers.not_found(key)
    if request.uid and request.uid != stored["metadata"]["uid"] and not request.asks_budgets:
        return answers.storage_conflict(key, "UID", request.uid, stored["metadata"]["uid"])
    taken: list[ObjectChange] = []
    if request.asks_budgets:
        budget = take(stored, budgets, now)
        if isinstance(budget, Refused):
            return budget
        if budget is not None:
            taken.append(ObjectChange(Operation.UPDATED, budget))
    condition = ("True", request.reason, request.message)
    status = with_condition(stored.get("status") or {}, DISRUPTION_TARGET, condition, now)
    target = stored if status == stored.get("status") else {**stored, "status": status}
    asked = request.uid if request.asks_budgets else ""
    options = checked_options(request.options)
    if isinstance(options, Refused):
        # What was taken of a budget is not given back, and the condition stays.
        changed = () if target is stored else (ObjectChange(Operation.UPDATED, target),)
        return Outcome((*taken, *changed), options.status)
    how = Delete(key, request.grace_seconds, options.propagation, asked, request.resource_version)
    outcome = delete(target, how, now)
    if isinstance(outcome, Refused):
        return Outcome(tuple(taken), outcome.status) if taken else outcome
    changes = outcome.changes
    if not changes and target is not stored:
        changes = (ObjectChange(Operation.UPDATED, target),)  # under deletion already: only the condition is new
    return Outcome((*taken, *changes), CREATED)


def report_unschedulable(stored: Stored | None, request: ReportUnschedulable, now: int) -> Outcome | Refused:
    """The pod with its PodScheduled condition and its nomination; a pod that has a node stays as it is."""
    key = request.key
    if stored is None or (request.uid and request.uid != stored["metadata"]["uid"]):
        return answers.not_found(key)
    before = stored.get("status") or {}
    status = before
    if stored["spec"].get("nodeName"):
        return Outcome((), stored)
    if request.condition is not None:
        status = with_condition(status, POD_SCHEDULED, request.condition, now)
    nominated = request.nominated_node_name
    if nominated is not None and nominated != (status.get("nominatedNodeName") or ""):
        status = {**status, "nominatedNodeName": nominated}
        if not nominated:
            del status["nominatedNodeName"]
    if status is before:
        return Outcome((), stored)
    reported = {**stored, "status": status}
    return Outcome((ObjectChange(Operation.UPDATED, reported),), reported)


def report_status(stored: Stored | None, request: ReportStatus) -> Outcome | Refused:
    """The pod with this status, as a strategic merge patch leaves it."""
    key = request.key
    if stored is None:
        return answers.not_found(key)
    if request.uid and request.uid != stored["metadata"]["uid"]:
        return answers.storage_conflict(key, "UID", request.uid, stored["metadata"]["uid"])
    before: dict[str, Any] = stored.get("status") or {}
    status = {**before, **request.status}
    if "conditions" in request.status:
        status["conditions"] = _merged_conditions(before.get("conditions") or (), request.status["conditions"])
    if status == before:
        return Outcome((), stored)
    reported = {**stored, "status": status}
    return Outcome((ObjectChange(Operation.UPDATED, reported),), reported)


def _merged_conditions(before: Sequence[dict[str, Any]], given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    merged = {condition["type"]: condition for condition in before}
    for condition in given:
        name = condition["type"]
        both = {**_NO_TIMES, **merged.get(name, {}), **condition}
        merged[name] = {key: value for key, value in both.items() if value is not None or key in _NO_TIMES}
    order = [condition["type"] for condition in given]
    return interleaved(list(merged.values()), order, before, itemgetter("type"))


def with_condition(status: dict[str, Any], name: str, condition: Condition, now: int) -> dict[str, Any]:
    """The status with this condition; its transition time moves only when its own status does."""
    state, reason, message = condition
    conditions: list[dict[str, Any]] = list(status.get("conditions") or ())
    place = next((n for n, one in enumerate(conditions) if one.get("type") == name), len(conditions))
    before = conditions[place] if place < len(conditions) else {"type": name, "lastProbeTime": None}
    written = {key: value for key, value in before.items() if key not in ("reason", "message")}
    if before.get("status") != state:
        written |= {"status": state, "lastTransitionTime": time_text(now)}
    if reason:
        written["reason"] = reason
    if message:
        written["message"] = message
    if written == before:
        return status
    conditions[place : place + 1] = [written]
    return {**status, "conditions": conditions}
