"""What is checked of statuses that controllers and kubelets write.

Source: kubernetes v1.34.1, pkg/apis/*/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from scheduler_core.admission.context import Manifest, Problem, duplicate, forbidden, invalid, too_long, unsupported
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.conditions import condition_problems
from scheduler_core.admission.validation.formats import named, not_negative
from scheduler_core.admission.validation.kinds import node_address_problems, quota_amount_problems
from scheduler_core.admission.validation.pod_statuses import pod_status_problems
from scheduler_core.api.quantity import parse
from scheduler_core.api.resources import is_native

_OF_STATUS: Final = "cannot be greater than status.replicas"
_OF_READY: Final = "cannot be greater than readyReplicas"
_IP_MODES: Final = ("Proxy", "VIP")
_LONGEST_ERROR: Final = 1024
_NO_QUANTITY: Final = "must be a valid resource quantity"
_MOST_METADATA: Final = 256 * 1024
_RESIZE_STATES: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip


def status_problems(new: Manifest, old: Manifest, kind: str) -> Iterator[Problem]:
    check = CHECKS.get(kind)
    if check is not None:
        yield from check(new["status"], old)


def _node(status: Manifest, old: Manifest) -> Iterator[Problem]:
    for field in ("capacity", "allocatable"):
        for name, text in status.get(field, {}).items():
            yield from formats.quantity_value(f"status.{field}.{name}", name, text)
    yield from node_address_problems(status.get("addresses", []))


def _namespace(status: Manifest, old: Manifest) -> Iterator[Problem]:
    phase, is_going = status.get("phase", ""), "deletionTimestamp" in old["metadata"]
    if phase != ("Terminating" if is_going else "Active"):
        detail = "may only be 'Active' if `deletionTimestamp` is empty"
        if is_going:
            detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        yield invalid("status.Phase", phase, detail)


def _service(status: Manifest, old: Manifest) -> Iterator[Problem]:
    path, given = "status.loadBalancer.ingress", (status.get("loadBalancer") or {}).get("ingress", ())
    if given and old["spec"].get("type") != "LoadBalancer":
        yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for index, one in enumerate(given):
        at, address, host = f"{path}[{index}]", one.get("ip", ""), one.get("hostname", "")
        if address:
            yield from named(f"{at}.ip", address, formats.ip_address(address))
        elif "ipMode" in one:
            yield forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set")
        if address and one.get("ipMode", "VIP") not in _IP_MODES:
            yield unsupported(f"{at}.ipMode", one["ipMode"], _IP_MODES)
        if host:
            yield from named(f"{at}.hostname", host, formats.subdomain(host))
            if formats.sloppy_address(host) is not None:
                yield invalid(f"{at}.hostname", host, "must be a DNS name, not an IP address")


def _attachment(status: Manifest, old: Manifest) -> Iterator[Problem]:
    for field in ("attachError", "detachError"):
        if len((status.get(field) or {}).get("message", "").encode()) > _LONGEST_ERROR:
            yield too_long(f"status.{field}.message", _MOST_METADATA)  # the server tells of another limit
    metadata = status.get("attachmentMetadata") or {}
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items()) > _MOST_METADATA:
        yield too_long("status.attachmentMetadata", _MOST_METADATA)


def _counts(
    *fields: str, bounded: tuple[tuple[str, str, str], ...] = (), rising: str = ""
) -> Callable[..., Iterator[Problem]]:
    """A check of numbers, none negative; of each of `bounded` no more than of another; `rising` never gets less."""

    def check(status: Manifest, old: Manifest) -> Iterator[Problem]:
        for field in fields:
            yield from not_negative(f"status.{field}", status.get(field, 0))
        for field, bound, text in bounded:
            value = status.get(field, 0)
            if value > status.get(bound, 0):
                yield invalid(f"status.{field}", value, text)
        before = old["status"].get(rising)
        if before is not None and status.get(rising, -1) < before:
            yield invalid(f"status.{rising}", status.get(rising, 0), "cannot be decremented")

    return check


def _claim(status: Manifest, old: Manifest) -> Iterator[Problem]:
    for name, text in status.get("capacity", {}).items():
        if parse(text).nano < 0:
            yield invalid(f"status.capacity[{name}]", parse(text).value(), _NO_QUANTITY)
    for name, state in status.get("allocatedResourceStatuses", {}).items():
        yield from _claim_resource("status.allocatedResourceStatus", name)
        if state not in _RESIZE_STATES:
            yield unsupported("status.allocatedResourceStatus", name, _RESIZE_STATES)
    for name, text in status.get("allocatedResources", {}).items():
        problems = [*_claim_resource("status.allocatedResources", name)]
        if not problems and parse(text).nano < 0:
            problems = [invalid(f"status.allocatedResources[{name}]", parse(text).value(), _NO_QUANTITY)]
        yield from problems


def _claim_resource(path: str, name: str) -> Iterator[Problem]:
    problems = formats.qualified(name)
    yield from named(path, name, problems)
    if not problems and is_native(name) and name != "storage":
        yield unsupported(path, name, ("storage",), is_plain=True)


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
CHECKS: Final[dict[str, Callable[[Manifest, Manifest], Iterator[Problem]]]] = {
    "Pod": pod_status_problems,
    "Node": _node,
    "Namespace": _namespace,
    "Service": _service,
    "VolumeAttachment": _attachment,
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
        "unavailableReplicas", "collisionCount",
        rising="collisionCount",
        bounded=(
            ("updatedReplicas", "replicas", _OF_STATUS),
            ("readyReplicas", "replicas", _OF_STATUS),
            ("availableReplicas", "replicas", _OF_STATUS),
            ("availableReplicas", "readyReplicas", _OF_READY),
        ),
    ),
    "StatefulSet": _counts(
        "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
        "collisionCount",
        rising="collisionCount",
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
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
        rising="collisionCount",
    ),
    "Job": _job,
    "PodDisruptionBudget": _budget,
    "PersistentVolumeClaim": _claim,
    "ResourceQuota": _quota,
}  # fmt: skip
