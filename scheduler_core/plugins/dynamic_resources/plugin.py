"""Pods wait for their resource claims, and run where the devices of these are, or can be allocated.

pre_enqueue   keeps out pods whose claims are not there yet
pre_filter    refuses pods whose claims cannot be used; skips pods without claims
filter        allocated claims must be reachable from the node; for the others the allocator finds devices for the node
post_filter   gives back a claim that only this pod uses, when that kept it from a node
reserve       decides on the devices: until they are stored nobody else gets them
pre_bind      has the allocations and the reservations for the pod written, and waits for that

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/dynamicresources
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, cast

import msgspec
import numpy as np

from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.resource_claims import AllocationResult, ResourceClaim
from scheduler_core.api.selectors import NodeSelectorMatcher, parse_node_selector
from scheduler_core.config import names
from scheduler_core.config.types import DynamicResourcesArgs
from scheduler_core.framework.answers import (
    ClusterEventWithHint,
    NominatingInfo,
    PreBindWork,
    PreFilterResult,
    RowIndex,
    RowVerdicts,
)
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.effects import ClaimVerb, ClaimWrite, DeviceRecord, FilterRows
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Code, Status
from scheduler_core.model.types import NodeToStatus
from scheduler_core.plugins.dynamic_resources import hints
from scheduler_core.plugins.dynamic_resources.account import allocated_devices, refusing_nodes, shortage
from scheduler_core.plugins.dynamic_resources.allocator import TimedOutError
from scheduler_core.plugins.dynamic_resources.claims import claims_of
from scheduler_core.plugins.dynamic_resources.pools import PoolError
from scheduler_core.plugins.dynamic_resources.requests import AllocationError, classes_wanted
from scheduler_core.plugins.dynamic_resources.reservations import Reservation
from scheduler_core.plugins.dynamic_resources.tracker import ClaimTracker
from scheduler_core.plugins.dynamic_resources.verdicts import CANNOT_ALLOCATE, REFUSALS, TIMED_OUT, NodeVerdicts
from scheduler_core.plugins.helpers import check_args, refuse_all
from scheduler_core.table.node_table import NodeTable

NO_STATE = "not found"
NO_CLAIMS = "no new claims to deallocate"
DEALLOCATED = "deallocation of ResourceClaim completed"
STILL_NOT = "still not schedulable"
NOT_ON_NODE = "resourceclaim not available on the node"
NO_ALLOCATION = "claim allocation not found for node"

# The time-out is one of steps, so that equal inputs give equal decisions: a search takes about so many steps in a
# second.
STEPS_PER_SECOND: Final = 500_000
_MICROSECONDS: Final = 1_000_000
_WAIT = Status(Code.Wait)
_NOT_ON_NODE: Final = Status.unresolvable(NOT_ON_NODE)
_UNREACHABLE: Final = len(REFUSALS) + 1
_FEWEST_PRUNED: Final = 64


class ClaimsState(msgspec.Struct, frozen=True):
    """The pod's claims as PreFilter found them, none unless it got to its end.

    `selectors`: from where the allocated ones can be reached, None from everywhere; `unallocated`: the others.
    """

    claims: tuple[ResourceClaim, ...] = ()
    selectors: tuple[NodeSelectorMatcher | None, ...] = ()
    unallocated: tuple[ResourceClaim, ...] = ()

    def unavailable_on(self, node: Node) -> list[int]:
        """The allocated claims, by index, that cannot be reached from the node."""
        return [
            index
            for index, selector in enumerate(self.selectors)
            if selector is not None and not selector.matches_node(node)
        ]


_NO_CLAIMS: Final = ClaimsState()


class DynamicResources:
    name = names.DYNAMIC_RESOURCES

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        args = args or DynamicResourcesArgs()
        check_args(args)
        self._handle = handle
        timeout = args.filter_timeout.us
        self._max_steps = timeout * STEPS_PER_SECOND // _MICROSECONDS if timeout else None
        self._reservations: dict[str, Reservation] = {}  # by pod uid
        self._prune_at = _FEWEST_PRUNED

    # Made when the first pod comes: only then does the engine stand.

    @cached_property
    def _tracker(self) -> ClaimTracker:
        return ClaimTracker.of(self._handle)

    @cached_property
    def _verdicts(self) -> NodeVerdicts:
        return NodeVerdicts(self._handle.lister, self._tracker, self._max_steps)

    def pre_enqueue(self, pod: Pod) -> Status:
        claims = claims_of(pod, self._handle.lister)
        return Status.unresolvable(claims) if isinstance(claims, str) else SUCCESS

    def depends_on(self, pod: Pod) -> DependsOn | None:
        return DependsOn.CLUSTER if pod.spec.resource_claims else DependsOn.POD

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        state.write(_NO_CLAIMS)
        if not pod.spec.resource_claims:
            return None, SKIP
        claims = claims_of(pod, self._handle.lister)
        if isinstance(claims, str):
            return None, Status.unresolvable(claims)
        if not claims:
            return None, SKIP
        self._tracker.refresh()
        selectors: list[NodeSelectorMatcher | None] = []
        for claim in claims:
            allocation = claim.status.allocation
            selector = allocation.node_selector if allocation is not None else None
            selectors.append(parse_node_selector(selector) if selector is not None else None)
            problem = self._problem_of(claim, selectors[-1])
            if problem is not None:
                return None, problem
        unallocated = tuple(claim for claim in claims if claim.status.allocation is None)
        state.write(ClaimsState(tuple(claims), tuple(selectors), unallocated))
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        found = state.find(ClaimsState)
        if found is None:
            return Status.failed(NO_STATE)
        if not found.claims:
            return SUCCESS
        assert node_info.node is not None
        if found.unallocated:
            status = self._verdicts.of_node(found.unallocated, node_info.node)
            if not status.is_success:
                return status
        return _NOT_ON_NODE if found.unavailable_on(node_info.node) else SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        found = state.find(ClaimsState)
        if found is None:
            return refuse_all(table, rows, Status.failed(NO_STATE))
        if not found.claims:
            return None
        asked = np.arange(table.n_rows)[rows] if isinstance(rows, slice) else rows
        statuses: list[Status] = [*REFUSALS, _NOT_ON_NODE]
        if found.unallocated:
            codes = self._verdicts.of_rows(found.unallocated, table, asked, statuses)
        else:
            codes = np.zeros(len(asked), dtype=np.uint16)
        if any(selector is not None for selector in found.selectors):
            for place in np.flatnonzero(codes == 0).tolist():
                node_info = table.node_infos[asked[place]]
                if node_info is not None and node_info.node is not None and found.unavailable_on(node_info.node):
                    codes[place] = _UNREACHABLE
        return RowVerdicts(codes, statuses) if np.count_nonzero(codes) else None

    def allocations_on(self, state: CycleState, node: Node) -> tuple[AllocationResult, ...] | None:
        """What Filter finds for the claims that are not allocated yet, None when it refuses the node.

        Raises AllocationError, PoolError and TimedOutError.
        """
        found = state.find(ClaimsState)
        return self._verdicts.results_on(found.unallocated, node) if found is not None and found.unallocated else None

    def post_filter(
        self, state: CycleState, pod: Pod, node_to_status: NodeToStatus
    ) -> tuple[NominatingInfo | None, Status]:
        found = state.find(ClaimsState)
        if found is None:
            # Another plugin's PreFilter ended the cycle first: upstream fails here, and no later plugin is asked.
            return None, Status.failed(NO_STATE)
        if not found.claims:
            return None, Status.unschedulable(NO_CLAIMS)
        for claim in self._to_give_back(found, pod, node_to_status):
            if not self._handle.observes:
                key = (pod.namespace, claim.name, claim.uid, claim.metadata.resource_version)
                write = ClaimWrite(ClaimVerb.DEALLOCATE, *key, pod.uid, pod.name, self.name)
                self._handle.effects.claim_writes.append(write)
            return None, Status.unschedulable(DEALLOCATED)
        return None, Status.unschedulable(STILL_NOT)

    def unavailable_claims(self, state: CycleState, node_to_status: NodeToStatus) -> Iterator[ResourceClaim]:
        """Allocated claims that kept the pod from a node that nothing else refused."""
        found = state.find(ClaimsState) or _NO_CLAIMS
        indices: set[int] = set()
        for name, status in node_to_status.items():
            node_info = self._handle.snapshot.get(name)
            if status.plugin == self.name and NOT_ON_NODE in status.reasons and node_info is not None:
                assert node_info.node is not None
                indices.update(found.unavailable_on(node_info.node))
        return (found.claims[index] for index in sorted(indices))

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        found = state.find(ClaimsState)
        if found is None:
            return Status.failed(NO_STATE)
        if not found.claims:
            return SUCCESS
        reservation = Reservation.of(pod, found.claims)
        if found.unallocated:
            results = self._results_for(found, node_name)
            if isinstance(results, Status):
                return results
            left = iter(results)
            for claim, held in zip(found.claims, reservation.claims, strict=True):
                if claim.status.allocation is None:
                    held.allocation = next(left)
                    self._tracker.begin(claim.uid, held.allocation)
        self._reservations[pod.uid] = reservation
        if len(self._reservations) >= self._prune_at:
            self._prune()
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        reservation = self._reservations.pop(pod.uid, None)
        if reservation is None:
            return
        for claim in reservation.claims:
            if claim.allocation is not None:
                self._tracker.end(claim.uid)
        self._handle.effects.claim_writes.extend(reservation.releases(self.name, self._claim))

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, PreBindWork | None]:
        reservation = self._reservations.get(pod.uid)
        if reservation is None:
            found = state.find(ClaimsState) or _NO_CLAIMS
            if not found.claims:
                return SUCCESS, None
            # Reserve is switched off.
            reservation = self._reservations[pod.uid] = Reservation.of(pod, found.claims)
        writes = reservation.writes(self.name)
        return SUCCESS, PreBindWork(awaits=True, claim_writes=writes) if writes else None

    def pre_bind_done(self, pod: Pod, node_name: str) -> Status:
        """Success once all claims are stored as reserved for the pod, Wait before."""
        reservation = self._reservations.get(pod.uid)
        return SUCCESS if reservation is None or reservation.is_written(self._claim) else _WAIT

    def account(
        self, state: CycleState, pod: Pod, rows: FilterRows | None, infos: Sequence[NodeInfo]
    ) -> DeviceRecord | None:
        """Which devices the pod got, or what became of all where it found too few."""
        found = state.find(ClaimsState)
        if found is None or not found.unallocated:
            return None
        reservation = self._reservations.get(pod.uid)
        if reservation is not None:
            return DeviceRecord(allocated_devices(reservation))
        refusing = [] if rows is None else refusing_nodes(rows, infos, self.name, CANNOT_ALLOCATE)
        return shortage(found.unallocated, refusing, self._tracker) if refusing else None

    def dump_state(self) -> Any:
        """Reservations, with the allocations on their way."""
        self._prune()
        return [reservation.dump() for reservation in self._reservations.values()]

    def load_state(self, state: Any) -> None:
        tracker = self._tracker
        for dumped in state:
            reservation = Reservation.load(dumped)
            self._reservations[reservation.pod_uid] = reservation
            for claim in reservation.claims:
                stored = self._claim(f"{reservation.namespace}/{claim.name}")
                if claim.allocation is not None and stored is not None and stored.status.allocation is None:
                    tracker.begin(claim.uid, claim.allocation)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return hints.events_to_register(self._handle)

    def _problem_of(self, claim: ResourceClaim, selector: NodeSelectorMatcher | None) -> Status | None:
        """Why the claim cannot be used in this cycle."""
        if claim.status.allocation is not None:
            if selector is not None and selector.errors:
                return Status.failed(", ".join(selector.errors))
            return None
        if claim.uid in self._tracker.in_flight:
            return Status.unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        for name, device_class in classes_wanted(claim):
            if device_class is None:
                return Status.unresolvable(f"resource claim {claim.key}, request {name}: unknown request type")
            if not device_class:
                return Status.failed(f"request {name}: unsupported request type")
            if self._tracker.class_of(device_class) is None:
                return Status.unresolvable(f"request {name}: device class {device_class} does not exist")
        return None

    def _results_for(self, found: ClaimsState, node_name: str) -> tuple[AllocationResult, ...] | Status:
        """What Filter has found for the node: nothing has changed since, so the search finds it again."""
        node_info = self._handle.snapshot.get(node_name)
        if all(plugin.name != self.name for plugin in self._handle.runner.filter) or node_info is None:
            return Status.failed(NO_ALLOCATION)
        assert node_info.node is not None
        try:
            results = self._verdicts.results_on(found.unallocated, node_info.node)
        except (AllocationError, PoolError, TimedOutError) as error:
            return Status.failed(str(error) or TIMED_OUT)
        return Status.failed(NO_ALLOCATION) if results is None else results

    def _to_give_back(self, found: ClaimsState, pod: Pod, node_to_status: NodeToStatus) -> Iterator[ResourceClaim]:
        if all(selector is None for selector in found.selectors):
            return
        state = CycleState()
        state.write(found)
        for claim in self.unavailable_claims(state, node_to_status):
            consumers = claim.status.reserved_for or ()
            if not consumers or [each.uid for each in consumers] == [pod.uid]:
                yield claim

    def _claim(self, key: str) -> ResourceClaim | None:
        return cast("ResourceClaim | None", self._handle.lister.get(ResourceClaim.kind, key))

    def _prune(self) -> None:
        """Drop the reservations of pods that are bound or gone: nothing is left to be undone."""
        for uid, reservation in list(self._reservations.items()):
            pod = self._handle.lister.get(Pod.kind, f"{reservation.namespace}/{reservation.pod_name}")
            if not isinstance(pod, Pod) or pod.uid != uid or pod.is_assigned:
                del self._reservations[uid]
        self._prune_at = max(_FEWEST_PRUNED, 2 * len(self._reservations))
