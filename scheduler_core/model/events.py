"""Cluster events: what happened to which kind of object, and whether a plugin registered for it.

Source: kubernetes v1.34.1, pkg/scheduler/framework (ClusterEvent, ActionType, EventResource).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, StrEnum


class ActionType(IntFlag):
    """Bit values are upstream's: matching compares them numerically too."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_POD_LABEL = 128
    UPDATE_POD_SCALE_DOWN = 256
    UPDATE_POD_TOLERATION = 512
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1024
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 2048
    UPDATE = 4092
    ALL = 4095


_ACTION_TEXT = {
    ActionType.ADD: "Add",
    ActionType.DELETE: "Delete",
    ActionType.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    ActionType.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    ActionType.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    ActionType.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    ActionType.UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    ActionType.UPDATE_POD_LABEL: "UpdatePodLabel",
    ActionType.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    ActionType.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    ActionType.UPDATE: "Update",
    ActionType.ALL: "All",
}
_UPDATES = [each for each in ActionType if each & ActionType.UPDATE and each.bit_count() == 1]


def action_texts(action: ActionType) -> tuple[str, ...]:
    """The words for an action, of combined ones several; all updates together are one."""
    if action in _ACTION_TEXT:
        return (_ACTION_TEXT[action],)
    whole = action & ActionType.UPDATE == ActionType.UPDATE
    parts = [ActionType.ADD, ActionType.DELETE, *([ActionType.UPDATE] if whole else _UPDATES)]
    return tuple(_ACTION_TEXT[part] for part in parts if action & part)


class EventResource(StrEnum):
    """Resources an event can be about; AssignedPod and UnschedulablePod are only ever incoming."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULABLE_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_SCHEDULING_CONTEXT = "resource.k8s.io/PodSchedulingContext"
    RESOURCE_CLASS = "resource.k8s.io/ResourceClass"
    WILDCARD = "*"


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """`label` overrides the text in logs and metrics; combined actions have no text of their own."""

    resource: EventResource
    action: ActionType
    custom_label: str = ""

    @property
    def label(self) -> str:
        return self.custom_label or self.resource.value + _ACTION_TEXT.get(self.action, "")

    @property
    def is_wildcard(self) -> bool:
        return self.resource is EventResource.WILDCARD and self.action == ActionType.ALL

    def matches(self, incoming: ClusterEvent) -> bool:
        """Whether a registration of this event wants `incoming`.

        The incoming action must share a bit *and* not be numerically larger, so a generic Update
        never matches a narrow registration.
        """
        if self.is_wildcard:
            return True
        if self.resource is not EventResource.WILDCARD and self.resource is not incoming.resource:
            pods = (EventResource.ASSIGNED_POD, EventResource.UNSCHEDULABLE_POD)
            if not (self.resource is EventResource.POD and incoming.resource in pods):
                return False
        return bool(self.action & incoming.action) and incoming.action <= self.action


# Incoming events that are not changes of an object.
UNSCHEDULABLE_TIMEOUT = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "ForceActivate")
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_Q = "PopFromBackoffQ"

UNSCHEDULABLE_POD_ADD = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.ADD)
UNSCHEDULABLE_POD_UPDATE = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE)
ASSIGNED_POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, ActionType.DELETE)
