"""What a change means: into the store, into the cache, and which pods it may help.

Succeeded and Failed pods are invisible: reaching such a phase looks like a deletion. A namesake with
another uid is the deletion of the old object and the arrival of a new one.
Source: kubernetes v1.34.1, pkg/scheduler/eventhandlers.go.
"""

from __future__ import annotations

from typing import cast

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.cache.cache import CacheError
from scheduler_core.model.changes import (
    BindingVerdict,
    Change,
    EvictionVerdict,
    ObjectDeleted,
    ObjectPut,
    PermitVerdict,
    PreBindVerdict,
)
from scheduler_core.model.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    ActionType,
    ClusterEvent,
    EventResource,
)
from scheduler_core.queue.changes import node_change_events, pod_change_events
from scheduler_core.scheduler import binding_cycle
from scheduler_core.scheduler.engine import Engine
from scheduler_core.scheduler.observing import compare_binding
from scheduler_core.scheduler.recent import BINDING

# Other kinds pods may wait for, by kind.
_RESOURCES = {
    "PersistentVolume": EventResource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": EventResource.PERSISTENT_VOLUME_CLAIM,
    "CSINode": EventResource.CSI_NODE,
    "CSIDriver": EventResource.CSI_DRIVER,
    "CSIStorageCapacity": EventResource.CSI_STORAGE_CAPACITY,
    "StorageClass": EventResource.STORAGE_CLASS,
    "VolumeAttachment": EventResource.VOLUME_ATTACHMENT,
    "ResourceClaim": EventResource.RESOURCE_CLAIM,
    "ResourceSlice": EventResource.RESOURCE_SLICE,
    "DeviceClass": EventResource.DEVICE_CLASS,
    "PodSchedulingContext": EventResource.POD_SCHEDULING_CONTEXT,
    "ResourceClass": EventResource.RESOURCE_CLASS,
}


def apply_change(engine: Engine, change: Change) -> None:
    """Take over one change."""
    match change:
        case ObjectPut(obj=obj):
            _put(engine, obj)
        case ObjectDeleted():
            key = f"{change.namespace}/{change.name}" if change.namespace else change.name
            old = engine.store.remove(change.kind, key, change.uid)
            if old is not None:
                _deleted(engine, old)
        case BindingVerdict():
            binding_cycle.on_binding_verdict(engine, change)
        case PermitVerdict():
            binding_cycle.on_permit_verdict(engine, change)
        case PreBindVerdict():
            binding_cycle.on_pre_bind_verdict(engine, change)
        case EvictionVerdict():
            for plugin in engine.eviction_observers():
                plugin.evictions_done(change)


def event_label(engine: Engine, change: Change) -> str:
    """What metrics call the change that comes now; verdicts have no name there."""
    if isinstance(change, ObjectPut):
        kind, obj = change.obj.kind, change.obj
        old = engine.store.get(kind, obj.key)
        action = ActionType.ADD if old is None else ActionType.UPDATE
        assigned = isinstance(obj, Pod) and obj.is_assigned
    elif isinstance(change, ObjectDeleted):
        kind, action = change.kind, ActionType.DELETE
        key = f"{change.namespace}/{change.name}" if change.namespace else change.name
        gone = engine.store.get(kind, key) if kind == Pod.kind else None
        assigned = isinstance(gone, Pod) and gone.is_assigned
    else:
        return ""
    if kind == Pod.kind:
        resource = EventResource.ASSIGNED_POD if assigned else EventResource.UNSCHEDULABLE_POD
    elif kind == Node.kind:
        resource = EventResource.NODE
    elif kind in _RESOURCES:
        resource = _RESOURCES[kind]
    else:
        return ""
    return ClusterEvent(resource, action).label


def _put(engine: Engine, obj: KubeObject) -> None:
    if isinstance(obj, Pod):
        _put_pod(engine, obj)
        return
    old = engine.store.put(obj)
    engine.note_change(obj.kind, old, obj)
    if isinstance(obj, Node):
        _put_node(engine, cast(Node | None, old), obj)
    elif obj.kind in _RESOURCES:
        action = ActionType.ADD if old is None else ActionType.UPDATE
        engine.move_all(ClusterEvent(_RESOURCES[obj.kind], action), old, obj)


def _deleted(engine: Engine, old: KubeObject) -> None:
    if isinstance(old, Pod):
        _delete_pod(engine, old)
        return
    engine.note_change(old.kind, old, None)
    if isinstance(old, Node):
        # Pods are moved while the node is still in the cache, as upstream does.
        engine.move_all(NODE_DELETE, old, None)
        with engine.log_cache_errors("Scheduler cache RemoveNode failed"):
            engine.cache.remove_node(old)
    elif old.kind in _RESOURCES:
        engine.move_all(ClusterEvent(_RESOURCES[old.kind], ActionType.DELETE), old, None)


