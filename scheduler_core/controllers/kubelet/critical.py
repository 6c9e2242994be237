"""Critical pods, and which pods of a node end so that one of them has room.

Critical are static pods, their mirrors, and priorities from 2,000,000,000 on. Pods of low quality of service go
first; among alike ones those that come nearest to what is lacking, so that few have to go.
Source: kubernetes v1.34.1, pkg/kubelet/preemption/preemption.go, pkg/kubelet/types/pod_update.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.admission.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, qos_class
from scheduler_core.api.pod import Pod
from scheduler_core.model.types import Resource
from scheduler_core.plugins.fit_hints import pod_request
from scheduler_core.plugins.node_resources_fit import Shortage

CRITICAL_PRIORITY: Final = 2_000_000_000
NODE_CRITICAL: Final = "system-node-critical"
MIRROR: Final = "kubernetes.io/config.mirror"
SOURCE: Final = "kubernetes.io/config.source"
PREEMPTING: Final = "Preempting"
PREEMPTED_MESSAGE: Final = "Preempted in order to admit critical pod"
PREEMPTED_CONDITION: Final = "Pod was preempted by Kubelet to accommodate a critical pod."

Lacking = dict[str, int]  # what is still needed, by resource


def is_static(pod: Pod) -> bool:
    """Return whether the pod is one of a kubelet's own, or its mirror."""
    annotations = pod.metadata.annotations
    return annotations is not None and (MIRROR in annotations or annotations.get(SOURCE, "api") != "api")


def is_critical(pod: Pod) -> bool:
    """Return whether the node must not go without the pod."""
    return pod.priority >= CRITICAL_PRIORITY or is_static(pod)


def victims_for(pod: Pod, shortages: Sequence[Shortage], others: Sequence[Pod]) -> list[Pod] | None:
    """Return which of the others end so that there is no shortage; None when not even all of them suffice."""
    lacking = {one.resource: one.requested - (one.capacity - one.used) for one in shortages}
    requests = {other.uid: pod_request(other) for other in others}
    by_class: dict[str, list[Pod]] = {BEST_EFFORT: [], BURSTABLE: [], GUARANTEED: []}
    for other in others:
        if _is_preemptable(pod, other):
            by_class[qos_class(other.spec)].append(other)
    low, middle, high = by_class[BEST_EFFORT], by_class[BURSTABLE], by_class[GUARANTEED]
    if _without(lacking, [*low, *middle, *high], requests):
        return None
    chosen_high = _nearest(high, _without(lacking, [*low, *middle], requests), requests)
    chosen_middle = _nearest(middle, _without(lacking, [*low, *chosen_high], requests), requests)
    chosen_low = _nearest(low, _without(lacking, [*chosen_middle, *chosen_high], requests), requests)
    return [*chosen_low, *chosen_middle, *chosen_high]


def _is_preemptable(pod: Pod, other: Pod) -> bool:
    if is_critical(pod) and not is_critical(other):
        return True
    mine, theirs = pod.spec.priority, other.spec.priority
    return mine is not None and theirs is not None and mine > theirs


def _nearest(pods: Sequence[Pod], lacking: Lacking, requests: dict[str, Resource]) -> list[Pod]:
    """One after the other, the pod that leaves least of what is lacking; of equal ones the smaller."""
    left, chosen = list(pods), []
    while lacking and left:
        best = min(left, key=lambda one: (_distance(lacking, requests[one.uid]), *_size(requests[one.uid])))
        left.remove(best)
        chosen.append(best)
        lacking = _without(lacking, [best], requests)
    return chosen


def _without(lacking: Lacking, pods: Sequence[Pod], requests: dict[str, Resource]) -> Lacking:
    """What is lacking when these have ended."""
    left = {name: amount - sum(_amount(requests[one.uid], name) for one in pods) for name, amount in lacking.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _distance(lacking: Lacking, request: Resource) -> float:
    """How far the pod is from what is lacking: each resource counts the same."""
    total = 0.0
    for name, amount in lacking.items():
        remaining = amount - _amount(request, name)
        if remaining > 0:
            total += (remaining / amount) ** 2
    return total


def _amount(request: Resource, name: str) -> int:
    return 1 if name == "pods" else request.amount_of(name)


def _size(request: Resource) -> tuple[int, int]:
    return request.memory, request.milli_cpu
