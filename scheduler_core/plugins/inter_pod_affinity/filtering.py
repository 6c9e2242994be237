"""Required terms: near pods that match, apart from others, and not where an existing pod wants to be apart.

PreFilter counts by (topology key, value of the node): existing pods whose required anti-affinity speaks of the incoming
pod; existing pods that match all its required affinity terms; those that match a required anti-affinity term. Terms of
the incoming pod have the names of the namespaces they select; terms of existing pods ask the labels of its namespace.
When no pod at all matches the affinity, a pod that matches its own terms may be the first of its group.
Source: kubernetes v1.34.1, pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from scheduler_core.api.pod import Pod
from scheduler_core.api.pod_affinity import NO_LABELS, AffinityTerm, AffinityTerms, match_all
from scheduler_core.framework.interface import Int64Array, RowVerdicts
from scheduler_core.model.node_info import NodeInfo
from scheduler_core.model.status import SUCCESS, Status
from scheduler_core.model.types import PodInfo
from scheduler_core.plugins.helpers import BoolArray
from scheduler_core.table.domains import Domains, DomainsByNumber, DomainsByValue
from scheduler_core.table.node_table import NodeTable
from scheduler_core.table.pods import PodKind

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

# Pods that are not there cannot be evicted, hence "unresolvable".
_NOT_NEAR = Status.unresolvable(REASON_AFFINITY)
_NOT_APART = Status.unschedulable(REASON_ANTI_AFFINITY)
_NOT_WANTED = Status.unschedulable(REASON_EXISTING_ANTI_AFFINITY)
_STATUSES = (_NOT_NEAR, _NOT_APART, _NOT_WANTED)

Pairs = dict[str, Domains]
"""Pods by topology key and, below that, by domain."""


@dataclass(frozen=True, slots=True)
class PreFilterState:
    pod: Pod
    terms: AffinityTerms
    namespace_labels: Mapping[str, str]
    existing_anti: Pairs = field(default_factory=dict)
    affinity: Pairs = field(default_factory=dict)
    anti: Pairs = field(default_factory=dict)

    @property
    def concerns_nobody(self) -> bool:
        return not (self.existing_anti or self.terms.required or self.terms.required_anti)

    @property
    def may_be_first(self) -> bool:
        """Nobody matches the pod's affinity anywhere, but the pod itself does."""
        return not any(each.has_any() for each in self.affinity.values()) and match_all(self.terms.required, self.pod)

    def clone(self) -> PreFilterState:
        return PreFilterState(
            self.pod,
            self.terms,
            self.namespace_labels,
            _clone(self.existing_anti),
            _clone(self.affinity),
            _clone(self.anti),
        )

    def count_its_terms(self, existing: PodInfo, node_labels: Mapping[str, str], amount: int = 1) -> None:
        """What the existing pod wants to be apart from."""
        for term in existing.terms.required_anti:
            if term.matches_pod(self.pod, self.namespace_labels):
                _add(self.existing_anti, term.topology_key, node_labels, amount)

    def count_it(self, existing: Pod, node_labels: Mapping[str, str], amount: int = 1) -> None:
        """What the incoming pod says of the existing one."""
        if match_all(self.terms.required, existing):
            for term in self.terms.required:
                _add(self.affinity, term.topology_key, node_labels, amount)
        for term in self.terms.required_anti:
            if term.matches_pod(existing):
                _add(self.anti, term.topology_key, node_labels, amount)


def count_nodes(
    state: PreFilterState, all_nodes: Iterable[NodeInfo], with_required_anti_affinity: Iterable[NodeInfo]
) -> None:
    for node_info in with_required_anti_affinity:
        for existing in node_info.pods_with_required_anti_affinity:
            state.count_its_terms(existing, _labels(node_info))
    if state.terms.required or state.terms.required_anti:
        for node_info in all_nodes:
            for existing in node_info.pods:
                state.count_it(existing.pod, _labels(node_info))


