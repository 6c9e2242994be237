"""Taints keep pods away; tolerations let them back in.

filter   rejects a node with a NoSchedule/NoExecute taint the pod does not tolerate; the first such taint is named
score    fewer untolerated PreferNoSchedule taints is better (raw: a count; normalised: 0..100)

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/tainttoleration
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler_core.api.affinity import Taint, Toleration
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.config import names
from scheduler_core.framework.answers import ClusterEventWithHint, Int64Array, QueueingHint, RowIndex, RowVerdicts
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.model.amounts import AmountKind, Amounts
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.plugins.helpers import (
    Rows,
    as_node,
    default_normalize,
    first_untolerated,
    groups_of,
    is_tolerated,
    name_at,
    queue_if,
    queue_if_same_pod,
)
from scheduler_core.table.node_table import NodeTable

PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_PRE_SCORE = f'failed to read "PreScore{names.TAINT_TOLERATION}" from cycleState: not found'


def untolerated_reason(taint: Taint) -> str:
    return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"


def taint_text(taint: Taint) -> str:
    """As it is written for kubectl."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """Tolerations that can excuse a PreferNoSchedule taint."""

    tolerations: tuple[Toleration, ...]

    def count_untolerated(self, taints: Iterable[Taint]) -> int:
        """PreferNoSchedule taints nothing excuses."""
        return sum(taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(taint, self.tolerations) for taint in taints)


class TaintToleration:
    name = names.TAINT_TOLERATION

    def __init__(self, args: object | None, handle: Handle) -> None:
        """It takes no arguments and needs nothing of the scheduler."""

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_OBJECT

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        taints = node_info.node.taints if node_info.node is not None else ()
        taint = first_untolerated(taints, pod.spec.tolerations or ())
        # Evicting pods does not remove a taint, hence "unresolvable".
        return SUCCESS if taint is None else Status.unresolvable(untolerated_reason(taint))

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        tolerations = pod.spec.tolerations or ()
        numbers: dict[str, int] = {}
        code_by_set = []
        for taints in table.taints.sets:
            taint = first_untolerated(taints, tolerations)
            code_by_set.append(0 if taint is None else numbers.setdefault(untolerated_reason(taint), len(numbers) + 1))
        if not numbers:
            return None
        codes = np.array(code_by_set, dtype=np.uint16)[table.taints.set_ids[rows]]
        return RowVerdicts(codes, tuple(map(Status.unresolvable, numbers)))

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        taints = node_info.node.taints if node_info.node is not None else ()
        taint = first_untolerated(taints, pod.spec.tolerations or ())
        if taint is not None and untolerated_reason(taint) == reason:
            yield Amounts(AmountKind.TAINT, taint_text(taint), node=node_info.name)

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        found: list[Amounts] = []
        for number, count, place in groups_of(table.taints.set_ids.take(refused.rows)):
            taint = first_untolerated(table.taints.sets[number], pod.spec.tolerations or ())
            if taint is not None and untolerated_reason(taint) == refused.reason:
                node = name_at(table, refused.rows, place)
                found.append(Amounts(AmountKind.TAINT, taint_text(taint), count, node=node))
        return found

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        soft = ("", PREFER_NO_SCHEDULE)  # no effect means every effect
        state.write(PreScoreState(tuple(t for t in pod.spec.tolerations or () if t.effect in soft)))
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        found = state.find(PreScoreState)
        if found is None:
            return 0, Status.failed(NO_PRE_SCORE)
        return found.count_untolerated(node_info.node.taints if node_info.node is not None else ()), SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array | None:
        found = state.find(PreScoreState)
        if found is None:
            return None
        count_by_set = [found.count_untolerated(taints) for taints in table.taints.sets]
        if not any(count_by_set):
            return np.zeros(len(rows), dtype=np.int64)
        counts: Int64Array = np.array(count_by_set, dtype=np.int64)[table.taints.set_ids[rows]]
        return counts

    def normalize_scores(self, state: CycleState, pod: Pod, scores: Int64Array) -> Status:
        default_normalize(scores, reverse=True)
        return SUCCESS

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node_event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        pod_event = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
        return (
            ClusterEventWithHint(node_event, _after_node_change),
            ClusterEventWithHint(pod_event, queue_if_same_pod),
        )


def _after_node_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """Worth a try when the node refused the pod before and no longer does; a new node refused it before."""
    before, after = as_node(old), as_node(new)
    if after is None:
        return QueueingHint.SKIP
    tolerations = pod.spec.tolerations or ()
    refused = before is None or first_untolerated(before.taints, tolerations) is not None
    return queue_if(refused and first_untolerated(after.taints, tolerations) is None)
