"""What is checked of statuses that controllers and kubelets write.

Source: kubernetes v1.34.1, pkg/apis/*/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from scheduler_core.admission.context import Manifest, Problem, duplicate, invalid
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.conditions import condition_problems
from scheduler_core.admission.validation.formats import named, not_negative
from scheduler_core.admission.validation.kinds import quota_amount_problems
from scheduler_core.api.quantity import parse

_OF_STATUS: Final = "cannot be greater than status.replicas"
_OF_READY: Final = "cannot be greater than readyReplicas"


def status_problems(new: Manifest, old: Manifest, kind: str) -> Iterator[Problem]:
    check = _CHECKS.get(kind)
    if check is not None:
        yield from check(new["status"], old)


def _pod(status: Manifest, old: Manifest) -> Iterator[Problem]:
    before = old["status"]
    for index, condition in enumerate(status.get("conditions", ())):
        at = f"status.conditions[{index}]"
        if condition.get("observedGeneration", 0) < 0:
            yield invalid(f"{at}.observedGeneration", condition["observedGeneration"], "must be a non-negative integer")
    name = status.get("nominatedNodeName", "")
    if name and name != before.get("nominatedNodeName", ""):
        yield from named("status.nominatedNodeName", name, formats.subdomain(name))
    if status.get("observedGeneration", 0) < 0:
        yield invalid("status.observedGeneration", status["observedGeneration"], "must be a non-negative integer")
    yield from formats.immutable("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    for field in ("podIPs", "hostIPs"):
        for index, one in enumerate(status.get(field, ())):
            yield from named(f"status.{field}[{index}]", one["ip"], formats.ip_address(one["ip"]))


def _node(status: Manifest, old: Manifest) -> Iterator[Problem]:
    for field in ("capacity", "allocatable"):
        for name, text in status.get(field, {}).items():
            yield from formats.quantity_value(f"status.{field}.{name}", name, text)


def _counts(*fields: str, bounded: tuple[tuple[str, str, str], ...] = ()) -> Callable[..., Iterator[Problem]]:
    def check(status: Manifest, old: Manifest) -> Iterator[Problem]:
        for field in fields:
            yield from not_negative(f"status.{field}", status.get(field, 0))
        for field, bound, text in bounded:
            value = status.get(field, 0)
            if value > status.get(bound, 0):
                yield invalid(f"status.{field}", value, text)

    return check


def _claim(status: Manifest, old: Manifest) -> Iterator[Problem]:
    for name, text in status.get("capacity", {}).items():
        if parse(text).nano < 0:
            at = f"status.capacity[{name}]"
            yield Problem(at, f"Invalid value: {parse(text).value()}: must be a valid resource quantity")


def _quota(status: Manifest, old: Manifest) -> Iterator[Problem]:
    for field in ("hard", "used"):
        for name, text in status.get(field, {}).items():
            yield from quota_amount_problems(f"status.{field}[{name}]", name, text)


def _budget(status: Manifest, old: Manifest) -> Iterator[Problem]:
    yield from condition_problems("status.conditions", status.get("conditions", ()))
    yield from _BUDGET_COUNTS(status, old)


def _job(status: Manifest, old: Manifest) -> Iterator[Problem]:
    yield from _JOB_COUNTS(status, old)
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate((status.get("uncountedTerminatedPods") or {}).get(field) or ()):
            at = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                yield invalid(at, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(at, uid)
            seen.add(uid)


_JOB_COUNTS: Final = _counts("active", "succeeded", "failed", "ready", "terminating")
_BUDGET_COUNTS: Final = _counts("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_REPLICATED: Final = (
    ("fullyLabeledReplicas", "replicas", _OF_STATUS),
    ("readyReplicas", "replicas", _OF_STATUS),
    ("availableReplicas", "replicas", _OF_STATUS),
    ("availableReplicas", "readyReplicas", _OF_READY),
)
_CHECKS: Final[dict[str, Callable[[Manifest, Manifest], Iterator[Problem]]]] = {
    "Pod": _pod,
    "Node": _node,
    "ReplicationController": _counts(
        "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
        bounded=_REPLICATED,
    ),
    "ReplicaSet": _counts(
        "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
        bounded=_REPLICATED,
    ),
    "Deployment": _counts(
        "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas",
        bounded=(
            ("updatedReplicas", "replicas", _OF_STATUS),
            ("readyReplicas", "replicas", _OF_STATUS),
            ("availableReplicas", "replicas", _OF_STATUS),
            ("availableReplicas", "readyReplicas", _OF_READY),
        ),
    ),
    "StatefulSet": _counts(
        "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
        bounded=(
            ("readyReplicas", "replicas", _OF_STATUS),
            ("currentReplicas", "replicas", _OF_STATUS),
            ("updatedReplicas", "replicas", _OF_STATUS),
            ("availableReplicas", "replicas", _OF_STATUS),
            ("availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas"),
        ),
    ),
    "DaemonSet": _counts(
        "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
    ),
    "Job": _job,
    "PodDisruptionBudget": _budget,
    "PersistentVolumeClaim": _claim,
    "ResourceQuota": _quota,
}  # fmt: skip