def count_rows(state: PreFilterState, table: NodeTable) -> None:
    pods = table.pods
    by_key: dict[str, list[int]] = {}
    for number, terms in enumerate(pods.terms):
        for term in terms.required_anti if terms is not None else ():
            if term.matches_pod(state.pod, state.namespace_labels):
                by_key.setdefault(term.topology_key, [0] * len(pods.terms))[number] += 1
    for key, amounts in by_key.items():
        column = table.label(key)
        domains = DomainsByNumber.counted(column, column.ids, pods.sum_by_terms(np.array(amounts)))
        if domains.has_any():
            state.existing_anti[key] = domains

    required = state.terms.required
    if required:
        matching = pods.count(lambda kind: all(speaks_of(term, kind) for term in required))
        for key, times in Counter(term.topology_key for term in required).items():
            column = table.label(key)
            state.affinity[key] = DomainsByNumber.counted(column, column.ids, matching * times)
    by_row: dict[str, Int64Array] = {}
    for term in state.terms.required_anti:
        matching = pods.count(partial(speaks_of, term))
        by_row[term.topology_key] = by_row.get(term.topology_key, 0) + matching
    for key, matching in by_row.items():
        column = table.label(key)
        state.anti[key] = DomainsByNumber.counted(column, column.ids, matching)


def judge_node(state: PreFilterState, labels: Mapping[str, str]) -> Status:
    if not _near(state, labels):
        return _NOT_NEAR
    if any(_holds(state.anti, term.topology_key, labels) for term in state.terms.required_anti):
        return _NOT_APART
    if any(_holds(state.existing_anti, key, labels) for key in state.existing_anti):
        return _NOT_WANTED
    return SUCCESS


def judge_rows(state: PreFilterState, table: NodeTable) -> RowVerdicts | None:
    codes = np.zeros(len(table), dtype=np.uint16)
    # The first rule that refuses a row names the reason: later ones are written first.
    for pairs, code in ((state.existing_anti, 3), (state.anti, 2)):
        for key, domains in pairs.items():
            codes[domains.of_rows(table.label(key)) > 0] = code
    if state.terms.required:
        codes[~_near_rows(state, table)] = 1
    return RowVerdicts(codes, _STATUSES) if codes.any() else None


def speaks_of(term: AffinityTerm, kind: PodKind) -> bool:
    """Whether a term of the incoming pod matches pods of this kind."""
    return term.matches(kind.namespace, kind.labels, NO_LABELS)


def _near(state: PreFilterState, labels: Mapping[str, str]) -> bool:
    """All the keys are there, and pods that match in every domain, unless the pod may be the first of its group."""
    if not all(term.topology_key in labels for term in state.terms.required):
        return False
    if all(_holds(state.affinity, term.topology_key, labels) for term in state.terms.required):
        return True
    return state.may_be_first


def _near_rows(state: PreFilterState, table: NodeTable) -> BoolArray:
    near = np.ones(len(table), dtype=np.bool_)
    may_be_first = state.may_be_first
    for key in dict.fromkeys(term.topology_key for term in state.terms.required):
        column = table.label(key)
        near &= column.has_key
        if not may_be_first:
            domains = state.affinity.get(key)
            near &= domains.of_rows(column) > 0 if domains is not None else np.False_
    return near


def _holds(pairs: Pairs, key: str, labels: Mapping[str, str]) -> bool:
    """Whether pods were counted in the node's domain of the key."""
    domains, value = pairs.get(key), labels.get(key)
    return domains is not None and value is not None and domains.of(value) > 0


def _add(pairs: Pairs, key: str, labels: Mapping[str, str], amount: int) -> None:
    value = labels.get(key)
    if value is not None:
        pairs.setdefault(key, DomainsByValue()).add(value, amount)


def _clone(pairs: Pairs) -> Pairs:
    return {key: domains.clone() for key, domains in pairs.items()}


def _labels(node_info: NodeInfo) -> Mapping[str, str]:
    return node_info.node.labels if node_info.node is not None else NO_LABELS
