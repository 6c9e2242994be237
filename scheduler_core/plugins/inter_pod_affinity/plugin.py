"""Pods want to be near pods, or apart from them, in the domains of a topology key: the same host, the same zone.

filter   refuses a node for the pod's required affinity, its required anti-affinity, or that of pods already there
score    prefers nodes by the weights of preferred terms, its own and those of pods already there (raw: a sum, which may
         be negative; normalised: 0..100)

Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from scheduler_core.api.meta import KubeObject
from scheduler_core.api.pod import Pod
from scheduler_core.api.pod_affinity import (
    NO_LABELS,
    REQUIRED,
    REQUIRED_ANTI,
    AffinityTerms,
    TermList,
    affinity_terms,
    match_all,
)
from scheduler_core.api.selectors import LabelSelectorMatcher, SelectorError
from scheduler_core.api.workload import Namespace
from scheduler_core.config import names
from scheduler_core.config.types import InterPodAffinityArgs
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
from scheduler_core.plugins.inter_pod_affinity import amounts, counts, filtering, scoring
from scheduler_core.plugins.inter_pod_affinity.incoming import Incoming
from scheduler_core.table.node_table import NodeTable

NO_PRE_FILTER = f'error reading "PreFilter{names.INTER_POD_AFFINITY}" from cycleState: not found'
NO_PRE_SCORE = f'failed to read "PreScore{names.INTER_POD_AFFINITY}" from cycleState: not found'

_NOTHING_TO_FILTER: tuple[PreFilterResult | None, Status] = (None, SKIP)


class InterPodAffinity:
    name = names.INTER_POD_AFFINITY

    def __init__(self, args: InterPodAffinityArgs | None, handle: Handle) -> None:
        """Namespaces are looked up through the handle. ConfigError on args that cannot be used."""
        args = args if args is not None else InterPodAffinityArgs()
        check_args(args)
        self._handle = handle
        self._args = args
        self._lists = scoring.lists_with_a_say(args.hard_pod_affinity_weight)
        self._heard = frozenset((TermList.REQUIRED_ANTI, *self._lists))

    def depends_on(self, pod: Pod) -> DependsOn:
        return DependsOn.CLUSTER

    def depends_on_cluster(self, pod: Pod, table: NodeTable) -> bool:
        return _has_terms(pod) or not self._heard.isdisjoint(table.pods.lists_in_use)

    # Filter

    def pre_filter(
        self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        with_anti_affinity = self._handle.snapshot.have_pods_with_required_anti_affinity_list()
        return self._pre_filter(
            state, pod, lambda counted: filtering.count_nodes(counted, node_infos, with_anti_affinity)
        )

    def pre_filter_table(self, state: CycleState, pod: Pod, table: NodeTable) -> tuple[PreFilterResult | None, Status]:
        if not _has_terms(pod) and not table.pods.has_terms(TermList.REQUIRED_ANTI):
            return _NOTHING_TO_FILTER
        return self._pre_filter(state, pod, lambda counted: filtering.count_rows(counted, table))

    def _pre_filter(
        self, state: CycleState, pod: Pod, count: Callable[[filtering.PreFilterState], None]
    ) -> tuple[PreFilterResult | None, Status]:
        incoming = self._incoming(state, pod)
        if incoming.terms.unreadable:
            return None, Status.unresolvable(f"parsing pod: {incoming.terms.error}")
        counted = filtering.PreFilterState(incoming)
        count(counted)
        if counted.concerns_nobody:
            return _NOTHING_TO_FILTER
        state.write(counted)
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: PodInfo, node_info: NodeInfo) -> Status:
        return _what_if(state, pod_to_add, node_info, 1)

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: PodInfo, node_info: NodeInfo) -> Status:
        return _what_if(state, pod_to_remove, node_info, -1)

    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        counted = state.find(filtering.PreFilterState)
        if counted is None:
            return Status.failed(NO_PRE_FILTER)
        return filtering.judge_node(counted, node_info.node.labels if node_info.node is not None else NO_LABELS)

    def filter_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: RowIndex) -> RowVerdicts | None:
        counted = state.find(filtering.PreFilterState)
        if counted is None:
            return refuse_all(table, rows, Status.failed(NO_PRE_FILTER))
        return filtering.judge_rows(counted, table, rows)

    def amounts_on(
        self, state: CycleState, pod: Pod, node_info: NodeInfo, reason: str, alone: bool
    ) -> Iterable[Amounts]:
        counted = state.find(filtering.PreFilterState)
        return () if counted is None else amounts.amounts_on(counted, self._handle.snapshot.table, node_info, reason)

    def amounts(self, state: CycleState, pod: Pod, table: NodeTable, refused: Refused) -> Iterable[Amounts]:
        counted = state.find(filtering.PreFilterState)
        return () if counted is None else amounts.amounts(counted, table, refused)

    # Score

    def pre_score(self, state: CycleState, pod: Pod, node_infos: Sequence[NodeInfo]) -> Status:
        snapshot = self._handle.snapshot
        # Without wishes of its own only pods with terms have a say.
        considered = snapshot.list() if _has_wishes(pod) else snapshot.have_pods_with_affinity_list()
        return self._pre_score(state, pod, lambda wishes: scoring.count_nodes(wishes, considered))

    def pre_score_table(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        if not _has_terms(pod) and not any(map(table.pods.has_terms, self._lists)):
            return SKIP
        return self._pre_score(state, pod, lambda wishes: scoring.count_rows(wishes, table))

    def _pre_score(
        self, state: CycleState, pod: Pod, count: Callable[[scoring.Wishes], scoring.PreScoreState]
    ) -> Status:
        if self._args.ignore_preferred_terms_of_existing_pods and not _has_wishes(pod):
            return SKIP
        incoming = self._incoming(state, pod)
        if incoming.terms.unreadable:
            return Status.failed(f"failed to parse pod: {incoming.terms.error}")
        counted = count(scoring.Wishes(incoming, self._args.hard_pod_affinity_weight))
        if not counted.weights:
            return SKIP
        state.write(counted)
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> tuple[int, Status]:
        counted = state.find(scoring.PreScoreState)
        if counted is None:
            return 0, Status.failed(NO_PRE_SCORE)
        return scoring.score_node(counted, node_info.node.labels if node_info.node is not None else NO_LABELS), SUCCESS

    def score_nodes(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Int64Array | None:
        counted = state.find(scoring.PreScoreState)
        return None if counted is None else scoring.score_rows(counted, table, rows)

    def normalize_scores(self, state: CycleState, pod: Pod, scores: Int64Array) -> Status:
        scoring.normalize(scores)
        return SUCCESS

    def domain_counts(self, state: CycleState, infos: Sequence[NodeInfo]) -> Iterable[DomainCounts]:
        return counts.domain_counts(state)

    # Events

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod_actions = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        node_actions = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, pod_actions), _after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, node_actions), _after_node_change),
        )

    # The incoming pod

    def _incoming(self, state: CycleState, pod: Pod) -> Incoming:
        version = self._handle.lister.version(Namespace.kind)
        return state.cached((self.name, "incoming"), lambda: self._work_out(pod), version=version)

    def _work_out(self, pod: Pod) -> Incoming:
        return Incoming(pod, affinity_terms(pod).expanded(self._namespaces), self._namespace_labels(pod))

    def _namespaces(self, selector: LabelSelectorMatcher) -> Iterable[str]:
        """Names of the namespaces a selector picks."""
        if selector.nothing:
            return ()
        return [each.name for each in self._handle.lister.list(Namespace.kind) if selector.matches(each.labels)]

    def _namespace_labels(self, pod: Pod) -> Mapping[str, str]:
        namespace = self._handle.lister.get(Namespace.kind, pod.namespace)
        return namespace.labels if namespace is not None else NO_LABELS


def _has_terms(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)


def _has_wishes(pod: Pod) -> bool:
    """Whether the pod has preferred terms."""
    affinity = pod.spec.affinity
    rules = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ()
    return any(rule is not None and rule.preferred_during_scheduling_ignored_during_execution for rule in rules)


def _what_if(state: CycleState, changed: PodInfo, node_info: NodeInfo, amount: int) -> Status:
    counted = state.find(filtering.PreFilterState)
    if counted is None:
        return Status.failed(NO_PRE_FILTER)
    if node_info.node is not None:
        counted.count_its_terms(changed, node_info.node.labels, amount)
        counted.count_it(changed.pod, node_info.node.labels, amount)
    return SUCCESS


# Hints: namespaces are not looked up, and the anti-affinity of existing pods is not considered, an upstream quirk.


def _after_pod_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """An assigned pod now meets the whole affinity, or no longer offends all of the anti-affinity."""
    before, after = as_pod(old), as_pod(new)
    if not all(changed.is_assigned for changed in (before, after) if changed is not None):
        return QueueingHint.SKIP
    terms = _required_terms(pod)
    if after is None:
        return queue_if(before is not None and match_all(terms.required_anti, before))
    if before is None:
        return queue_if(match_all(terms.required, after))
    comes_near = match_all(terms.required, after) and not match_all(terms.required, before)
    goes_away = match_all(terms.required_anti, before) and not match_all(terms.required_anti, after)
    return queue_if(comes_near or goes_away)


def _after_node_change(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> QueueingHint:
    """The node is new, or is in another domain than before."""
    before, after = as_node(old), as_node(new)
    if after is None:
        return QueueingHint.SKIP
    terms = _required_terms(pod)
    if before is None:
        return queue_if(any(term.topology_key in after.labels for term in terms.required) or bool(terms.required_anti))
    was, now = before.labels, after.labels
    joins = any(
        term.topology_key in now and was.get(term.topology_key) != now[term.topology_key] for term in terms.required
    )
    leaves = any(
        term.topology_key in was and was[term.topology_key] != now.get(term.topology_key)
        for term in terms.required_anti
    )
    return queue_if(joins or leaves)


def _required_terms(pod: Pod) -> AffinityTerms:
    """SelectorError when required terms cannot be read; what is preferred does not matter here."""
    terms = affinity_terms(pod)
    for unreadable in terms.unreadable:
        if unreadable.terms in (REQUIRED, REQUIRED_ANTI):
            raise SelectorError(unreadable.error)
    return terms
