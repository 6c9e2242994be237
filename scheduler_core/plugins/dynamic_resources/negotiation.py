"""Claims of the older form, which drivers' own controllers allocate: the scheduler negotiates a node with them.

pre_filter    claims of Immediate mode have to be allocated, classes to be there, claims in use to be shareable
filter        keeps to the nodes of the class, and away from those that drivers call unsuitable
pre_score     remembers the nodes that are left
reserve       writes them into the pod's PodSchedulingContext, then the node selected of them; the pod waits (Pending)

Once all claims are allocated they are like today's, and so are pods without claims of the older form.
Behind the feature gate DRAControlPlaneController. Source: kubernetes v1.30,
pkg/scheduler/framework/plugins/dynamicresources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import msgspec
from msgspec.structs import replace

from scheduler_core.api.meta import KubeObject, ObjectMeta, OwnerReference
from scheduler_core.api.older_claims import (
    IMMEDIATE,
    MOST_CONSUMERS,
    MOST_POTENTIAL_NODES,
    PodSchedulingContext,
    PodSchedulingContextSpec,
    PodSchedulingContextStatus,
    ResourceClass,
    is_shareable,
    older_claim,
)
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import ResourceClaim
from scheduler_core.api.selectors import NodeSelectorMatcher, parse_node_selector
from scheduler_core.framework.answers import ClusterEventWithHint, PreFilterResult, QueueingHint
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.dynamic_resources.claims import claims_of
from scheduler_core.plugins.dynamic_resources.plugin import NOT_ON_NODE, DynamicResources
from scheduler_core.plugins.helpers import queue_if

IN_USE: Final = "resourceclaim in use"
UNALLOCATED_IMMEDIATE: Final = "unallocated immediate resourceclaim"
EXCLUDED: Final = "excluded by resource class node filter"
UNSUITABLE: Final = "resourceclaim cannot be allocated for the node (unsuitable)"
WAITS_FOR_INFORMATION: Final = "waiting for resource driver to provide information"
WAITS_FOR_ALLOCATION: Final = "waiting for resource driver to allocate resource"


class PendingClaim(msgspec.Struct, frozen=True):
    """A claim that a driver has to allocate: the pod's entry, the class's nodes, and where drivers cannot."""

    entry: str
    nodes: NodeSelectorMatcher | None
    unsuitable: frozenset[str]
    is_known: bool  # whether a driver has said anything about it


class NegotiationState(msgspec.Struct):
    """The pod's claims that are not allocated, and the nodes left for them, in order of their names."""

    pending: tuple[PendingClaim, ...]
    allocated: tuple[NodeSelectorMatcher, ...]  # where claims can be reached that are allocated to some nodes
    is_mixed: bool  # whether there are claims of today's form too
    context: PodSchedulingContext | None
    potential_nodes: tuple[str, ...] = ()


