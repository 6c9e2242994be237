"""Copies of an app stay apart: nodes outside any rack are out, full racks too, and emptier racks score higher.

Counts are kept per attempt: how many pods of the same namespace and `app` label each rack holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.errors import ConfigError
from scheduler_core.framework.answers import (
    MAX_NODE_SCORE,
    ClusterEventWithHint,
    Int64Array,
    PreFilterResult,
    QueueingHint,
)
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.table.node_table import NodeTable

NO_RACK = "node(s) were in no rack"
RACK_FULL = "node(s) were in a rack with enough copies of the app"


@dataclass
class Copies:
    """Pods of the app by rack, as far as this attempt knows."""

    by_rack: dict[str, int] = field(default_factory=dict)

    def add(self, rack: str, change: int) -> None:
        self.by_rack[rack] = self.by_rack.get(rack, 0) + change

    def clone(self) -> Copies:
        return Copies(dict(self.by_rack))


class RackAware:
    name = "RackAware"
    deterministic = True

    def __init__(self, args: Any, handle: Handle) -> None:
        given = {"rackLabel": "example.com/rack", "maxPerRack": None} | _mapping(args)
        problems = [f"unknown field {name!r}" for name in sorted(set(given) - {"rackLabel", "maxPerRack"})]
        self.label, self.limit = given["rackLabel"], given["maxPerRack"]
        if not isinstance(self.label, str) or not self.label:
            problems.append("rackLabel: expected the name of a label")
        if self.limit is not None and (type(self.limit) is not int or self.limit < 1):
            problems.append("maxPerRack: expected a whole number of at least 1")
        if problems:
            raise ConfigError(problems)

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.CLUSTER  # the pods of all nodes in a rack

    def depends_on_cluster(self, pod: Pod, table: NodeTable) -> bool:
        return bool(pod.labels.get("app"))  # without it the plugin skips Filter and Score

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        if not pod.labels.get("app"):
            return None, SKIP
        copies = Copies()
        for node_info in node_infos:
            rack = self._rack(node_info.node)
            if rack:
                copies.add(rack, sum(_same_app(pod, held.pod) for held in node_info.pods))
        state.write(copies)
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status:
        return self._count(state, pod, pod_to_add, node_info, +1)

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status:
        return self._count(state, pod, pod_to_remove, node_info, -1)

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        rack = self._rack(node_info.node)
        if not rack:
            return Status.unresolvable(NO_RACK)
        if self.limit is not None and state.read(Copies).by_rack.get(rack, 0) >= self.limit:
            return Status.unschedulable(RACK_FULL)
        return SUCCESS

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        return SUCCESS if state.find(Copies) is not None else SKIP

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        return state.read(Copies).by_rack.get(self._rack(node_info.node), 0), SUCCESS

    def normalize_scores(self, state: CycleState, pod: Pod, scores: Int64Array) -> Status:
        most = int(scores.max(initial=0))
        scores[:] = MAX_NODE_SCORE if most == 0 else (most - scores) * MAX_NODE_SCORE // most
        return SUCCESS

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        gone = ClusterEvent(EventResource.POD, ActionType.DELETE | ActionType.UPDATE_POD_LABEL)
        return (ClusterEventWithHint(node, self._after_node), ClusterEventWithHint(gone, _after_pod))

    def _after_node(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """A node that has come into a rack may take the pod."""
        before = self._rack(old) if isinstance(old, Node) else ""
        now = self._rack(new) if isinstance(new, Node) else ""
        return QueueingHint.QUEUE if now and now != before else QueueingHint.SKIP

    def _count(self, state: CycleState, pod: Pod, other: PodInfo, node_info: NodeInfo, change: int) -> Status:
        rack = self._rack(node_info.node)
        if rack and _same_app(pod, other.pod):
            state.read(Copies).add(rack, change)
        return SUCCESS

    def _rack(self, node: Node | None) -> str:
        return node.labels.get(self.label, "") if node is not None else ""


def _after_pod(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """A copy that is gone, or whose label changed, leaves room; a change of the pod itself may end its membership."""
    if not isinstance(old, Pod):
        return QueueingHint.SKIP
    helps = old.uid == pod.uid or _same_app(pod, old)
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP


def _same_app(pod: Pod, other: Pod) -> bool:
    return other.namespace == pod.namespace and other.labels.get("app") == pod.labels.get("app")


def _mapping(args: Any) -> dict[str, Any]:
    if args is None:
        return {}
    if not isinstance(args, dict):
        raise ConfigError(["expected an object"])
    return args
