"""Cordoned nodes (spec.unschedulable) take only pods that tolerate the taint cordoning stands for.

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/nodeunschedulable
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler_core.api.affinity import Taint
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint, QueueingHint, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.helpers import as_node, as_pod, name_at, queue_if, refuse
from scheduler_core.table.node_table import NodeTable

REASON = "node(s) were unschedulable"
UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

_TOLERATION = f"{UNSCHEDULABLE_TAINT.key}:{UNSCHEDULABLE_TAINT.effect}"  # that the pod lacks
_CORDONED = Status.unresolvable(REASON)


class NodeUnschedulable:
    name = names.NODE_UNSCHEDULABLE

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments and needs nothing of the scheduler."""

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_OBJECT

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        node = node_info.node
        if node is None or not node.spec.unschedulable or _tolerates_cordon(pod):
            return SUCCESS
        return _CORDONED

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        cordoned = refuse(table.unschedulable[rows], _CORDONED)
        return None if cordoned is None or _tolerates_cordon(pod) else cordoned

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        node = node_info.node
        if reason == REASON and node is not None and node.spec.unschedulable and not _tolerates_cordon(pod):
            yield Amounts(AmountKind.CORDON, _TOLERATION, node=node_info.name)

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        if refused.reason == REASON:
            yield Amounts(AmountKind.CORDON, _TOLERATION, len(refused.rows), node=name_at(table, refused.rows, 0))

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node_event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        pod_event = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
        return (
            ClusterEventWithHint(node_event, _after_node_change),
            ClusterEventWithHint(pod_event, _after_toleration_change),
        )


def _tolerates_cordon(pod: Pod) -> bool:
    return any(toleration.tolerates(UNSCHEDULABLE_TAINT) for toleration in pod.spec.tolerations or ())


def _after_node_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    before, after = as_node(old), as_node(new)
    if after is None or after.spec.unschedulable:
        return QueueingHint.SKIP
    return queue_if(before is None or before.spec.unschedulable)


def _after_toleration_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    changed = as_pod(new)
    return queue_if(changed is not None and changed.uid == pod.uid and _tolerates_cordon(changed))
