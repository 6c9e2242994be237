"""Turns the effects of an engine's step into requests: bindings, evictions, pod status, claims, writes of plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from scheduler_core.api import manifests
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import AllocationResult, ResourceClaim
from scheduler_core.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler_core.apiserver.answers import Outcome, Refused
from scheduler_core.apiserver.requests import Bind, Create, Evict, ObjectKey, Patch, ReportUnschedulable, WriteClaim
from scheduler_core.model.changes import PreBindVerdict
from scheduler_core.model.effects import BindingRequest, ClaimVerb, ClaimWrite, EvictionRequest, PodStatusPatch

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


def write_requests(obj: KubeObject) -> list[Create | Patch]:
    """Patches of the version the object was made from; fields the core does not know stay as they are.

    An object without uid is created. What custom plugins write may have a status, which is a request of its own: of the
    version the first one makes.
    """
    manifest = manifests.encode(obj)
    if not obj.uid:
        return [Create(manifest)]
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


def claim_requests(writes: Sequence[ClaimWrite]) -> list[WriteClaim]:
    """One request for each write, to be carried out in one go: what follows a refusal for the same pod is refused."""
    requests: list[WriteClaim] = []
    last: ClaimWrite | None = None
    for write in writes:
        allocation = None if write.allocation is None else _plain(write.allocation)
        requests.append(
            WriteClaim(
                ObjectKey(ResourceClaim.kind, write.namespace, write.claim_name),
                write.verb,
                write.pod_name,
                write.pod_uid,
                allocation,
                uid=write.claim_uid,
                follows_last=last is not None and write.verb is ClaimVerb.RESERVE and _pod_of(last) == _pod_of(write),
            )
        )
        last = write
    return requests


def claim_verdicts(writes: Sequence[ClaimWrite], answers: Sequence[Outcome | Refused]) -> list[PreBindVerdict]:
    """What each pod that waits for its claims hears, in the order of their first writes."""
    verdicts: dict[str, PreBindVerdict] = {}
    for write, answer in zip(writes, answers, strict=True):
        if write.verb is not ClaimVerb.RESERVE:
            continue
        before = verdicts.get(write.pod_uid)
        if before is None or before.done:
            message = answer.status.message if isinstance(answer, Refused) else ""
            verdicts[write.pod_uid] = PreBindVerdict(write.pod_uid, write.plugin, not message, message)
    return list(verdicts.values())


def _pod_of(write: ClaimWrite) -> str:
    """Whose PreBind the write belongs to; no other write depends on the one before it."""
    return write.pod_uid if write.verb is ClaimVerb.RESERVE else ""


def _plain(allocation: AllocationResult) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(allocation))
    return plain
