"""A pod with host ports needs a node where all of them are free.

A pod's own ports are not held against each other.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/nodeports
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import HostPort, host_ports, ports_conflict
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint, PreFilterResult, QueueingHint, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.plugins.helpers import as_pod, had_a_place, queue_if, refuse, refuse_all
from scheduler_core.table.node_table import NodeTable

REASON = "node(s) didn't have free ports for the requested pod ports"
NO_PRE_FILTER = f'reading "PreFilter{names.NODE_PORTS}" from cycleState: not found'

_TAKEN = Status.unschedulable(REASON)


@dataclass(frozen=True, slots=True)
class PreFilterState:
    wanted: tuple[HostPort, ...]


class NodePorts:
    name = names.NODE_PORTS

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments and needs nothing of the scheduler."""

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_INFO

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        wanted = host_ports(pod)
        if not wanted:
            return None, SKIP
        state.write(PreFilterState(wanted))
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        found = state.find(PreFilterState)
        if found is None:
            return Status.failed(NO_PRE_FILTER)
        return _TAKEN if node_info.conflicts_with_ports(found.wanted) else SUCCESS

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        found = state.find(PreFilterState)
        if found is None:
            return refuse_all(table, rows, Status.failed(NO_PRE_FILTER))
        conflicting = table.ports.conflicting(found.wanted)
        return None if conflicting is None else refuse(conflicting[rows], _TAKEN)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod_deleted = ClusterEvent(EventResource.POD, ActionType.DELETE)
        return ClusterEventWithHint(pod_deleted, _after_pod_deletion), ClusterEventWithHint(NODE_ADD)


def _after_pod_deletion(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when the deleted pod held a port this one wants."""
    deleted = as_pod(old)
    if deleted is None or not had_a_place(deleted):
        return QueueingHint.SKIP
    freed = host_ports(deleted)
    return queue_if(any(ports_conflict(want, used) for want in host_ports(pod) for used in freed))
