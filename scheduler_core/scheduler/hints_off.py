"""Older form: how cluster events reach the queue when queueing hints are off.

With no hints to ask, what an event can do is judged beforehand: an assigned pod concerns those that count their
neighbours, a node those it would admit, a storage class only when it binds late.
Source: kubernetes v1.34.1, pkg/scheduler/eventhandlers.go (preCheckForNode, AdmissionCheck).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.selectors import required_node_affinity
from scheduler_core.api.storage import StorageClass
from scheduler_core.cache.cache import Cache
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.types import PodInfo, Resource
from scheduler_core.queue.scheduling_queue import SchedulingQueue

_HARD_EFFECTS = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class WithoutHints:
    """The queue without queueing hints; nodes are looked up in the cache."""

    queue: SchedulingQueue
    cache: Cache

    def move_all(
        self,
        event: ClusterEvent,
        old: KubeObject | None,
        new: KubeObject | None,
        now: int,
        pre_check: Callable[[Pod], bool] | None,
    ) -> None:
        """Let the waiting pods this event may help try again."""
        queue = self.queue
        if event.resource is EventResource.ASSIGNED_POD and event.action == ActionType.ADD:
            queue.assigned_pod_added(cast(Pod, new), now)
            return
        if event.resource is EventResource.ASSIGNED_POD and event.action != ActionType.DELETE:
            queue.assigned_pod_updated(cast(Pod, old), cast(Pod, new), event, now)
            return
        if isinstance(new, Node):
            info = self.cache.items[new.name].info
            queue.move_all_to_active_or_backoff_queue(event, old, new, now, lambda pod: admits(info, pod))
            return
        if (
            event.action == ActionType.ADD
            and isinstance(new, StorageClass)
            and new.volume_binding_mode != "WaitForFirstConsumer"
        ):
            return
        queue.move_all_to_active_or_backoff_queue(event, old, new, now, pre_check)


def admits(info: NodeInfo, pod: Pod) -> bool:
    """Whether the node as it is would take the pod: room, affinity, name, ports and taints."""
    node = info.node
    if node is None:
        return False
    pod_info = PodInfo.of(pod)
    return (
        len(info.pods) < info.allocatable.allowed_pod_number
        and _fits(pod_info.request, info.allocatable, info.requested)
        and required_node_affinity(pod).matches_node(node)
        and pod.spec.node_name in ("", node.name)
        and not info.conflicts_with_ports(pod_info.host_ports)
        and all(
            any(toleration.tolerates(taint) for toleration in pod.spec.tolerations or ())
            for taint in node.taints
            if taint.effect in _HARD_EFFECTS
        )
    )


def _fits(request: Resource, allocatable: Resource, requested: Resource) -> bool:
    """A request of zero fits however full the node is."""
    return all(
        amount <= max(allocatable.amount_of(name) - requested.amount_of(name), 0) for name, amount in request.items()
    )
