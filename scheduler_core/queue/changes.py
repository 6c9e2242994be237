"""What an update means for scheduling: the events a pod's or a node's new state stands for, in upstream's order.

Quantities compare by value, absent and empty are equal. A pod change nobody schedules by is a generic Update; a node
change nobody schedules by is no event at all.
Source: kubernetes v1.34.1, pkg/scheduler/framework/events.go; scheduling_queue.go (isPodUpdated).
"""

from __future__ import annotations

import msgspec

from scheduler_core.api import resources
from scheduler_core.api.meta import ResourceList
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod, PodStatus
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource


def pod_change_events(old: Pod | None, new: Pod) -> list[ClusterEvent]:
    """At least one event; the resource follows whether the new pod is assigned."""
    resource = EventResource.ASSIGNED_POD if new.is_assigned else EventResource.UNSCHEDULABLE_POD
    actions = _pod_actions(old, new) if old is not None else []
    return [ClusterEvent(resource, action) for action in actions or [ActionType.UPDATE]]


def node_change_events(old: Node, new: Node) -> list[ClusterEvent]:
    """One event per kind of change; uncordoning counts as a change of taints, so that one may come twice."""
    actions = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if (old.status.allocatable or {}) != (new.status.allocatable or {}):
        actions.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if old.labels != new.labels:
        actions.append(ActionType.UPDATE_NODE_LABEL)
    if old.taints != new.taints:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if _condition_statuses(old) != _condition_statuses(new):
        actions.append(ActionType.UPDATE_NODE_CONDITION)
    if old.annotations != new.annotations:
        actions.append(ActionType.UPDATE_NODE_ANNOTATION)
    return [ClusterEvent(EventResource.NODE, action) for action in actions]


def is_pod_updated(old: Pod | None, new: Pod) -> bool:
    """Older form: whether anything but the status and the store's own stamps differs."""
    return old is None or _bare(old) != _bare(new)


def _pod_actions(old: Pod, new: Pod) -> list[ActionType]:
    actions = []
    if old.labels != new.labels:
        actions.append(ActionType.UPDATE_POD_LABEL)
    if _is_scaled_down(old, new):
        actions.append(ActionType.UPDATE_POD_SCALE_DOWN)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        actions.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(old.spec.tolerations or ()) != len(new.spec.tolerations or ()):
        actions.append(ActionType.UPDATE_POD_TOLERATION)
    if (old.status.resource_claim_statuses or ()) != (new.status.resource_claim_statuses or ()):
        actions.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    return actions


def _is_scaled_down(old: Pod, new: Pod) -> bool:
    if old.spec is new.spec and old.status is new.status:
        return False
    new_requests = _requests(new)
    for name, quantity in _requests(old).items():
        left = new_requests.get(name)
        if left is None or left.milli_value() < quantity.milli_value():
            return True
    return False


def _requests(pod: Pod) -> ResourceList:
    return resources.pod_requests(pod, use_status=True, use_pod_level=True)


def _condition_statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions or ()}


def _bare(pod: Pod) -> Pod:
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(pod.metadata, resource_version="", generation=0, finalizers=None),
        status=PodStatus(resource_claim_statuses=pod.status.resource_claim_statuses),
    )
