"""Which events make it worth trying a pod again that VolumeBinding refused.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/volumebinding (EventsToRegister).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from scheduler_core.api.volumes import as_claim, capacity_limit, migrated_plugins, uses_claim
from scheduler_core.framework.answers import ClusterEventWithHint, QueueingHint
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.plugins.helpers import queue_if

T = TypeVar("T", bound=KubeObject)

_ADD_OR_UPDATE = ActionType.ADD | ActionType.UPDATE


def events_to_register() -> Sequence[ClusterEventWithHint]:
    node_changed = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
    claim_changed = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE)
    capacity_changed = ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE)
    return (
        ClusterEventWithHint(ClusterEvent(EventResource.STORAGE_CLASS, _ADD_OR_UPDATE), _after_class_change),
        ClusterEventWithHint(claim_changed, _after_claim_change),
        ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME, _ADD_OR_UPDATE)),
        ClusterEventWithHint(node_changed),
        ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, _ADD_OR_UPDATE), _after_csi_node_change),
        ClusterEventWithHint(ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE), _after_driver_update),
        ClusterEventWithHint(capacity_changed, _after_capacity_change),
    )


def _before_and_after(cls: type[T], old: KubeObject | None, new: KubeObject | None) -> tuple[T | None, T]:
    """TypeError, which queues the pod, when the event is not about the kind."""
    if not isinstance(new, cls) or not (old is None or isinstance(old, cls)):
        raise TypeError(f"expected a {cls.kind}")
    return old, new


def _after_class_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    before, after = _before_and_after(StorageClass, old, new)
    return queue_if(before is None or (before.allowed_topologies or ()) != (after.allowed_topologies or ()))


def _after_claim_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    claim = as_claim(new)
    return queue_if(claim is not None and uses_claim(pod, claim))


def _after_csi_node_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when another set of in-tree volumes is left to the drivers."""
    before, after = _before_and_after(CSINode, old, new)
    return queue_if(before is None or migrated_plugins(before) != migrated_plugins(after))


def _after_driver_update(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when a driver the pod names stops counting its capacity."""
    before, after = _before_and_after(CSIDriver, old, new)
    stopped = before is not None and bool(before.spec.storage_capacity) and not after.spec.storage_capacity
    named = any(volume.csi is not None and volume.csi.driver == after.name for volume in pod.spec.volumes or ())
    return queue_if(stopped and named)


def _after_capacity_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    before, after = _before_and_after(CSIStorageCapacity, old, new)
    if before is None:
        return QueueingHint.QUEUE
    limit_before, limit = capacity_limit(before), capacity_limit(after)
    return queue_if(limit is not None and (limit_before is None or limit_before < limit))
