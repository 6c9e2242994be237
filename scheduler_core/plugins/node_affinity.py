"""Pods may require, or prefer, nodes by label or name; the configuration may add such wishes for all pods of a profile.

pre_filter  narrows the search when every required term names nodes
filter      the added affinity first, then the pod's nodeSelector and required terms
score       weights of the preferred terms that match, added ones included (raw: a sum; normalised: 0..100)

A required term that cannot be parsed matches nothing, silently; a preferred one fails the cycle.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/nodeaffinity
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler_core.api.affinity import NodeAffinity as NodeAffinityRules
from scheduler_core.api.affinity import NodeSelectorTerm
from scheduler_core.api.meta import KubeObject
from scheduler_core.api.node import Node
from scheduler_core.api.pod import Pod
from scheduler_core.api.selectors import (
    NAME_FIELD,
    PreferredTermMatcher,
    RequiredNodeAffinity,
    SelectorError,
    parse_node_selector,
    parse_preferred_terms,
    preferred_score,
    required_node_affinity,
    selects_map,
)
from scheduler_core.config import names
from scheduler_core.config.types import NodeAffinityArgs
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
from scheduler_core.model.status import SKIP, SUCCESS, Status
from scheduler_core.plugins.asked_labels import AskedLabels, label_amounts, label_amounts_on
from scheduler_core.plugins.helpers import Rows, as_node, check_args, default_normalize, queue_if
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.selection import rows_matching, rows_matching_term, rows_meeting

REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"

_NOT_WANTED_BY_POD = Status.unresolvable(REASON_POD)
_NOT_WANTED_BY_SCHEDULER = Status.unresolvable(REASON_ENFORCED)
_STATUSES = (_NOT_WANTED_BY_POD, _NOT_WANTED_BY_SCHEDULER)


@dataclass(frozen=True, slots=True)
class PreFilterState:
    required: RequiredNodeAffinity


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """The pod's own preferred terms; the added ones are the plugin's."""

    preferred: tuple[PreferredTermMatcher, ...]


class NodeAffinity:
    name = names.NODE_AFFINITY

    def __init__(self, args: NodeAffinityArgs | None, handle: Handle) -> None:
        """It needs nothing of the scheduler. ConfigError when the added affinity cannot be parsed."""
        args = args if args is not None else NodeAffinityArgs()
        check_args(args)
        added = args.added_affinity if args.added_affinity is not None else NodeAffinityRules()
        required = added.required_during_scheduling_ignored_during_execution
        preferred = added.preferred_during_scheduling_ignored_during_execution
        self._added_required = parse_node_selector(required) if required is not None else None
        self._added_preferred = parse_preferred_terms(preferred) if preferred is not None else None

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.NODE_OBJECT

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        rules = _rules(pod)
        selector = rules.required_during_scheduling_ignored_during_execution if rules is not None else None
        if selector is None and self._added_required is None and pod.spec.node_selector is None:
            return None, SKIP
        state.write(PreFilterState(required_node_affinity(pod)))
        wanted = _names_wanted(selector.node_selector_terms) if selector is not None else None
        if wanted is None:
            return None, SUCCESS
        if not wanted:
            return None, Status.unresolvable(REASON_CONFLICT)
        return PreFilterResult(wanted), SUCCESS

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        node = node_info.node
        assert node is not None
        if self._added_required is not None and not self._added_required.matches_node(node):
            return _NOT_WANTED_BY_SCHEDULER
        return SUCCESS if _required(state, pod).matches_node(node) else _NOT_WANTED_BY_POD

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        codes = np.zeros(table.n_rows, dtype=np.uint16)
        wanted_by_pod = rows_meeting(table, _required(state, pod))
        if wanted_by_pod is not None:
            np.logical_not(wanted_by_pod, out=codes)
        if self._added_required is not None:
            codes[~rows_matching(table, self._added_required)] = 2
        return RowVerdicts(codes[rows], _STATUSES) if np.count_nonzero(codes) else None

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        node = node_info.node
        return () if node is None else label_amounts_on(self._asked(state, pod, reason), node)

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        return label_amounts(self._asked(state, pod, refused.reason), table, refused.rows, few=refused.are_all)

    def _asked(self, state: CycleState, pod: Pod, reason: str) -> AskedLabels:
        """What is required of a node by whom the reason blames."""
        if reason == REASON_ENFORCED:
            return AskedLabels.of(RequiredNodeAffinity({}, self._added_required))
        return AskedLabels.of(_required(state, pod) if reason == REASON_POD else RequiredNodeAffinity({}, None))

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        rules = _rules(pod)
        has_own = rules is not None and rules.preferred_during_scheduling_ignored_during_execution is not None
        try:
            preferred = _preferred(pod)
        except SelectorError as error:
            return Status.failed(str(error))
        if not has_own and self._added_preferred is None:
            return SKIP
        state.write(PreScoreState(preferred))
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        node = node_info.node
        assert node is not None
        try:
            terms = self._terms_to_score(state, pod)
        except SelectorError as error:
            return 0, Status.failed(str(error))
        return preferred_score(terms, node.labels, node.name), SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array | None:
        try:
            terms = self._terms_to_score(state, pod)
        except SelectorError:
            return None
        scores = np.zeros(len(rows), dtype=np.int64)
        for preferred in terms:
            scores += rows_matching_term(table, preferred.term)[rows] * np.int64(preferred.weight)
        return scores

    def normalize_scores(self, state: CycleState, pod: Pod, scores: Int64Array) -> Status:
        default_normalize(scores, reverse=False)
        return SUCCESS

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node_event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return (ClusterEventWithHint(node_event, self._after_node_change),)

    def _terms_to_score(self, state: CycleState, pod: Pod) -> tuple[PreferredTermMatcher, ...]:
        """Added and own preferred terms; the own ones parsed here where PreScore is switched off (SelectorError)."""
        found = state.find(PreScoreState)
        own = found.preferred if found is not None else _preferred(pod)
        return (*(self._added_preferred or ()), *own)

    def _after_node_change(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
        """Worth a try when the node is wanted and was not before; what the added affinity said before is not asked."""
        before, after = as_node(old), as_node(new)
        if after is None or (self._added_required is not None and not self._added_required.matches_node(after)):
            return QueueingHint.SKIP
        required = required_node_affinity(pod)
        if not _matches_or_raises(required, after):
            return QueueingHint.SKIP
        return queue_if(before is None or not _matches_or_raises(required, before))


def _matches_or_raises(required: RequiredNodeAffinity, node: Node) -> bool:
    """SelectorError when no term matches and some term cannot be read."""
    if required.matches_node(node):
        return True
    if required.affinity is not None and selects_map(required.node_selector, node.labels):
        errors = required.affinity.errors
        if errors:
            raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return False


def _rules(pod: Pod) -> NodeAffinityRules | None:
    return pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None


def _required(state: CycleState, pod: Pod) -> RequiredNodeAffinity:
    """Parsed in PreFilter; here where that is switched off."""
    found = state.find(PreFilterState)
    return found.required if found is not None else required_node_affinity(pod)


def _preferred(pod: Pod) -> tuple[PreferredTermMatcher, ...]:
    rules = _rules(pod)
    listed = rules.preferred_during_scheduling_ignored_during_execution if rules is not None else None
    return parse_preferred_terms(listed or ())


def _names_wanted(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """Names the terms allow; None when some term allows any. NotIn does not count."""
    wanted: set[str] = set()
    for term in terms:
        by_term: set[str] | None = None
        for field in term.match_fields or ():
            if field.key == NAME_FIELD and field.operator == "In":
                listed = set(field.values or ())
                by_term = listed if by_term is None else by_term & listed
        if by_term is None:
            return None
        wanted |= by_term
    return frozenset(wanted) if terms else None
