"""A pod with host ports needs a node where all of them are free.

A pod's own ports are not held against each other.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/nodeports
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.resources import ANY_IP, HostPort, host_ports, ports_conflict
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint, PreFilterResult, QueueingHint, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.events import NODE_ADD, ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.plugins.helpers import as_pod, had_a_place, name_at, queue_if, refuse, refuse_all
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

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        found = state.find(PreFilterState)
        for port in dict.fromkeys(found.wanted) if found is not None and reason == REASON else ():
            if node_info.conflicts_with_ports((port,)):
                yield Amounts(AmountKind.PORT, port_text(port), node=node_info.name, pod=_holder(port, node_info))

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        found = state.find(PreFilterState)
        for port in dict.fromkeys(found.wanted) if found is not None and refused.reason == REASON else ():
            conflicting = table.ports.conflicting((port,))
            if conflicting is None:
                continue
            places = np.flatnonzero(conflicting[refused.rows])
            if len(places):
                first = int(places[0])
                node_info = table.node_infos[refused.rows.item(first)]
                holder = _holder(port, node_info) if node_info is not None else ""
                node = name_at(table, refused.rows, first)
                yield Amounts(AmountKind.PORT, port_text(port), len(places), node=node, pod=holder)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod_deleted = ClusterEvent(EventResource.POD, ActionType.DELETE)
        return ClusterEventWithHint(pod_deleted, _after_pod_deletion), ClusterEventWithHint(NODE_ADD)


def port_text(port: HostPort) -> str:
    """`8080/TCP`, with its address where it does not want all."""
    ip, protocol, number = port
    return f"{number}/{protocol}" if ip == ANY_IP else f"{ip}:{number}/{protocol}"


def _holder(wanted: HostPort, node_info: NodeInfo) -> str:
    """The first pod there with a port that conflicts; empty where that is gone from its manifest."""
    for info in node_info.pods:
        if any(ports_conflict(wanted, used) for used in info.host_ports):
            return info.pod.key
    return ""


def _after_pod_deletion(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when the deleted pod held a port this one wants."""
    deleted = as_pod(old)
    if deleted is None or not had_a_place(deleted):
        return QueueingHint.SKIP
    freed = host_ports(deleted)
    return queue_if(any(ports_conflict(want, used) for want in host_ports(pod) for used in freed))
