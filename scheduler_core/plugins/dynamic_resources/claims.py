"""Which ResourceClaims a pod uses, or why that cannot be said yet.

Source: kubernetes v1.34.1, staging dynamic-resource-allocation/resourceclaim (Name, IsForPod),
pkg/scheduler/framework/plugins/dynamicresources (foreachPodResourceClaim).
"""

from __future__ import annotations

from typing import cast

from scheduler_core.api.derived import controller_of, resource_claim_not_found
from scheduler_core.api.pod import Pod, PodResourceClaim
from scheduler_core.api.resource_claims import ResourceClaim
from scheduler_core.framework.handle import Lister


def claims_of(pod: Pod, lister: Lister) -> list[ResourceClaim] | str:
    """The pod's claims in order of its spec, or the first problem with them."""
    claims: list[ResourceClaim] = []
    for entry in pod.spec.resource_claims or ():
        found = _claim_of(pod, entry, lister)
        if isinstance(found, str):
            return found
        if found is not None:
            claims.append(found)
    return claims


def _claim_of(pod: Pod, entry: PodResourceClaim, lister: Lister) -> ResourceClaim | str | None:
    """The claim of one entry; None when it was generated as none."""
    generated = entry.resource_claim_name is None
    if not generated:
        name = entry.resource_claim_name
    elif entry.resource_claim_template_name is None:
        return f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
    else:
        recorded = next((each for each in pod.status.resource_claim_statuses or () if each.name == entry.name), None)
        if recorded is None:
            return f'pod "{pod.key}": ResourceClaim not created yet'
        name = recorded.resource_claim_name
        if name is None:
            return None
    key = f"{pod.namespace}/{name}"
    claim = cast(ResourceClaim | None, lister.get(ResourceClaim.kind, key))
    if claim is None:
        return resource_claim_not_found(key)
    if claim.metadata.deletion_timestamp is not None:
        return f'resourceclaim "{name}" is being deleted'
    if generated and not _was_made_for(claim, pod):
        return f"ResourceClaim {key} was not created for pod {pod.key} (pod is not owner)"
    return claim


def _was_made_for(claim: ResourceClaim, pod: Pod) -> bool:
    owner = controller_of(claim)
    return owner is not None and owner.uid == pod.uid
