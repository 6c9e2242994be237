"""Pods wait for their resource claims, and run where what was allocated for these can be reached.

pre_enqueue   keeps out pods whose claims are not there yet
pre_filter    refuses pods whose claims cannot be used; skips pods without claims
filter        an allocated claim may be bound to some nodes; nothing is allocated here, so one that is not refuses all
post_filter   has nothing to give back; of a cycle that ended before pre_filter it knows nothing and fails

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/dynamicresources
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import DeviceClass, ResourceClaim
from scheduler_core.api.selectors import parse_node_selector
from scheduler_core.config import names
from scheduler_core.config.types import DynamicResourcesArgs
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.interface import (
    ClusterEventWithHint,
    DependsOn,
    Handle,
    NominatingInfo,
    PreFilterResult,
    QueueingHint,
)
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import NodeToStatus
from scheduler_core.plugins.dynamic_resources.claims import claims_of
from scheduler_core.plugins.helpers import as_pod, check_args, queue_if

NO_STATE = "not found"
NO_CLAIMS = "no new claims to deallocate"
STILL_NOT = "still not schedulable"
CANNOT_ALLOCATE = "cannot allocate all claims"
NOT_ON_NODE = "resourceclaim not available on the node"


class ClaimsState(msgspec.Struct, frozen=True):
    """The pod's claims as PreFilter found them; written before anything is checked."""

    claims: tuple[ResourceClaim, ...] = ()


class DynamicResources:
    name = names.DYNAMIC_RESOURCES

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        check_args(args or DynamicResourcesArgs())
        self._handle = handle

    def pre_enqueue(self, pod: Pod) -> Status:
        claims = claims_of(pod, self._handle.lister)
        return Status.unresolvable(claims) if isinstance(claims, str) else SUCCESS

    def depends_on(self, pod: Pod) -> DependsOn | None:
        return None if pod.spec.resource_claims else DependsOn.POD

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        claims = claims_of(pod, self._handle.lister)
        if isinstance(claims, str):
            state.write(ClaimsState())
            return None, Status.unresolvable(claims)
        state.write(ClaimsState(tuple(claims)))
        if not claims:
            return None, SKIP
        for claim in claims:
            if claim.status.allocation is None:
                status = self._unusable_requests(claim)
                if status is not None:
                    return None, status
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        claims = state.read(ClaimsState).claims
        if any(claim.status.allocation is None for claim in claims):
            return Status.unresolvable(CANNOT_ALLOCATE)
        if all(_reaches(claim, node_info) for claim in claims):
            return SUCCESS
        return Status.unresolvable(NOT_ON_NODE)

    def post_filter(
        self, state: CycleState, pod: Pod, node_to_status: NodeToStatus
    ) -> tuple[NominatingInfo | None, Status]:
        found = state.find(ClaimsState)
        if found is None:
            # Another plugin's PreFilter ended the cycle first: upstream fails here, and no later plugin is asked.
            return None, Status.failed(NO_STATE)
        return None, Status.unschedulable(STILL_NOT if found.claims else NO_CLAIMS)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        change = ActionType.ADD | ActionType.UPDATE
        node_change = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        own_claims = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_change)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_CLAIM, change), self._after_claim_change),
            ClusterEventWithHint(own_claims, self._after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.DEVICE_CLASS, change)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_SLICE, change)),
        )

    def _unusable_requests(self, claim: ResourceClaim) -> Status | None:
        for name, device_class in _classes_wanted(claim):
            if device_class is None:
                return Status.unresolvable(f"resource claim {claim.key}, request {name}: unknown request type")
            if not device_class:
                return Status.failed(f"request {name}: unsupported request type")
            if self._handle.lister.get(DeviceClass.kind, device_class) is None:
                return Status.unresolvable(f"request {name}: device class {device_class} does not exist")
        return None

    def _after_claim_change(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        before, after = _as_claim(old), _as_claim(new)
        claims = claims_of(pod, self._handle.lister)
        if isinstance(claims, str) or after is None:
            return QueueingHint.SKIP
        if before is not None and before.status.allocation is not None and after.status.allocation is None:
            return QueueingHint.QUEUE  # devices came free, whoever had them
        if all(claim.uid != after.uid for claim in claims):
            return QueueingHint.SKIP
        return queue_if(before is None or before.status != after.status)

    def _after_pod_change(self, pod: Pod, _old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        changed = as_pod(new)
        if changed is None or changed.uid != pod.uid:
            return QueueingHint.SKIP
        return queue_if(not isinstance(claims_of(changed, self._handle.lister), str))


def _classes_wanted(claim: ResourceClaim) -> Iterator[tuple[str, str | None]]:
    """(request, device class) of every request and alternative; no class for a request of unknown kind."""
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            yield request.name, request.exactly.device_class_name
        elif request.first_available:
            for alternative in request.first_available:
                yield f"{request.name}/{alternative.name}", alternative.device_class_name
        else:
            yield request.name, None


def _reaches(claim: ResourceClaim, node_info: NodeInfo) -> bool:
    selector = claim.status.allocation.node_selector if claim.status.allocation is not None else None
    return selector is None or node_info.node is None or parse_node_selector(selector).matches_node(node_info.node)


def _as_claim(obj: KubeObject | None) -> ResourceClaim | None:
    """The claim of a claim event; TypeError, which queues the pod, when it is none."""
    if obj is not None and not isinstance(obj, ResourceClaim):
        raise TypeError(f"expected a ResourceClaim, got {obj.kind}")
    return obj
