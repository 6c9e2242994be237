"""When resources for a pod may have come free: the hints of NodeResourcesFit.

One event asks every waiting pod, so what pods request and nodes offer is worked out once per object.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/noderesources/fit.go (isSchedulableAfterPodEvent,
isSchedulableAfterNodeChange).
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import pod_requests
from scheduler_core.framework.answers import QueueingHint
from scheduler_core.model.types import Resource
from scheduler_core.plugins.helpers import IdentityMemo, as_node, as_pod, had_a_place, queue_if


def pod_request(pod: Pod) -> Resource:
    """What the pod requests: pod level and overhead counted, what its status says not."""
    return Resource.of(pod_requests(pod, use_status=False, use_pod_level=True))


class FitHints:
    """Both hints, with what they know of pods and nodes seen before."""

    def __init__(self) -> None:
        self._request = IdentityMemo(pod_request)
        self._held = IdentityMemo(_held)
        self._offered = IdentityMemo(_offered)

    def after_pod_change(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """A pod is gone, or asks for less of something the waiting pod asks for; how much less does not matter."""
        before, after = as_pod(old), as_pod(new)
        if after is None:
            return queue_if(before is not None and had_a_place(before))
        if after.uid == pod.uid:
            return QueueingHint.QUEUE
        if not after.is_assigned or before is None:
            return QueueingHint.SKIP
        had, has = self._held(before), self._held(after)
        return queue_if(any(had.amount_of(name) > has.amount_of(name) for name in _asked_names(self._request(pod))))

    def after_node_change(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """The node could take the pod when empty, and offers more than before of something the pod asks for."""
        before, after = as_node(old), as_node(new)
        if after is None:
            return QueueingHint.SKIP
        request, offers = self._request(pod), self._offered(after)
        if not _fits_when_empty(request, offers):
            return QueueingHint.SKIP
        if before is None:
            return QueueingHint.QUEUE
        offered = self._offered(before)
        if offers.allowed_pod_number > offered.allowed_pod_number:
            return QueueingHint.QUEUE
        return queue_if(any(offers.amount_of(name) > offered.amount_of(name) for name in _asked_names(request)))


def _held(pod: Pod) -> Resource:
    """What the pod holds on its node, a resize under way counted."""
    return Resource.of(pod_requests(pod, use_status=True, use_pod_level=True))


def _offered(node: Node) -> Resource:
    return Resource.of(node.status.allocatable or {})


def _fits_when_empty(request: Resource, offered: Resource) -> bool:
    """Whether a node offering this would take the pod if it had no other."""
    if offered.allowed_pod_number < 1:
        return False
    return all(amount <= max(offered.amount_of(name), 0) for name, amount in request.items())


def _asked_names(request: Resource) -> Iterator[str]:
    return (name for name, amount in request.items() if amount)