class NegotiatedResources(DynamicResources):
    """DynamicResources with claims of both forms; it has no table form."""

    filter_nodes = None  # type: ignore[assignment]

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        result, status = super().pre_filter(state, pod, node_infos)
        claims = claims_of(pod, self._handle.lister) if pod.spec.resource_claims else []
        if not status.is_success or isinstance(claims, str):
            return result, status
        context = self._context(pod)
        if context is not None and all(each.uid != pod.uid for each in context.metadata.owner_references or ()):
            text = f"PodSchedulingContext {context.key} of another pod is still there"
            return None, Status.unresolvable(text)
        pending: list[PendingClaim] = []
        allocated: list[NodeSelectorMatcher] = []
        for claim in claims:
            reach = claim.status.allocation.node_selector if claim.status.allocation is not None else None
            if reach is not None:
                allocated.append(parse_node_selector(reach))
            found = self._pending(pod, claim, context)
            if isinstance(found, Status):
                return None, found
            if found is not None:
                pending.append(found)
        is_mixed = any(older_claim(claim) is None for claim in claims)
        state.write(NegotiationState(tuple(pending), tuple(allocated), is_mixed, context))
        return result, status

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        found = state.find(NegotiationState)
        if found is None or found.is_mixed or not found.pending:
            status = super().filter(state, pod, node_info)
            if not status.is_success or found is None:
                return status
        assert node_info.node is not None
        if not all(selector.matches_node(node_info.node) for selector in found.allocated):
            return Status.unresolvable(NOT_ON_NODE)
        for claim in found.pending:
            if claim.nodes is not None and not claim.nodes.matches_node(node_info.node):
                return Status.unresolvable(EXCLUDED)
            if node_info.node.name in claim.unsuitable:
                return Status.unresolvable(UNSUITABLE)
        return SUCCESS

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        found = state.find(NegotiationState)
        if found is not None and found.pending:
            found.potential_nodes = tuple(each.node.name for each in node_infos if each.node is not None)
        return SUCCESS

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        found = state.find(NegotiationState)
        if found is None or not found.pending:
            return super().reserve(state, pod, node_name)
        known = sum(claim.is_known for claim in found.pending)
        # With a single claim nobody else's answer has to be waited for.
        is_selected = len(found.pending) in (1, known)
        context = found.context or _new_context(pod)
        before = context.spec
        nodes = sorted({node_name, *found.potential_nodes[:MOST_POTENTIAL_NODES]})[:MOST_POTENTIAL_NODES]
        if node_name not in nodes:
            nodes[-1] = node_name
        if set(nodes) <= set(before.potential_nodes or ()):
            nodes = list(before.potential_nodes or ())
        spec = PodSchedulingContextSpec(node_name if is_selected else before.selected_node, tuple(nodes))
        if spec != before and not self._handle.observes:
            # The status is the drivers'.
            written = replace(context, spec=spec, status=PodSchedulingContextStatus())
            self._handle.effects.writes.append(written)
        return Status.pending(WAITS_FOR_ALLOCATION if is_selected else WAITS_FOR_INFORMATION)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        change = ActionType.ADD | ActionType.UPDATE
        of_context = ClusterEvent(EventResource.POD_SCHEDULING_CONTEXT, change)
        return (
            *super().events_to_register(),
            ClusterEventWithHint(of_context, self._after_context_change),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_CLASS, change)),
        )

    def _after_context_change(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """Drivers have answered; what the scheduler itself wrote is no news."""
        if not isinstance(new, PodSchedulingContext) or new.key != pod.key:
            return QueueingHint.SKIP
        before = old.status if isinstance(old, PodSchedulingContext) else PodSchedulingContextStatus()
        return queue_if(before != new.status)

    def _pending(
        self, pod: Pod, claim: ResourceClaim, context: PodSchedulingContext | None
    ) -> PendingClaim | Status | None:
        """What is left to be allocated of the claim, nothing, or why the pod cannot use it."""
        asked = older_claim(claim)
        if asked is None:
            return None
        allocation = claim.status.allocation
        if allocation is not None:
            users = claim.status.reserved_for or ()
            is_full = len(users) >= (MOST_CONSUMERS if is_shareable(allocation) else 1)
            return Status.unresolvable(IN_USE) if is_full and all(each.uid != pod.uid for each in users) else None
        if asked.allocation_mode == IMMEDIATE:
            return Status.unresolvable(UNALLOCATED_IMMEDIATE)
        found = cast(ResourceClass | None, self._handle.lister.get(ResourceClass.kind, asked.resource_class_name))
        if found is None:
            return Status.unresolvable(f"resource class {asked.resource_class_name} does not exist")
        entry = _entry_of(pod, claim)
        answers = context.status.resource_claims or () if context is not None else ()
        answer = next((each for each in answers if each.name == entry), None)
        return PendingClaim(
            entry,
            parse_node_selector(found.suitable_nodes) if found.suitable_nodes is not None else None,
            frozenset(answer.unsuitable_nodes or ()) if answer is not None else frozenset(),
            answer is not None,
        )

    def _context(self, pod: Pod) -> PodSchedulingContext | None:
        return cast(PodSchedulingContext | None, self._handle.lister.get(PodSchedulingContext.kind, pod.key))


def _new_context(pod: Pod) -> PodSchedulingContext:
    owner = OwnerReference(Pod.api_version, Pod.kind, pod.name, pod.uid, controller=True)
    return PodSchedulingContext(metadata=ObjectMeta(pod.name, namespace=pod.namespace, owner_references=(owner,)))


def _entry_of(pod: Pod, claim: ResourceClaim) -> str:
    """The entry of the pod that names the claim."""
    made = {each.resource_claim_name: each.name for each in pod.status.resource_claim_statuses or ()}
    given = {each.resource_claim_name: each.name for each in pod.spec.resource_claims or ()}
    return (made | given).get(claim.name, "")