def _put_node(engine: Engine, old: Node | None, new: Node) -> None:
    if old is None:
        engine.cache.add_node(new)
        engine.move_all(NODE_ADD, None, new)
        return
    engine.cache.update_node(old, new)
    for event in node_change_events(old, new):
        engine.move_all(event, old, new)


def _put_pod(engine: Engine, new: Pod) -> None:
    if new.is_terminal:
        old = engine.store.remove(Pod.kind, new.key)
        if old is not None:
            _delete_pod(engine, cast(Pod, old))
        return
    old = cast(Pod | None, engine.store.get(Pod.kind, new.key))
    if old is not None and old.uid != new.uid:
        engine.store.remove(Pod.kind, new.key)
        _delete_pod(engine, old)
        old = None
    if engine.observer is not None and old is not None and new.is_assigned and not old.is_assigned:
        compare_binding(engine, old, new.spec.node_name)
    engine.store.put(new)
    if old is None:
        _add_pod(engine, new)
    elif old.is_assigned and new.is_assigned:
        engine.note_change(Pod.kind, old, new)
        with engine.log_cache_errors("Scheduler cache UpdatePod failed"):
            engine.cache.update_pod(old, new)
        for event in pod_change_events(old, new):
            engine.move_all(event, old, new)
    elif new.is_assigned:
        # Two handlers upstream: the assigned one first, then the one that sees the pod leave the queue's world.
        engine.note_change(BINDING if new.spec.scheduler_name in engine.frameworks else Pod.kind, None, new)
        _add_assigned_pod(engine, new)
        _leave_queue(engine, old)
    elif old.is_assigned:
        # No API server lets a pod lose its node; taken as what it amounts to.
        _delete_assigned_pod(engine, old)
        _add_pod(engine, new)
    else:
        _update_unscheduled_pod(engine, old, new)


def _add_pod(engine: Engine, pod: Pod) -> None:
    if pod.is_assigned:
        engine.note_change(Pod.kind, None, pod)
        _add_assigned_pod(engine, pod)
    elif pod.spec.scheduler_name in engine.frameworks:
        node_name = engine.restored_bindings.pop(pod.uid, None)
        attempts = engine.restored_attempts.pop(pod.uid, 0)
        if node_name is None:
            engine.queue.add(pod, engine.now, attempts)
        else:
            binding_cycle.restore(engine, pod, node_name, attempts)


def _add_assigned_pod(engine: Engine, pod: Pod) -> None:
    engine.restored_bindings.pop(pod.uid, None)
    try:
        engine.cache.add_pod(pod)
    except CacheError as error:
        engine.log("Scheduler cache AddPod failed", {"err": str(error)})
    if engine.observer is None:  # which assumes nothing that could be confirmed
        engine.note_cache_move("confirmed", pod, pod.spec.node_name)
    engine.move_all(ASSIGNED_POD_ADD, None, pod)


def _update_unscheduled_pod(engine: Engine, old: Pod, new: Pod) -> None:
    if new.spec.scheduler_name not in engine.frameworks:
        return
    version = new.metadata.resource_version
    if version and version == old.metadata.resource_version:
        return
    if engine.is_assumed(new):
        return
    engine.queue.update(old, new, engine.now)
    nominated = old.status.nominated_node_name
    if nominated and nominated != new.status.nominated_node_name:
        _offer_room_of(engine, old)


def _delete_pod(engine: Engine, old: Pod) -> None:
    if old.is_assigned:
        _delete_assigned_pod(engine, old)
    else:
        _leave_queue(engine, old)


def _delete_assigned_pod(engine: Engine, old: Pod) -> None:
    engine.note_change(Pod.kind, old, None)
    with engine.log_cache_errors("Scheduler cache RemovePod failed"):
        engine.cache.remove_pod(old)
    engine.move_all(ASSIGNED_POD_DELETE, old, None)


def _leave_queue(engine: Engine, old: Pod) -> None:
    """An unscheduled pod was deleted or became assigned."""
    if old.spec.scheduler_name not in engine.frameworks:
        return
    engine.queue.delete(old, engine.now)
    if binding_cycle.on_waiting_pod_removed(engine, old.uid):
        engine.move_all(ASSIGNED_POD_DELETE, old, None)
    elif old.status.nominated_node_name:
        _offer_room_of(engine, old)


def _offer_room_of(engine: Engine, nominated: Pod) -> None:
    """A pod gave up its nomination: pods that were not allowed to take its room may try."""
    engine.move_all(ASSIGNED_POD_DELETE, nominated, None, lambda other: other.priority <= nominated.priority)
