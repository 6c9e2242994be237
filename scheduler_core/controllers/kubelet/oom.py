"""Who the kernel ends when a machine has no memory left: scores as kubelets set them.

    oom_score_adj   Guaranteed and node-critical -997, BestEffort 1000, Burstable by how much of the memory it requests
    oom_score       what a container uses, in thousandths of the memory, and its oom_score_adj; the highest goes first

Source: kubernetes v1.34.1, pkg/kubelet/qos/policy.go. The lower bound for Burstable is 3 there; documents say 2.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.qos import BEST_EFFORT, GUARANTEED, qos_class
from scheduler_core.api.pod import Container, Pod
from scheduler_core.api.resources import container_requests
from scheduler_core.controllers.kubelet.critical import NODE_CRITICAL, is_critical

GUARANTEED_ADJ: Final = -997
BEST_EFFORT_ADJ: Final = 1000


def oom_score_adj(pod: Pod, container: Container, memory_bytes: int) -> int:
    """Return the adjustment of the container on a machine with so much memory, more than 0."""
    if is_critical(pod) and pod.spec.priority_class_name == NODE_CRITICAL:
        return GUARANTEED_ADJ
    quality = qos_class(pod.spec)
    if quality == GUARANTEED:
        return GUARANTEED_ADJ
    if quality == BEST_EFFORT:
        return BEST_EFFORT_ADJ
    share = _unallotted(pod)
    score = _score(_request(container) + share, memory_bytes)
    if container.is_restartable_init and container in (pod.spec.init_containers or ()):
        # A sidecar is not ended before the containers that it serves.
        least = min((_request(one) for one in pod.spec.containers), default=0)
        score = min(score, _score(least + share, memory_bytes))
    if score < 1000 + GUARANTEED_ADJ:
        return 1000 + GUARANTEED_ADJ
    return min(score, BEST_EFFORT_ADJ - 1)


def oom_score(adjustment: int, used_bytes: int, memory_bytes: int) -> int:
    """Return the score of a container that uses so much of the machine's memory."""
    return max(0, used_bytes * 1000 // memory_bytes + adjustment)


def _score(request: int, memory_bytes: int) -> int:
    return 1000 - 1000 * request // memory_bytes


def _request(container: Container) -> int:
    quantity = (container.resources.requests or {}).get("memory")
    return 0 if quantity is None else quantity.value()


def _unallotted(pod: Pod) -> int:
    """What the pod as a whole requests more than its containers, shared among them."""
    resources = pod.spec.resources
    whole = (resources.requests or {}).get("memory") if resources is not None else None
    if whole is None or whole.is_zero:
        return 0
    allotted = container_requests(pod.spec).get("memory")
    left = whole.value() - (0 if allotted is None else allotted.value())
    return left // (len(pod.spec.containers) + len(pod.spec.init_containers or ()))
