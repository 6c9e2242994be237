"""Pods that match a selector are spread evenly over the domains of a topology key: zones, hosts, racks.

filter   refuses a node where the pod would make its domain too full (DoNotSchedule constraints)
score    prefers nodes in emptier domains (ScheduleAnyway constraints; raw: a rounded sum; normalised: 0..100)

Pods without constraints of their own get default ones: built-in, soft ones (System) or the configuration's (List).
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/podtopologyspread/plugin.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.selectors import SelectorError
from scheduler_core.config import names
from scheduler_core.config.types import PodTopologySpreadArgs
from scheduler_core.framework.answers import (
    ClusterEventWithHint,
    Int64Array,
    PreFilterResult,
    QueueingHint,
    RowIndex,
    RowVerdicts,
)
from scheduler_core.framework.cycle_state import CycleState
from scheduler_core.framework.handle import Handle
from scheduler_core.framework.reuse import DependsOn
from scheduler_core.framework.roles import Refused
from scheduler_core.model.amounts import Amounts
from scheduler_core.model.events import ActionType, ClusterEvent, EventResource
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.observed import DomainCounts
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.helpers import Rows, as_node, as_pod, check_args, queue_if, refuse_all
from scheduler_core.plugins.pod_topology_spread import amounts, counts, filtering, scoring
from scheduler_core.plugins.pod_topology_spread.constraints import (
    HARD,
    SOFT,
    SYSTEM_DEFAULTS,
    Constraint,
    has_all_keys,
    parse_constraints,
)
from scheduler_core.plugins.pod_topology_spread.default_selectors import ControllerSelector, DefaultSelectors
from scheduler_core.table.node_table import NodeTable

NO_PRE_FILTER = f'error reading "PreFilter{names.POD_TOPOLOGY_SPREAD}" from cycleState: not found'
NO_PRE_SCORE = f'error reading "PreScore{names.POD_TOPOLOGY_SPREAD}" from cycleState: not found'

_NOTHING_TO_FILTER: tuple[PreFilterResult | None, Status] = (None, SKIP)


class PodTopologySpread:
    name = names.POD_TOPOLOGY_SPREAD

    def __init__(self, args: PodTopologySpreadArgs | None, handle: Handle) -> None:
        """Services and owners of pods are looked up through the handle. ConfigError on args that cannot be used."""
        args = args if args is not None else PodTopologySpreadArgs()
        check_args(args)
        self._handle = handle
        self._system_defaulted = args.defaulting_type == "System"
        self._selectors = DefaultSelectors()
        listed = SYSTEM_DEFAULTS if self._system_defaulted else args.default_constraints
        self._defaults = {action: parse_constraints(listed, {}, action) for action in (HARD, SOFT)}

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.CLUSTER

    def depends_on_cluster(self, pod: Pod, table: NodeTable) -> bool:
        """Without constraints, a controller and services to choose by, there is nothing to spread."""
        spread_by = pod.spec.topology_spread_constraints or pod.metadata.owner_references
        return bool(spread_by) or self._selectors.any_service(pod.namespace, self._handle.lister)

    # Filter

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        return self._pre_filter(state, pod, lambda rules: filtering.count_nodes(pod, rules, node_infos))

    def pre_filter_table(self, state: CycleState, pod: Pod, table: NodeTable) -> tuple[PreFilterResult | None, Status]:
        return self._pre_filter(state, pod, lambda rules: filtering.count_rows(rules, table))

    def _pre_filter(
        self, state: CycleState, pod: Pod, count: Callable[[filtering.HardRules], filtering.PreFilterState]
    ) -> tuple[PreFilterResult | None, Status]:
        if self._has_none(pod, HARD):
            return _NOTHING_TO_FILTER
        try:
            rules = state.cached((self.name, HARD), lambda: self._hard_rules(pod), version=self._version(pod))
        except SelectorError as error:
            return None, Status.failed(str(error))
        if rules is None:
            return _NOTHING_TO_FILTER
        state.write(count(rules))
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status:
        return _what_if(state, pod, pod_to_add.pod, node_info, 1)

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status:
        return _what_if(state, pod, pod_to_remove.pod, node_info, -1)

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        counted = state.find(filtering.PreFilterState)
        if counted is None:
            return Status.failed(NO_PRE_FILTER)
        return filtering.judge_node(counted, node_info.node.labels if node_info.node is not None else {})

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        counted = state.find(filtering.PreFilterState)
        if counted is None:
            return refuse_all(table, rows, Status.failed(NO_PRE_FILTER))
        return filtering.judge_rows(counted, table, rows)

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        counted = state.find(filtering.PreFilterState)
        return () if counted is None else amounts.amounts_on(counted, node_info, reason)

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        counted = state.find(filtering.PreFilterState)
        return () if counted is None else amounts.amounts(counted, table, refused)

    # Score

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        all_nodes = self._handle.snapshot.list()
        return self._pre_score(
            state, pod, len(all_nodes), lambda rules: scoring.count_nodes(pod, rules, node_infos, all_nodes)
        )

    def pre_score_table(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        return self._pre_score(state, pod, len(table.row_of), lambda rules: scoring.count_rows(rules, table, rows))

    def _pre_score(
        self, state: CycleState, pod: Pod, num_nodes: int, count: Callable[[scoring.SoftRules], scoring.PreScoreState]
    ) -> Status:
        if num_nodes == 0 or self._has_none(pod, SOFT):
            return SKIP
        try:
            rules = state.cached((self.name, SOFT), lambda: self._soft_rules(pod), version=self._version(pod))
        except SelectorError as error:
            text = f"calculating preScoreState: obtaining pod's soft topology spread constraints: {error}"
            return Status.failed(text)
        if rules is None:
            return SKIP
        state.write(count(rules))
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        counted = state.find(scoring.PreScoreState)
        if counted is None:
            return 0, Status.failed(NO_PRE_SCORE)
        return scoring.score_node(counted, node_info), SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array | None:
        counted = state.find(scoring.PreScoreState)
        return None if counted is None else scoring.score_rows(counted, table, rows)

    def normalize_scores(self, state: CycleState, pod: Pod, scores: Int64Array) -> Status:
        scoring.normalize(state.read(scoring.PreScoreState), scores)
        return SUCCESS

    def domain_counts(self, state: CycleState, infos: Sequence[NodeInfo]) -> Iterable[DomainCounts]:
        return counts.domain_counts(state, infos)

    # Events

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod_actions = (
            ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION | ActionType.DELETE
        )
        node_actions = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, pod_actions), self._after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_actions), self._after_node_change),
        )

    def _after_pod_change(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """A pod that counts came or went, or began or ceased to count; or the pod itself tolerates other taints."""
        before, after = as_pod(old), as_pod(new)
        if not all(_is_involved(pod, changed) for changed in (before, after) if changed is not None):
            return QueueingHint.SKIP
        constraints = self._hard_constraints(pod)
        if before is not None and after is not None:
            tolerates_more = after.uid == pod.uid and before.spec.tolerations != after.spec.tolerations
            if tolerates_more and any(constraint.honors_taints for constraint in constraints):
                return QueueingHint.QUEUE
            return queue_if(
                before.labels != after.labels
                and any(
                    each.selector.matches(before.labels) != each.selector.matches(after.labels) for each in constraints
                )
            )
        changed = after if after is not None else before
        return queue_if(changed is not None and any(each.selector.matches(changed.labels) for each in constraints))

    def _after_node_change(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """A node that has all the keys came or went, or is in other domains or has other taints than before."""
        before, after = as_node(old), as_node(new)
        constraints = self._hard_constraints(pod)
        had = before is not None and has_all_keys(before.labels, constraints)
        has = after is not None and has_all_keys(after.labels, constraints)
        if before is None or after is None:
            return queue_if(had or has)
        if had != has:
            return QueueingHint.QUEUE
        moved = any(
            before.labels.get(constraint.topology_key) != after.labels.get(constraint.topology_key)
            for constraint in constraints
        )
        return queue_if(has and (moved or before.taints != after.taints))

    # Constraints

    def _hard_rules(self, pod: Pod) -> filtering.HardRules | None:
        constraints = self._hard_constraints(pod)
        return filtering.HardRules.of(pod, constraints) if constraints else None

    def _soft_rules(self, pod: Pod) -> scoring.SoftRules | None:
        constraints = self._constraints(pod, SOFT)
        # Nodes that lack a topology key are ignored in scoring; the built-in defaults let them take part.
        require_all = bool(pod.spec.topology_spread_constraints) or not self._system_defaulted
        return scoring.SoftRules.of(pod, constraints, require_all=require_all) if constraints else None

    def _hard_constraints(self, pod: Pod) -> tuple[Constraint, ...]:
        """SelectorError, with where it comes from, when a selector cannot be read."""
        try:
            return self._constraints(pod, HARD)
        except SelectorError as error:
            raise SelectorError(f"obtaining pod's hard topology spread constraints: {error}") from error

    def _has_none(self, pod: Pod, action: str) -> bool:
        """Whether it takes no look at a selector to see that no such constraint holds for the pod."""
        return not pod.spec.topology_spread_constraints and not self._defaults[action]

    def _version(self, pod: Pod) -> tuple[int, ControllerSelector] | None:
        """Stands for all that the constraints depend on beside the pod."""
        if pod.spec.topology_spread_constraints:
            return None
        return self._selectors.sources(pod, self._handle.lister)

    def _constraints(self, pod: Pod, action: str) -> tuple[Constraint, ...]:
        own = pod.spec.topology_spread_constraints
        if own:
            return parse_constraints(own, pod.labels, action)
        defaults = self._defaults[action]
        if not defaults:
            return ()
        selector = self._selectors.of(pod, self._handle.lister)
        if selector.is_empty:
            return ()
        return tuple(replace(constraint, selector=selector) for constraint in defaults)


def _what_if(state: CycleState, pod: Pod, changed: Pod, node_info: NodeInfo, amount: int) -> Status:
    counted = state.find(filtering.PreFilterState)
    if counted is None:
        return Status.failed(NO_PRE_FILTER)
    if node_info.node is not None:
        counted.update(pod, changed, node_info.node, amount)
    return SUCCESS


def _is_involved(pod: Pod, changed: Pod) -> bool:
    """Whether the change can matter to the waiting pod: it is the pod itself, or an assigned pod beside it."""
    return changed.uid == pod.uid or (changed.is_assigned and changed.namespace == pod.namespace)
