"""Turns the effects of an engine's step into requests: bindings, evictions, pod status, writes of plugins."""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.apiserver.requests import Bind, Evict, ObjectKey, Patch, ReportUnschedulable
from scheduler_core.model.effects import BindingRequest, EvictionRequest, PodStatusPatch

PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"

# The fields VolumeBinding writes; of other kinds, which custom plugins write, everything but identity.
_WRITTEN: Final = {
    PersistentVolume.kind: (("metadata", "annotations"), ("spec", "claimRef")),
    PersistentVolumeClaim.kind: (("metadata", "annotations"),),
}
_NOT_WRITTEN: Final = ("apiVersion", "kind", "metadata", "status")
_LABELS_AND_ANNOTATIONS: Final = (("metadata", "labels"), ("metadata", "annotations"))


def bind_request(binding: BindingRequest) -> Bind:
    return Bind(ObjectKey(Pod.kind, binding.namespace, binding.name), binding.node_name, binding.pod_uid)


def evict_request(eviction: EvictionRequest) -> Evict:
    key = ObjectKey(Pod.kind, eviction.namespace, eviction.name)
    return Evict(key, PREEMPTION_BY_SCHEDULER, eviction.message, eviction.pod_uid)


def status_request(patch: PodStatusPatch) -> ReportUnschedulable:
    condition = (patch.condition_status, patch.reason, patch.message) if patch.condition_status else None
    key = ObjectKey(Pod.kind, patch.namespace, patch.name)
    return ReportUnschedulable(key, condition, patch.nominated_node_name, patch.pod_uid)


def write_requests(obj: KubeObject) -> list[Patch]:
    """Patches of the version the object was made from; fields the core does not know stay as they are.

    What custom plugins write may have a status, which is a request of its own: of the version the first one makes.
    """
    manifest = manifests.encode(obj)
    fields = _WRITTEN.get(obj.kind)
    body: dict[str, Any] = {}
    if fields is None:
        body = {name: value for name, value in manifest.items() if name not in _NOT_WRITTEN}
    for section, name in fields or _LABELS_AND_ANNOTATIONS:
        if name in manifest.get(section, {}):
            body.setdefault(section, {})[name] = manifest[section][name]
    key = ObjectKey(obj.kind, obj.namespace, obj.name)
    written = Patch(key, body, uid=obj.uid, resource_version=obj.metadata.resource_version)
    if fields is not None or not manifest.get("status"):
        return [written]
    return [written, Patch(key, {"status": manifest["status"]}, uid=obj.uid, subresource="status")]
