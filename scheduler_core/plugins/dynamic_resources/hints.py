"""Which events are worth another try of a pod that waits for claims or devices.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/dynamicresources (EventsToRegister and its hints).
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import ResourceClaim
from scheduler_core.framework.answers import ClusterEventWithHint, QueueingHint
from scheduler_core.framework.handle import Handle
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.plugins.dynamic_resources.claims import claims_of
from scheduler_core.plugins.helpers import as_pod, queue_if


def events_to_register(handle: Handle) -> Sequence[ClusterEventWithHint]:
    change = ActionType.ADD | ActionType.UPDATE
    node_change = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
    own_claims = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)

    def after_claim_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        before, after = _as_claim(old), _as_claim(new)
        claims = claims_of(pod, handle.lister)
        if isinstance(claims, str) or after is None:
            return QueueingHint.SKIP
        if before is not None and before.status.allocation is not None and after.status.allocation is None:
            return QueueingHint.QUEUE  # devices came free, whoever had them
        if all(claim.uid != after.uid for claim in claims):
            return QueueingHint.SKIP
        return queue_if(before is None or before.status != after.status)

    def after_pod_change(pod: Pod, _old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        changed = as_pod(new)
        if changed is None or changed.uid != pod.uid:
            return QueueingHint.SKIP
        return queue_if(not isinstance(claims_of(changed, handle.lister), str))

    return (
        ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_change)),
        ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_CLAIM, change), after_claim_change),
        ClusterEventWithHint(own_claims, after_pod_change),
        ClusterEventWithHint(ClusterEvent(EventResource.DEVICE_CLASS, change)),
        ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_SLICE, change)),
    )


def _as_claim(obj: KubeObject | None) -> ResourceClaim | None:
    """The claim of a claim event; TypeError, which queues the pod, when it is none."""
    if obj is not None and not isinstance(obj, ResourceClaim):
        raise TypeError(f"expected a ResourceClaim, got {obj.kind}")
    return obj
