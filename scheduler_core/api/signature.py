"""The signature of a pod: everything the scheduler reads of it except its identity. Equal signatures: equivalent pods.

The signature covers namespace, labels, the controlling owner, the whole spec but its node name and the names of its
resource claims, whether the pod is being deleted, and those parts of its status that count as requests. It says
nothing of name, uid, annotations, conditions, stamps, or the nominated node. Pods of one template have a claim each: a
rule that looks at claims depends on the cluster, and is asked for each pod. Labels written in another order make
another signature: less is shared then.
"""

from __future__ import annotations

import msgspec

from scheduler_core.api.derived import controller_of
from scheduler_core.api.meta import ResourceList
from scheduler_core.api.pod import (
    ContainerStatusResources,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    ResourceRequirements,
)

Signature = bytes
ClaimNames = tuple[tuple[PodResourceClaim, ...] | None, tuple[PodResourceClaimStatus, ...] | None]

_encoder = msgspec.msgpack.Encoder(enc_hook=str)  # quantities as they were written
_NO_NAMES = (PodResourceClaim(name=""),)  # stands for whatever claims a pod names


def signature(pod: Pod) -> Signature:
    """Equal for two pods only when no rule can tell them apart but by their names."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    if spec.node_name or spec.resource_claims:
        spec = msgspec.structs.replace(spec, node_name="", resource_claims=_NO_NAMES if spec.resource_claims else None)
    owner = controller_of(pod) if meta.owner_references else None
    return _encoder.encode(
        (
            meta.namespace,
            meta.labels,
            spec,
            owner,
            meta.deletion_timestamp is not None,
            _told_resources(pod) if status.container_statuses or status.init_container_statuses else None,
            status.extended_resource_claim_status,
        )
    )


def claim_names(pod: Pod) -> ClaimNames:
    """What pods with one signature may still differ in: which claims are theirs."""
    return pod.spec.resource_claims, pod.status.resource_claim_statuses


def _told_resources(pod: Pod) -> list[object] | None:
    """What container statuses tell of resources that the spec does not say, and of a resize; None when nothing."""
    status = pod.status
    asked = {one.name: one.resources for one in (*pod.spec.containers, *(pod.spec.init_containers or ()))}
    told: list[object] = []
    for one in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        wanted, has = asked.get(one.name), one.resources
        if has is None:
            continue
        if wanted is None or not _is_as_asked(wanted, has, one.allocated_resources):
            told.append((one.name, has, one.allocated_resources))
    if told:
        told += [one.reason for one in status.conditions or () if one.type == "PodResizePending"]
    return told or None


def _is_as_asked(wanted: ResourceRequirements, has: ContainerStatusResources, allocated: ResourceList | None) -> bool:
    requests = wanted.requests or {}
    return (has.requests or {}) == requests and (allocated or requests) == requests
