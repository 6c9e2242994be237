"""Evictions ask the PodDisruptionBudgets that select the pod, and write down what they take.

Source: kubernetes v1.34.1, pkg/registry/core/pod/storage/eviction.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.api.manifests import convert
from scheduler_core.api.meta import LabelSelector
from scheduler_core.api.selectors import SelectorError, parse_label_selector
from scheduler_core.api.times import time_text
from scheduler_core.apiserver.answers import Cause, Refused, Status, internal_error
from scheduler_core.apiserver.store import Stored

_MOST_DISRUPTED = 2000
_RETRY_SECONDS = 10
_BLOCKED = "Cannot evict pod as it would violate the pod's disruption budget."


def budgets_of(pod: Stored, budgets: Sequence[Stored]) -> list[Stored]:
    """The budgets of the pod's namespace whose selector matches it; an absent selector matches nothing."""
    labels = pod["metadata"].get("labels") or {}
    return [
        budget
        for budget in budgets
        if budget["metadata"].get("namespace") == pod["metadata"].get("namespace") and _selects(budget, labels)
    ]


def _selects(budget: Stored, labels: dict[str, str]) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return False
    try:
        return parse_label_selector(convert(selector, LabelSelector)).matches(labels)
    except SelectorError:
        return False


def ignores_budgets(pod: Stored) -> bool:
    """Pods that run nothing are evicted whatever a budget says: pending, ended or already being deleted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]


def take(pod: Stored, budgets: Sequence[Stored], now: int) -> Stored | Refused | None:
    """The one budget after the eviction, or a refusal; None where no budget changes."""
    matching = budgets_of(pod, budgets)
    if not matching or ignores_budgets(pod):
        return None
    if len(matching) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        return internal_error(message)
    budget = matching[0]
    status = budget.get("status") or {}
    if not _is_ready(pod) and _unhealthy_may_go(budget):
        return None
    metadata = budget["metadata"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        return _too_many(metadata["name"], "", retry=_RETRY_SECONDS)
    allowed: int = status.get("disruptionsAllowed") or 0
    disrupted: dict[str, Any] = status.get("disruptedPods") or {}
    if allowed < 0:
        return _forbidden(budget, "pdb disruptions allowed is negative")
    if len(disrupted) > _MOST_DISRUPTED:
        return _forbidden(budget, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if not allowed:
        desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
        reason = f"The disruption budget {metadata['name']} needs {desired} healthy pods and has {current} currently"
        return _too_many(metadata["name"], reason)
    written = {
        **status,
        "disruptionsAllowed": allowed - 1,
        "disruptedPods": {**disrupted, pod["metadata"]["name"]: time_text(now)},
    }
    if allowed == 1:
        written["conditions"] = _conditions(written.get("conditions") or [], metadata.get("generation", 0), now)
    return {**budget, "status": written}


def _unhealthy_may_go(budget: Stored) -> bool:
    """A pod that is not ready does not count, if the policy says so or enough others are healthy."""
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired


def _is_ready(pod: Stored) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _conditions(conditions: list[Any], generation: int, now: int) -> list[Any]:
    """With the one that says that nothing more may be disrupted."""
    blocked = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": generation,
        "lastTransitionTime": time_text(now),
        "reason": "InsufficientPods",
        "message": "",
    }
    for one in conditions:
        if one["type"] == blocked["type"] and one["status"] == "False":
            blocked["lastTransitionTime"] = one["lastTransitionTime"]
    others = [one for one in conditions if one["type"] != blocked["type"]]
    place = next((n for n, one in enumerate(conditions) if one["type"] == blocked["type"]), len(others))
    return [*others[:place], blocked, *others[place:]]


def _too_many(name: str, reason: str, *, retry: int = 0) -> Refused:
    message = reason or f"The disruption budget {name} is still being processed by the server."
    cause = Cause("DisruptionBudget", message)
    return Refused(Status(429, "TooManyRequests", _BLOCKED, causes=(cause,), retry_after_seconds=retry))


def _forbidden(budget: Stored, detail: str) -> Refused:
    name = budget["metadata"]["name"]
    message = f'poddisruptionbudgets.policy "{name}" is forbidden: {detail}'
    return Refused(Status(403, "Forbidden", message, name, "policy", "poddisruptionbudgets"))
